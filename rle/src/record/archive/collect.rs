//! Collects the files of a slot, and where each of them goes.

use std::fs;
use std::path::{Path, PathBuf};

use super::entries::{Moved, ORIGIN, Origin, Tracked};
use super::transaction::{Step, Transaction, relative};
use crate::fs::{failpoint, write_atomically, write_json_atomically};
use crate::record::{RecordHead, read_whole, record_path, runs_dir};
use crate::run::{artifacts, checkpoint};
use crate::{Error, SlotId, metrics};

/// Collects slots: copies go into the transaction's directory at once, the rest becomes steps.
pub(super) struct Collector<'a> {
    export_dir: &'a Path,
    transaction: &'a Transaction<'a>,
    pub(super) steps: Vec<Step>,
    origin: Origin,
}

impl<'a> Collector<'a> {
    pub(super) fn new(transaction: &'a Transaction<'a>) -> Self {
        let origin = Origin { schema_version: 1, ..Origin::default() };
        Self { export_dir: transaction.export_dir, transaction, steps: Vec::new(), origin }
    }

    /// Writes down where everything came from, and gives the steps.
    pub(super) fn finish(self) -> Result<Vec<Step>, Error> {
        failpoint()?;
        write_json_atomically(&self.transaction.directory.join(ORIGIN), &self.origin)?;
        Ok(self.steps)
    }

    fn move_to(&mut self, from: String, to: String) {
        let destination = relative(self.export_dir, &self.transaction.destination.join(&to));
        self.steps.push(Step::Move { from: from.clone(), to: destination });
        self.origin.moved.push(Moved { from, to });
    }

    /// Collects one slot, into the directory `below` of the archive.
    pub(super) fn collect(&mut self, slot: &SlotId, below: &str) -> Result<(), Error> {
        self.origin.slots.push(slot.to_string());
        let below = Path::new(below);
        let record = record_path(self.export_dir, slot);
        if record.symlink_metadata().is_ok() {
            self.copy_record(slot, &record, below)?;
            self.steps.push(Step::Remove { path: relative(self.export_dir, &record) });
        }
        let stem = slot.file_stem();
        let places = [
            (artifacts::run_directory(self.export_dir, slot), "artifacts".to_owned()),
            (checkpoint::directory(self.export_dir, slot), "checkpoints".to_owned()),
            (runs_dir(self.export_dir).join(format!("{stem}.np")), format!("{stem}.np")),
        ];
        for (path, name) in places {
            if path.is_file() || !artifacts::is_empty_dir(&path) {
                self.move_to(relative(self.export_dir, &path), text(&below.join(name)));
            }
        }
        Ok(())
    }

    /// Copies the record, and lets it point at where its outputs will lie.
    fn copy_record(&mut self, slot: &SlotId, path: &Path, below: &Path) -> Result<(), Error> {
        failpoint()?;
        let name = format!("{}.json", slot.file_stem());
        let copy = self.transaction.directory.join(&name);
        // A record of another slot names that slot's files, which are not ours to move.
        let Some(mut whole) =
            read_whole(path).ok().filter(|whole| whole.head.slot() == slot.to_string())
        else {
            let bytes = fs::read(path).map_err(Error::cannot("read", path))?;
            return write_atomically(&copy, |writer| writer.write_all(&bytes));
        };
        self.collect_outputs(slot, &mut whole.head, &name, below)?;
        self.collect_curves(slot, &mut whole.head, &name, below)?;
        whole.write(&copy)
    }

    /// Outputs in the run's own directory move with it; those elsewhere below the export directory
    /// move one by one, and those outside are copied.
    fn collect_outputs(
        &mut self,
        slot: &SlotId,
        head: &mut RecordHead,
        record: &str,
        below: &Path,
    ) -> Result<(), Error> {
        // Places that move as a whole, and where to: an output inside one of them moves with it.
        let own = artifacts::run_directory(self.export_dir, slot);
        let mut roots = vec![(own, below.join("artifacts"))];
        let mut tracked: Vec<_> = head.artifact_paths.iter_mut().collect();
        tracked.sort_by_key(|(_, tracked)| tracked.path.len());
        for (label, tracked) in tracked {
            let stored = tracked.path.clone();
            let old = artifacts::resolve_stored(self.export_dir, &stored);
            let inside = roots.iter().find_map(|(root, to)| {
                old.strip_prefix(root)
                    .ok()
                    .map(|rest| to.components().chain(rest.components()).collect())
            });
            let place: PathBuf = if let Some(place) = inside {
                place
            } else {
                // Labels may hold anything, so these are numbered.
                let place = below.join(format!("output_{}", roots.len()));
                self.take_output(&stored, &old, &place)?;
                roots.push((old, place.clone()));
                place
            };
            tracked.path = relative(self.export_dir, &self.transaction.destination.join(place));
            let (record, label) = (record.to_owned(), label.clone());
            self.origin.tracked.push(Tracked { record, label, path: stored });
        }
        Ok(())
    }

    fn take_output(&mut self, stored: &str, old: &Path, place: &Path) -> Result<(), Error> {
        if old.symlink_metadata().is_err() {
            return Ok(());
        }
        failpoint()?;
        if Path::new(stored).is_absolute() {
            return artifacts::copy_tree(old, &self.transaction.directory.join(place));
        }
        self.move_to(stored.to_owned(), text(place));
        Ok(())
    }

    /// Logged metrics below the export directory move; elsewhere they stay until the next run of
    /// the slot moves them aside.
    fn collect_curves(
        &mut self,
        slot: &SlotId,
        head: &mut RecordHead,
        record: &str,
        below: &Path,
    ) -> Result<(), Error> {
        let Some(stored) = head.log_dir.clone().filter(|stored| !Path::new(stored).is_absolute())
        else {
            return Ok(());
        };
        let live = artifacts::resolve_stored(self.export_dir, &stored);
        let found =
            metrics::directories(&live, &slot.file_stem()).map_err(Error::cannot("list", &live))?;
        let logs = below.join("logs");
        for path in &found {
            let to = text(&logs.join(path.strip_prefix(&live).unwrap_or(path)));
            self.move_to(relative(self.export_dir, path), to);
        }
        if !found.is_empty() {
            let archived = self.transaction.destination.join(&logs);
            head.log_dir = Some(relative(self.export_dir, &archived));
            self.origin.log_dirs.insert(record.to_owned(), stored);
        }
        Ok(())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
