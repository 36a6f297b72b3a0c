//! Where archives are, how they are named, and what they say of where their content came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::record::runs_dir;

pub(crate) fn superseded_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_superseded")
}

pub(crate) fn archived_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_archived_complete_runs")
}

/// `20261129T131800Z`.
pub(crate) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}

pub(super) const ORIGIN: &str = "origin.json";

/// `origin.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) schema_version: u32,
    /// `ippo:1`: whose they were, whether or not they have a record.
    #[serde(default)]
    pub(super) slots: Vec<String>,
    pub(super) moved: Vec<Moved>,
    /// Tracked outputs of records: where they lay.
    pub(super) tracked: Vec<Tracked>,
    /// The directory of the logged metrics, as the live record of that file name had it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) log_dirs: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Moved {
    /// Relative to the export directory.
    pub(super) from: String,
    /// Relative to the archive.
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
