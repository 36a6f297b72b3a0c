//! What of a slot goes where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::transfer::{Step, Transfer, relative};
use crate::Error;
use crate::fs::{failpoint, write_atomically, write_json_atomically};
use crate::metrics;
use crate::names::SlotId;
use crate::record::{self, RecordHead};
use crate::run::artifacts;
use crate::run::checkpoint;

/// Where everything in an archive came from, so that it can be put back.
pub(super) const ORIGIN: &str = "origin.json";

/// The steps of a transfer, and where each thing came from.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) steps: Vec<Step>,
    origin: Origin,
}

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

impl Gathered {
    pub(super) fn extend(&mut self, other: Self) {
        self.steps.extend(other.steps);
        self.origin.slots.extend(other.origin.slots);
        self.origin.moved.extend(other.origin.moved);
        self.origin.tracked.extend(other.origin.tracked);
        self.origin.log_dirs.extend(other.origin.log_dirs);
    }

    pub(super) fn write_origin(&self, transfer: &Transfer<'_>) -> Result<(), Error> {
        failpoint()?;
        let origin = Origin { schema_version: 1, ..self.origin.clone() };
        write_json_atomically(&transfer.directory().join(ORIGIN), &origin)
    }

    fn move_to(&mut self, transfer: &Transfer<'_>, from: String, to: String) {
        self.steps.push(Step::Move { from: from.clone(), to: transfer.destination_of(&to) });
        self.origin.moved.push(Moved { from, to });
    }
}

/// Gathers one slot; `below` keeps the runs of a set apart.
pub(super) fn slot(
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slot: &SlotId,
    below: &str,
) -> Result<Gathered, Error> {
    let mut gathered = Gathered::default();
    gathered.origin.slots.push(slot.to_string());
    let within = |name: &str| {
        if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
    };
    let record_path = record::record_path(export_dir, slot);
    if record_path.symlink_metadata().is_ok() {
        record(&mut gathered, transfer, export_dir, slot, &within)?;
        gathered.steps.push(Step::Remove { path: relative(export_dir, &record_path) });
    }
    let stem = slot.file_stem();
    let places = [
        (artifacts::run_directory(export_dir, slot), "artifacts".to_owned()),
        (checkpoint::directory(export_dir, slot), "checkpoints".to_owned()),
        (record::runs_dir(export_dir).join(format!("{stem}.np")), format!("{stem}.np")),
    ];
    for (path, name) in places {
        let there = path.is_file() || !artifacts::is_empty_dir(&path);
        if there {
            gathered.move_to(transfer, relative(export_dir, &path), within(&name));
        }
    }
    Ok(gathered)
}

/// The record's copy, which points at where its outputs will lie.
fn record(
    gathered: &mut Gathered,
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slot: &SlotId,
    within: &impl Fn(&str) -> String,
) -> Result<(), Error> {
    failpoint()?;
    let name = format!("{}.json", slot.file_stem());
    let path = record::record_path(export_dir, slot);
    let copy = transfer.directory().join(&name);
    let own = |head: &RecordHead| {
        head.algorithm.slug == slot.slug().as_str() && head.run_idx == slot.run_idx()
    };
    // A record of another slot names that slot's files, which are not ours to move.
    let Some(mut whole) = record::read_whole(&path).ok().filter(|whole| own(&whole.head)) else {
        let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        return write_atomically(&copy, |writer| writer.write_all(&bytes));
    };
    outputs(gathered, transfer, export_dir, slot, &mut whole.head, &name, within)?;
    curves(gathered, transfer, export_dir, slot, &mut whole.head, &name, within)?;
    record::write_record(&copy, &whole.head, &whole.metrics, &whole.episodes)
}

/// Outputs in the run's own directory move with it; those elsewhere below the export directory
/// move one by one, and those outside are copied.
fn outputs(
    gathered: &mut Gathered,
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slot: &SlotId,
    head: &mut RecordHead,
    record: &str,
    within: &impl Fn(&str) -> String,
) -> Result<(), Error> {
    // Places that move as a whole, and where to: an output inside one of them moves with it.
    let own = artifacts::run_directory(export_dir, slot);
    let mut roots = vec![(own, PathBuf::from(within("artifacts")))];
    let mut tracked: Vec<_> = head.artifact_paths.iter_mut().collect();
    tracked.sort_by_key(|(_, tracked)| tracked.path.len());
    for (label, tracked) in tracked {
        let stored = tracked.path.clone();
        let old = artifacts::resolve_stored(export_dir, &stored);
        let inside = roots.iter().find_map(|(root, to)| {
            old.strip_prefix(root)
                .ok()
                .map(|rest| to.components().chain(rest.components()).collect())
        });
        let place: PathBuf = if let Some(place) = inside {
            place
        } else {
            // Labels may hold anything, so these are numbered.
            let name = within(&format!("output_{}", roots.len()));
            if old.symlink_metadata().is_ok() {
                failpoint()?;
                if Path::new(&stored).is_absolute() {
                    copy(&old, &transfer.directory().join(&name))?;
                } else {
                    gathered.move_to(transfer, stored.clone(), name.clone());
                }
            }
            roots.push((old, PathBuf::from(&name)));
            PathBuf::from(name)
        };
        tracked.path = relative(export_dir, &transfer.destination().join(place));
        let (record, label) = (record.to_owned(), label.clone());
        gathered.origin.tracked.push(Tracked { record, label, path: stored });
    }
    Ok(())
}

/// Logged metrics below the export directory move; elsewhere they are what they are until the next
/// run of the slot puts them aside.
fn curves(
    gathered: &mut Gathered,
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slot: &SlotId,
    head: &mut RecordHead,
    record: &str,
    within: &impl Fn(&str) -> String,
) -> Result<(), Error> {
    let Some(stored) = head.log_dir.clone().filter(|stored| !Path::new(stored).is_absolute())
    else {
        return Ok(());
    };
    let live = artifacts::resolve_stored(export_dir, &stored);
    let found = metrics::directories(&live, &slot.file_stem())
        .map_err(|error| Error::io("list", &live, error))?;
    for path in &found {
        let name = path.strip_prefix(&live).unwrap_or(path).to_string_lossy();
        let to = within(&format!("logs/{name}"));
        gathered.move_to(transfer, relative(export_dir, path), to);
    }
    if !found.is_empty() {
        let archived = transfer.destination().join(within("logs"));
        head.log_dir = Some(relative(export_dir, &archived));
        gathered.origin.log_dirs.insert(record.to_owned(), stored);
    }
    Ok(())
}

/// Copies to a place whose parents are made.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)
            .map_err(|error| Error::io("create the directory", parent, error))?;
    }
    artifacts::copy_tree(from, to)
}
