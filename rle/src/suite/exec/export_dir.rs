//! The export directory: made, proved writable, cleared of what killed processes left.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fs::{probe_writing, sweep_leftovers};
use crate::suite::plan::NO_DIRECTORY;
use crate::{Error, record};

/// A record's size, so that a full disk shows before anything is computed.
const RECORD_BYTES: usize = 16 * 1024;

/// Makes the export directory and proves that files can be written there; on failure what was
/// made is removed again.
pub(in crate::suite) fn make(export_dir: &Path) -> Result<(), Error> {
    let runs = record::runs_dir(export_dir);
    let mut made = Vec::new();
    let outcome = make_dirs(&[runs.clone(), export_dir.join("_logs")], &mut made)
        .and_then(|()| probe_writing(&runs, RECORD_BYTES))
        .and_then(|()| sweep_leftovers(&runs).map(drop));
    if outcome.is_err() {
        for directory in made.iter().rev() {
            // Only what is still empty goes; the first error is the one to report.
            let _ = fs::remove_dir(directory);
        }
    }
    outcome
}

fn make_dirs(wanted: &[PathBuf], made: &mut Vec<PathBuf>) -> Result<(), Error> {
    for directory in wanted {
        let missing: Vec<&Path> =
            directory.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
        for path in missing.into_iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => made.push(path.to_owned()),
                Err(_) if path.is_dir() => {}
                Err(error) => return Err(Error::io("create the directory", path, error)),
            }
        }
        if !directory.is_dir() {
            let file = directory.ancestors().find(|ancestor| ancestor.is_file());
            return Err(Error::file(file.unwrap_or(directory), NO_DIRECTORY));
        }
    }
    Ok(())
}
