//! The entries of a set of runs, taken out of the live file and put back.

use std::fs;
use std::io;
use std::path::Path;

use super::format::{RunEntry, StageEntry, Stages, total};
use super::merge::TIMINGS_FILE_LOCK_TIMEOUT;
use super::{HARDWARE_FILE, LOCK_FILE, TIMINGS_FILE};
use crate::Error;
use crate::storage::{FileLock, write_atomically, write_json_atomically};

/// Copies the entries of these runs, with the hardware descriptions, into another directory.
///
/// # Errors
/// When the live file is not valid, or the copy cannot be written.
pub(crate) fn copy_runs(from: &Path, run_indices: &[u32], to: &Path) -> Result<(), Error> {
    let mut stages = Stages::load(&from.join(TIMINGS_FILE))?;
    keep(&mut stages, |run| is_one_of(run, run_indices));
    if stages.0.is_empty() {
        return Ok(());
    }
    let hardware = from.join(HARDWARE_FILE);
    match fs::read(&hardware) {
        Ok(bytes) => {
            write_atomically(&to.join(HARDWARE_FILE), |writer| writer.write_all(&bytes))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("read", &hardware, error)),
    }
    write_json_atomically(&to.join(TIMINGS_FILE), &stages)
}

/// Drops the entries of these runs from the live file; may be repeated.
///
/// # Errors
/// When the file is not valid or cannot be written.
pub(crate) fn drop_runs(directory: &Path, run_indices: &[u32]) -> Result<(), Error> {
    let path = directory.join(TIMINGS_FILE);
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let _lock = FileLock::acquire(&directory.join(LOCK_FILE), TIMINGS_FILE_LOCK_TIMEOUT)?;
    let mut stages = Stages::load(&path)?;
    keep(&mut stages, |run| !is_one_of(run, run_indices));
    write_json_atomically(&path, &stages)
}

/// Puts the entries of a copied file back into the live one; may be repeated.
///
/// # Errors
/// When a file is not valid, or the live one cannot be written.
pub(crate) fn restore_runs(directory: &Path, copy: &Path) -> Result<(), Error> {
    let stages = Stages::load(copy)?;
    let entries = stages
        .0
        .into_iter()
        .flat_map(|(name, stage)| stage.runs.into_iter().map(move |run| (name.clone(), run)));
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() { Ok(()) } else { super::merge_entries(directory, entries) }
}

fn is_one_of(run: &RunEntry, run_indices: &[u32]) -> bool {
    run.run_idx.is_some_and(|run_idx| run_indices.contains(&run_idx))
}

/// Keeps the runs that are wanted; a stage without any goes.
fn keep(stages: &mut Stages, wanted: impl Fn(&RunEntry) -> bool) {
    stages.0.retain(|_, stage: &mut StageEntry| {
        let before = stage.runs.len();
        stage.runs.retain(&wanted);
        if stage.runs.len() != before {
            stage.total_seconds = total(&stage.runs);
        }
        !stage.runs.is_empty()
    });
}
