//! The suite's values: what a program's code sets, what other layers set over it, and what a child
//! process inherits. It never reads files, variables or the command line, and runs nothing.
//!
//! - `on_busy`: what a start does about a slot that another process holds.
//! - `raw`: a value as a layer gives it, and its readers.
//! - `log`: the words of logging's settings.
//! - `field`: the kinds of values that settings have, each read from a raw value and given back.
//! - `setting`: one option, as the command line and the other layers know it.
//! - `options`: all options with their fields, defaults and methods, one file a subject.
//! - `settings`: the table of all options.
//! - `child`: the values of a worker and of a trial.
//! - `selection`: which algorithms and runs a start is about.
//! - `variants`: algorithms under another name.
//! - `into_config`: what the body of a generated program's `main` may give.

#[cfg(feature = "cli")]
mod child;
mod field;
pub(crate) mod into_config;
pub(crate) mod log;
mod on_busy;
mod options;
pub(crate) mod raw;
pub(crate) mod selection;
mod setting;
pub(crate) mod settings;
pub(crate) mod variants;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::algorithm::{AlgorithmOverride, ConfigChange};
use crate::record::provenance::{self, Provenance};
use crate::value::Value;

pub use on_busy::OnBusy;
use options::{ExecutionOptions, LogOptions, ProvenanceOptions, RecordOptions, SelectionOptions};

/// The origin of what the suite's own code sets.
pub(crate) const SUITE_CODE: &str = "the suite's code";

/// An experiment suite: an environment, shared settings, and which algorithms run how often.
///
/// The builder never fails; a value that has no JSON form stops the start, which names it.
///
/// ```
/// let suite = rle::SuiteConfig::new("pursuit")
///     .export_dir("exports/pursuit/classic_2")
///     .num_runs(3)
///     .flag("run_ippo", true);
/// # let _ = suite;
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[must_use]
pub struct SuiteConfig {
    pub(crate) env_name: String,
    pub(crate) env_config: Value,
    pub(crate) common_config: BTreeMap<String, Value>,
    pub(crate) flags: BTreeMap<String, bool>,
    pub(crate) overrides: Vec<AlgorithmOverride>,
    pub(crate) variants: BTreeMap<String, Variant>,
    pub(crate) seeds_by_run: BTreeMap<u32, BTreeMap<String, u64>>,
    pub(crate) export_dir: PathBuf,
    pub(crate) selection: SelectionOptions,
    pub(crate) records: RecordOptions,
    pub(crate) execution: ExecutionOptions,
    pub(crate) provenance: ProvenanceOptions,
    pub(crate) log: LogOptions,
    /// Provenance that another process of this start has captured: nothing is captured here.
    #[serde(skip)]
    pub(crate) captured: Option<Provenance>,
    /// What is wrong with values that the builder took.
    pub(crate) faults: Vec<String>,
    pub(crate) start_id: Option<String>,
    /// Whether runs are asked to stop after each checkpoint.
    #[serde(skip)]
    pub(crate) stop_at_save: bool,
}

/// A variant as the suite or a configuration file gives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Variant {
    /// Name or slug of the algorithm.
    pub(crate) algorithm: String,
    /// Replaces the slug that the variant's name gives.
    pub(crate) slug: Option<String>,
    /// Laid over the algorithm's configuration, key by key.
    pub(crate) config: Value,
    /// Where it was written, for messages.
    pub(crate) origin: String,
}

impl SuiteConfig {
    /// A suite on the environment of that name: one run per algorithm, seeds from 0, below
    /// `exports/<env_name>`.
    pub fn new(env_name: impl Into<String>) -> Self {
        let env_name = env_name.into();
        Self {
            export_dir: PathBuf::from("exports").join(env_name.replace(['/', '\0'], "_")),
            env_name,
            env_config: Value::object(),
            common_config: BTreeMap::new(),
            flags: BTreeMap::new(),
            overrides: Vec::new(),
            variants: BTreeMap::new(),
            seeds_by_run: BTreeMap::new(),
            selection: SelectionOptions::default(),
            records: RecordOptions::default(),
            execution: ExecutionOptions::default(),
            provenance: ProvenanceOptions::default(),
            log: LogOptions::default(),
            captured: None,
            faults: Vec::new(),
            start_id: None,
            stop_at_save: false,
        }
    }

    /// Where everything is written; a relative path counts from the current directory.
    pub fn export_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.export_dir = path.into();
        self
    }

    /// The environment's configuration: part of every run's identity.
    pub fn env_config(mut self, config: impl Serialize) -> Self {
        match Value::from_serialize(&config) {
            Ok(value) => self.env_config = value,
            Err(error) => self.faults.push(error.under_key("env_config").to_string()),
        }
        self
    }

    /// One key of the configuration that all algorithms share: part of every run's identity.
    pub fn common(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        match Value::from_serialize(&value) {
            Ok(value) => {
                self.common_config.insert(key, value);
            }
            Err(error) => {
                self.faults.push(error.under_key(&key).under_key("common_config").to_string());
            }
        }
        self
    }

    /// Sets a flag that algorithms declare; a flag that nothing sets is false.
    pub fn flag(mut self, flag: impl Into<String>, value: bool) -> Self {
        self.flags.insert(flag.into(), value);
        self
    }

    /// Overrides an algorithm's configuration, under its name or slug, key by key.
    pub fn algorithm_config(
        mut self,
        algorithm: impl Into<String>,
        config: impl Serialize,
    ) -> Self {
        let algorithm = algorithm.into();
        match Value::from_serialize(&config) {
            Ok(table) => self.overrides.push(AlgorithmOverride {
                algorithm,
                origin: SUITE_CODE.to_owned(),
                change: ConfigChange::Table(table),
            }),
            Err(error) => {
                self.faults
                    .push(error.under_key(&algorithm).under_key("algorithm_configs").to_string());
            }
        }
        self
    }

    /// An algorithm under another name, with slug, records and curves of its own: its configuration,
    /// and over it `config`, key by key. It follows its algorithm's flag.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let fast = BTreeMap::from([("lr", 1e-2)]);
    /// let suite = rle::SuiteConfig::new("pursuit").variant("IPPO fast", "IPPO", fast);
    /// # let _ = suite;
    /// ```
    pub fn variant(
        mut self,
        name: impl Into<String>,
        algorithm: impl Into<String>,
        config: impl Serialize,
    ) -> Self {
        let name = name.into();
        match Value::from_serialize(&config) {
            Ok(config) => {
                let origin = SUITE_CODE.to_owned();
                let algorithm = algorithm.into();
                self.variants.insert(name, Variant { algorithm, slug: None, config, origin });
            }
            Err(error) => {
                self.faults.push(error.under_key(&name).under_key("variants").to_string());
            }
        }
        self
    }

    /// Named seeds per run. Each mapping must hold `learner` with base seed + run index.
    pub fn seeds_by_run<I, M>(mut self, seeds: I) -> Self
    where
        I: IntoIterator<Item = (u32, M)>,
        M: IntoIterator<Item = (String, u64)>,
    {
        for (run_idx, mapping) in seeds {
            self.seeds_by_run.insert(run_idx, mapping.into_iter().collect());
        }
        self
    }

    /// The first fault of the values that the builder took.
    pub(crate) fn check_values(&self) -> Result<(), Error> {
        if let Some(fault) = self.faults.first() {
            return Err(Error::usage(fault.clone()));
        }
        provenance::check_metadata(&self.provenance.metadata)
    }
}
