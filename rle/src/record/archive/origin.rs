//! Where everything in an archive came from, so that it can be put back: `origin.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) const ORIGIN: &str = "origin.json";

/// `origin.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Format of this file.
    pub(super) schema_version: u32,
    /// `ippo:1`: whose they were, whether or not they have a record.
    #[serde(default)]
    pub(super) slots: Vec<String>,
    /// Moved directories and files: from relative to the export directory, to relative to this
    /// one.
    pub(super) moved: Vec<Moved>,
    /// Tracked outputs of records: where they lay.
    pub(super) tracked: Vec<Tracked>,
    /// The directory of the logged metrics, as the live record of that file name had it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) log_dirs: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Moved {
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tracked {
    /// The record's file name.
    pub(super) record: String,
    pub(super) label: String,
    /// As the live record had it.
    pub(super) path: String,
}
