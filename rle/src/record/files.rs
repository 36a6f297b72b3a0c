//! Where the records of an export directory are, and how one is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::format::RecordHead;
use crate::Error;
use crate::fs::write_json_atomically;
use crate::names::SlotId;
use crate::run::artifacts;
use crate::value::Value;

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

/// Writes a slot's record, whole or not at all.
pub(crate) fn write_record(
    path: &Path,
    head: &RecordHead,
    metrics: &BTreeMap<String, Value>,
    episodes: &[Value],
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        head: &'a RecordHead,
        metrics: &'a BTreeMap<String, Value>,
        episode_history: &'a [Value],
    }
    write_json_atomically(path, &Document { head, metrics, episode_history: episodes })
}
