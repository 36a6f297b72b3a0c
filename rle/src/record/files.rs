//! Where the records of an export directory are, and how one is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::format::RecordHead;
use crate::fs::write_json_atomically;
use crate::run::artifacts;
use crate::value::Value;
use crate::{Error, SlotId};

pub(crate) fn runs_dir(export_dir: &Path) -> PathBuf {
    export_dir.join("runs")
}

pub(crate) fn record_path(export_dir: &Path, slot: &SlotId) -> PathBuf {
    runs_dir(export_dir).join(format!("{}.json", slot.file_stem()))
}

pub(crate) fn lock_path(export_dir: &Path, slot: &SlotId) -> PathBuf {
    runs_dir(export_dir).join(format!("{}.lock", slot.file_stem()))
}

/// All `*.json` files directly in `runs/`, sorted; none where there is no such directory.
pub(crate) fn record_paths(export_dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_record = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json") && path.is_file()
    };
    let mut paths = artifacts::list_directory(&runs_dir(export_dir))?;
    paths.retain(is_record);
    paths.sort();
    Ok(paths)
}

/// A record as it is on disk.
#[derive(Serialize)]
pub(crate) struct WholeRecord {
    #[serde(flatten)]
    pub(crate) head: RecordHead,
    pub(crate) metrics: BTreeMap<String, Value>,
    #[serde(rename = "episode_history")]
    pub(crate) episodes: Vec<Value>,
}

impl WholeRecord {
    /// The record of a run without a result.
    pub(crate) fn without_result(head: RecordHead) -> Self {
        Self { head, metrics: BTreeMap::new(), episodes: Vec::new() }
    }

    /// Writes the record, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        write_json_atomically(path, self)
    }
}
