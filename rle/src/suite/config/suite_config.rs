//! An experiment suite's values, and the builder that a program's code sets them with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::algorithm::{AlgorithmOverride, ConfigChange};
use crate::metrics::{Backend, LogMode};
use crate::record::provenance::{self, Provenance, ProvenanceMode};
use crate::suite::config::log::{LogModeSetting, LogSettings};
use crate::suite::config::on_busy::OnBusy;
use crate::value::Value;

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
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[must_use]
pub struct SuiteConfig {
    pub(crate) env_name: String,
    pub(crate) env_config: Value,
    pub(crate) common_config: BTreeMap<String, Value>,
    pub(crate) flags: BTreeMap<String, bool>,
    pub(crate) overrides: Vec<AlgorithmOverride>,
    pub(crate) seeds_by_run: BTreeMap<u32, BTreeMap<String, u64>>,
    pub(crate) export_dir: PathBuf,
    pub(crate) num_runs: u32,
    pub(crate) base_seed: u64,
    pub(crate) run_numbers: Option<Vec<u32>>,
    pub(crate) algorithms: Option<Vec<String>>,
    pub(crate) just_vis: bool,
    pub(crate) resume_completed_runs: bool,
    pub(crate) rerun: Vec<String>,
    pub(crate) source_dir: Option<PathBuf>,
    pub(crate) provenance_mode: ProvenanceMode,
    pub(crate) provenance_packages: Vec<String>,
    pub(crate) provenance_inputs: Vec<String>,
    pub(crate) provenance_metadata: BTreeMap<String, Value>,
    /// Provenance that another process of this start has captured: nothing is captured here.
    #[serde(skip)]
    pub(crate) captured: Option<Provenance>,
    pub(crate) faults: Vec<String>,
    pub(crate) restart_completed_runs: bool,
    pub(crate) checkpoint_enabled: bool,
    pub(crate) resume_checkpoints: bool,
    pub(crate) variants: BTreeMap<String, Variant>,
    pub(crate) accept: Vec<String>,
    pub(crate) jobs: u32,
    pub(crate) gpus_per_run: u32,
    pub(crate) fail_fast: bool,
    pub(crate) retries: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stop_after: Option<Duration>,
    pub(crate) on_busy: OnBusy,
    pub(crate) start_id: Option<String>,
    pub(crate) log: LogSettings,
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
            seeds_by_run: BTreeMap::new(),
            num_runs: 1,
            base_seed: 0,
            run_numbers: None,
            algorithms: None,
            just_vis: false,
            resume_completed_runs: true,
            rerun: Vec::new(),
            source_dir: None,
            provenance_mode: ProvenanceMode::default(),
            provenance_packages: Vec::new(),
            provenance_inputs: Vec::new(),
            provenance_metadata: BTreeMap::new(),
            captured: None,
            faults: Vec::new(),
            restart_completed_runs: false,
            checkpoint_enabled: false,
            resume_checkpoints: true,
            variants: BTreeMap::new(),
            accept: Vec::new(),
            jobs: 1,
            gpus_per_run: 0,
            fail_fast: false,
            retries: 0,
            timeout: None,
            stop_after: None,
            on_busy: OnBusy::Skip,
            start_id: None,
            log: LogSettings::default(),
            stop_at_save: false,
        }
    }

    /// Where everything is written; a relative path counts from the current directory.
    pub fn export_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.export_dir = path.into();
        self
    }

    /// Size of the run window: runs `0..num_runs` of each algorithm.
    pub fn num_runs(mut self, num_runs: u32) -> Self {
        self.num_runs = num_runs;
        self
    }

    /// Learner seed of run 0; run `i` has `base_seed + i`.
    pub fn base_seed(mut self, base_seed: u64) -> Self {
        self.base_seed = base_seed;
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

    /// Only these runs of the window.
    pub fn run_numbers(mut self, run_numbers: impl IntoIterator<Item = u32>) -> Self {
        self.run_numbers = Some(run_numbers.into_iter().collect());
        self
    }

    /// Exactly these algorithms, by name or slug; flags are then ignored.
    pub fn algorithms<I, S>(mut self, algorithms: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.algorithms = Some(algorithms.into_iter().map(Into::into).collect());
        self
    }

    /// Whether matching complete records are reused (they are).
    pub fn resume_completed_runs(mut self, resume: bool) -> Self {
        self.resume_completed_runs = resume;
        self
    }

    /// Computes a slot (`ippo:1`) again whatever its record says.
    pub fn rerun(mut self, slot: impl Into<String>) -> Self {
        self.rerun.push(slot.into());
        self
    }

    /// Whether a complete set is archived and computed afresh (it is not).
    pub fn restart_completed_runs(mut self, restart: bool) -> Self {
        self.restart_completed_runs = restart;
        self
    }

    /// Whether runs save checkpoints (they do not), as `--checkpoint-enabled` says: see
    /// [`Checkpoint`](crate::Checkpoint). Those that are there are resumed from in any case.
    pub fn checkpoints(mut self, enabled: bool) -> Self {
        self.checkpoint_enabled = enabled;
        self
    }

    /// Whether unfinished runs go on from their checkpoints (they do).
    pub fn resume_checkpoints(mut self, resume: bool) -> Self {
        self.resume_checkpoints = resume;
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

    /// Reuses records across differences in this field of the request: a path as `status` shows
    /// it, such as `provenance.source`. The record says that it was done.
    pub fn accept(mut self, path: impl Into<String>) -> Self {
        self.accept.push(path.into());
        self
    }

    /// Runs so many slots at once, each in a process of its own (1, in this process). Only a
    /// program made by `#[rle::main]` can.
    pub fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// How many GPUs each of the runs at once has for itself (0: all see all).
    pub fn gpus_per_run(mut self, gpus: u32) -> Self {
        self.gpus_per_run = gpus;
        self
    }

    /// Whether no further slot is begun after one failed (the others go on).
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.fail_fast = fail_fast;
        self
    }

    /// How often a slot that failed is tried again in the same start (never).
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// How long a run may take. It is then asked to stop, through
    /// [`RunContext::should_stop`](crate::RunContext::should_stop). A program made by
    /// `#[rle::main]` runs it in a process of its own, which is killed 5 s later; [`Suite::run`](crate::Suite::run)
    /// can do no more than ask.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// After how long the whole start stops, as at a signal: runs save and end, none begins any
    /// more, and the next start goes on.
    pub fn stop_after(mut self, stop_after: Duration) -> Self {
        self.stop_after = Some(stop_after);
        self
    }

    /// What to do about a slot that another process holds.
    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.on_busy = on_busy;
        self
    }

    /// Where the Cargo workspace of the sources is looked up. Default: the directory that
    /// `#[rle::main]` was compiled in if it exists, else the current directory.
    pub fn source_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.source_dir = Some(path.into());
        self
    }

    /// How provenance is gathered: captured, unless this says otherwise.
    pub fn provenance_mode(mut self, mode: ProvenanceMode) -> Self {
        self.provenance_mode = mode;
        self
    }

    /// Packages whose versions, as the workspace's `Cargo.lock` has them, are recorded and part of
    /// every run's identity. A name that is not found there is recorded as null, with a warning.
    pub fn provenance_packages<I, S>(mut self, packages: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.provenance_packages = packages.into_iter().map(Into::into).collect();
        self
    }

    /// Patterns of files that count as source beside the Rust and Cargo files, relative to the
    /// workspace: `data/*.json`, `shaders/**/*.wgsl`, or a directory with all that it holds. Their
    /// contents are part of every run's identity.
    ///
    /// `*` stays within a directory, `**` is any number of directories, a leading dot has to be
    /// written. Nothing in a build or export directory or in `.git` ever matches. A pattern that
    /// leads out of the workspace stops the start; one that matches nothing is a warning.
    ///
    /// ```
    /// let suite = rle::SuiteConfig::new("pursuit")
    ///     .provenance_inputs(["maps/**/*.json", "reward_table.csv"])
    ///     .provenance_packages(["burn", "rand"])
    ///     .provenance("simulator_build", 4812);
    /// # let _ = suite;
    /// ```
    pub fn provenance_inputs<I, S>(mut self, patterns: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.provenance_inputs = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// One fact of the caller's own, recorded as metadata and part of every run's identity. Keys
    /// that provenance itself uses, such as `source`, stop the start.
    pub fn provenance(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        match Value::from_serialize(&value) {
            Ok(value) => {
                self.provenance_metadata.insert(key, value);
            }
            Err(error) => {
                self.faults.push(error.under_key(&key).under_key("provenance").to_string());
            }
        }
        self
    }

    /// For which programs metrics are logged ([`Backend::TensorBoard`]); an empty list is none. None
    /// of what is set about logging is part of a run's identity.
    ///
    /// ```
    /// use rle::metrics::Backend;
    ///
    /// let suite = rle::SuiteConfig::new("pursuit")
    ///     .log_backends([Backend::TensorBoard, Backend::Wandb])
    ///     .log_project("shields");
    /// # let _ = suite;
    /// ```
    pub fn log_backends(mut self, backends: impl IntoIterator<Item = Backend>) -> Self {
        let backends = self.log.backends.insert(backends.into_iter().collect());
        backends.sort_unstable();
        backends.dedup();
        self
    }

    /// The project that runs belong to (the environment's name).
    pub fn log_project(mut self, project: impl Into<String>) -> Self {
        self.log.project = Some(project.into());
        self
    }

    /// The experiment within the project (the export directory's last component).
    pub fn log_name(mut self, name: impl Into<String>) -> Self {
        self.log.name = Some(name.into());
        self
    }

    /// Where metrics are logged (`_logs` in the export directory); a relative path counts from the
    /// current directory.
    pub fn log_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.log.dir = Some(path.into());
        self
    }

    /// What W&B and SwanLab do beyond files (nothing: [`LogMode::Offline`]).
    pub fn log_mode(mut self, mode: LogMode) -> Self {
        self.log.mode = Some(LogModeSetting::Mode(mode));
        self
    }

    /// Tags of every run, where the backend has them.
    pub fn log_tags<I, S>(mut self, tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.log.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// How much of the metrics a killed process may lose (2 s).
    pub fn log_flush_interval(mut self, interval: Duration) -> Self {
        self.log.flush_interval = Some(interval);
        self
    }

    /// What the generated program's console shows: `error`, `warn`, `info` (the default), `debug`,
    /// `trace` or `off`, unless `RLE_LOG` or `RUST_LOG` say more.
    pub fn log_level(mut self, level: impl Into<String>) -> Self {
        self.log.level = Some(level.into());
        self
    }

    /// The first fault of the values that the builder took.
    pub(crate) fn check_values(&self) -> Result<(), Error> {
        if let Some(fault) = self.faults.first() {
            return Err(Error::usage(fault.clone()));
        }
        provenance::check_metadata(&self.provenance_metadata)
    }
}
