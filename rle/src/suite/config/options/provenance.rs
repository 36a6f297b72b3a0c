//! What of the program and its sources is part of each run's identity.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::record::provenance::ProvenanceMode;
use crate::suite::config::SuiteConfig;
use crate::suite::config::field::Field;
use crate::suite::config::setting::{ALL_CHILDREN, Setting, repeated, value};
use crate::value::Value;

/// What of the program and its sources is part of each run's identity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProvenanceOptions {
    pub(crate) source_dir: Option<PathBuf>,
    pub(crate) mode: ProvenanceMode,
    pub(crate) packages: Vec<String>,
    pub(crate) inputs: Vec<String>,
    pub(crate) metadata: BTreeMap<String, Value>,
}

pub(in crate::suite::config) const SETTINGS: &[Setting] = &[
    value(
        "provenance_mode",
        "MODE",
        "capture, require_clean or supplied [default: capture]",
        |config| Field::ProvenanceMode(&mut config.provenance.mode),
    )
    .inherited_by(ALL_CHILDREN),
    repeated(
        "provenance",
        "KEY=VALUE",
        "a fact of your own about the program, part of every run's identity",
        |config| Field::Facts(&mut config.provenance.metadata),
    )
    .inherited_by(ALL_CHILDREN),
    value(
        "provenance_packages",
        "LIST",
        "packages whose locked versions are part of every run's identity",
        |config| Field::List(&mut config.provenance.packages),
    )
    .inherited_by(ALL_CHILDREN),
    value(
        "provenance_inputs",
        "LIST",
        "patterns of files that count as source, such as data/*.json",
        |config| Field::List(&mut config.provenance.inputs),
    )
    .inherited_by(ALL_CHILDREN),
];

impl SuiteConfig {
    /// Where the Cargo workspace of the sources is looked up. Default: the directory that
    /// `#[rle::main]` was compiled in if it exists, else the current directory.
    pub fn source_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.provenance.source_dir = Some(path.into());
        self
    }

    /// How provenance is gathered: captured, unless this says otherwise.
    pub fn provenance_mode(mut self, mode: ProvenanceMode) -> Self {
        self.provenance.mode = mode;
        self
    }

    /// Packages whose versions, as the workspace's `Cargo.lock` has them, are recorded and part of
    /// every run's identity. A name that is not found there is recorded as null, with a warning.
    pub fn provenance_packages<I, S>(mut self, packages: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.provenance.packages = packages.into_iter().map(Into::into).collect();
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
        self.provenance.inputs = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// One fact of the caller's own, recorded as metadata and part of every run's identity. Keys
    /// that provenance itself uses, such as `source`, stop the start.
    pub fn provenance(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        match Value::from_serialize(&value) {
            Ok(value) => {
                self.provenance.metadata.insert(key, value);
            }
            Err(error) => {
                self.faults.push(error.under_key(&key).under_key("provenance").to_string());
            }
        }
        self
    }
}
