//! The entries of a set of runs, taken out of the live file and put back; what the runner adds.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::entry::{RunEntry, RunKey};
use super::hardware::current;
use super::save::{SaveOptions, TIMINGS_FILE_LOCK_TIMEOUT};
use super::stages::{self, Stages};
use super::store::refused;
use super::{HARDWARE_FILE, TIMINGS_FILE, Timings};
use crate::Error;
use crate::fs::write_atomically;
use crate::value::Value;

/// A time that the runner adds to a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewEntry {
    pub(crate) hardware_id: String,
    pub(crate) seconds: f64,
    pub(crate) run_idx: Option<u32>,
    pub(crate) label: Option<String>,
    pub(crate) extra: BTreeMap<String, Value>,
}

impl NewEntry {
    fn into_run(self) -> Result<RunEntry, String> {
        let key = RunKey { run_idx: self.run_idx, label: self.label };
        RunEntry::new(&self.hardware_id, self.seconds, key, self.extra)
    }
}

/// Merges each entry into its stage in the files of `dir`, which is created if need be: an entry
/// that is there already is replaced, every other one stays, whatever its run index.
///
/// # Errors
/// Names the entry that is not valid, the file that cannot be read or written, or
/// [`Error::Locked`] after 15 minutes. The timings are as they were then.
pub(crate) fn merge_entries(dir: &Path, entries: Vec<(String, NewEntry)>) -> Result<(), Error> {
    merge_within(dir, entries, SaveOptions::default())
}

/// As [`merge_entries`], with other options.
pub(super) fn merge_within(
    dir: &Path,
    entries: Vec<(String, NewEntry)>,
    options: SaveOptions,
) -> Result<(), Error> {
    let mut timings = Timings::new();
    for (name, entry) in entries {
        let hardware = current();
        if entry.hardware_id == hardware.id {
            timings.hardware.add(&hardware.id, &hardware.description);
        }
        let run = entry.into_run().map_err(|problem| refused(&name, &problem))?;
        timings.stages.entry(name).or_default().runs_mut().push(run);
    }
    timings.save_into(dir, options)
}

/// Copies the entries of these runs, with the hardware descriptions, into another directory.
///
/// # Errors
/// When the live file is not valid, or the copy cannot be written.
pub(crate) fn copy_runs(from: &Path, run_indices: &[u32], to: &Path) -> Result<(), Error> {
    let mut stages = stages::load(&from.join(TIMINGS_FILE))?;
    keep(&mut stages, |run| is_one_of(run, run_indices));
    if stages.is_empty() {
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
    let text = stages::render(&stages);
    write_atomically(&to.join(TIMINGS_FILE), |writer| writer.write_all(text.as_bytes()))
}

/// Drops the entries of these runs from the live file; may be repeated.
///
/// # Errors
/// When the file is not valid or cannot be written.
pub(crate) fn drop_runs(directory: &Path, run_indices: &[u32]) -> Result<(), Error> {
    if directory.join(TIMINGS_FILE).symlink_metadata().is_err() {
        return Ok(());
    }
    Timings::update_in(directory, TIMINGS_FILE_LOCK_TIMEOUT, |timings| {
        keep(&mut timings.stages, |run| !is_one_of(run, run_indices));
        Ok::<_, Error>(())
    })
    .map(drop)
}

/// Puts the entries of a copied file back into the live one; may be repeated.
///
/// # Errors
/// When a file is not valid, or the live one cannot be written.
pub(crate) fn restore_runs(directory: &Path, copy: &Path) -> Result<(), Error> {
    let mut timings = Timings::new();
    timings.stages = stages::load(copy)?;
    if timings.is_empty() {
        return Ok(());
    }
    timings.save_into(directory, SaveOptions::default())
}

fn is_one_of(run: &RunEntry, run_indices: &[u32]) -> bool {
    run.run_idx().is_some_and(|run_idx| run_indices.contains(&run_idx))
}

/// Keeps the runs that are wanted, and removes stages that are empty then.
fn keep(stages: &mut Stages, wanted: impl Fn(&RunEntry) -> bool) {
    stages.retain(|_, stage| {
        if !stage.runs().iter().all(&wanted) {
            stage.runs_mut().retain(&wanted);
        }
        !stage.runs().is_empty()
    });
}
