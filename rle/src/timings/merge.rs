//! Adding entries to files that other processes add to at the same time.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::format::{RunEntry, StageEntry, Stages, total};
use super::hardware::{self, unknown_hardware, unknown_hardware_id};
use super::{HARDWARE_FILE, LOCK_FILE, TIMINGS_FILE};
use crate::Error;
use crate::storage::{FileLock, sweep_leftovers, write_json_atomically};
use crate::value::Value;

/// How long another writer of one timings file is waited for.
pub(super) const TIMINGS_FILE_LOCK_TIMEOUT: Duration = Duration::from_mins(15);

/// Adds each entry to its stage in the files of `dir`, which is created if need be; an entry that
/// is there already is replaced.
///
/// Entries are the same when run index and label are equal; without a run index, when the label
/// is; without either, when their whole content is. What others have written stays.
///
/// # Errors
/// Names the entry that is not valid, the file that cannot be read or written, or
/// [`Error::Locked`] after 15 minutes. The timings are as they were then.
pub(crate) fn merge_entries(dir: &Path, entries: Vec<(String, RunEntry)>) -> Result<(), Error> {
    merge_entries_within(dir, entries, TIMINGS_FILE_LOCK_TIMEOUT)
}

/// As [`merge_entries`], waiting for another writer no longer than `timeout`.
pub(super) fn merge_entries_within(
    dir: &Path,
    entries: Vec<(String, RunEntry)>,
    timeout: Duration,
) -> Result<(), Error> {
    for (stage, entry) in &entries {
        entry.check().map_err(|problem| {
            Error::usage(format!("the time of stage `{stage}` {problem}; nothing is recorded"))
        })?;
    }
    fs::create_dir_all(dir).map_err(|error| Error::io("create the directory", dir, error))?;
    let _lock = FileLock::acquire(&dir.join(LOCK_FILE), timeout)?;
    sweep_leftovers(dir)?;
    let path = dir.join(TIMINGS_FILE);
    let mut stages = Stages::load(&path)?;
    // First, so that no entry ever names a description that is not there.
    let unknown = unknown_hardware_id();
    if entries.iter().any(|(_, entry)| entry.hardware_id == unknown) {
        hardware::add(&dir.join(HARDWARE_FILE), unknown_hardware())?;
    }
    for (name, entry) in entries {
        stages.0.entry(name).or_default().merge(entry)?;
    }
    write_json_atomically(&path, &stages)
}

impl StageEntry {
    fn merge(&mut self, entry: RunEntry) -> Result<(), Error> {
        let key = Key::of(&entry)?;
        let mut place = None;
        let mut kept = Vec::with_capacity(self.runs.len() + 1);
        for run in self.runs.drain(..) {
            if Key::of(&run)? == key {
                place.get_or_insert(kept.len());
            } else {
                kept.push(run);
            }
        }
        kept.insert(place.unwrap_or(kept.len()), entry);
        self.runs = kept;
        self.total_seconds = total(&self.runs);
        Ok(())
    }
}

/// What makes two entries of a stage the same.
#[derive(PartialEq, Eq)]
enum Key {
    Run(u32, Option<String>),
    Label(String),
    Content(String),
}

impl Key {
    fn of(entry: &RunEntry) -> Result<Self, Error> {
        Ok(match (entry.run_idx, &entry.label) {
            (Some(run_idx), label) => Self::Run(run_idx, label.clone()),
            (None, Some(label)) => Self::Label(label.clone()),
            (None, None) => Self::Content(Value::from(entry).canonical_json()?),
        })
    }
}
