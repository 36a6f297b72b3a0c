//! Where the records of an export directory are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::names::SlotId;

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
    let directory = runs_dir(export_dir);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("list", &directory, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io("list", &directory, error))?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
