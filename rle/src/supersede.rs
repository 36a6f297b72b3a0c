//! Moves a record that is not reused, with its outputs, out of the way of the new run.
//!
//! A kill at any instant loses nothing: everything is gathered in a directory whose name ends
//! in `.partial`; the next holder of the slot's lock finishes what it finds there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Error;
use crate::artifact;
use crate::record::{self, RecordHead};
use crate::slot::SlotId;
use crate::storage::{sweep_leftovers, sync_directory, write_atomically};

const PARTIAL: &str = ".partial";

/// `runs/_superseded`.
fn superseded_dir(export_dir: &Path) -> PathBuf {
    record::runs_dir(export_dir).join("_superseded")
}

/// `20261129T131800Z`.
pub(crate) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}

/// Finishes a move that a killed process left half done. The caller holds the slot's lock.
pub(crate) fn recover(export_dir: &Path, slot: &SlotId) -> Result<(), Error> {
    let parent = superseded_dir(export_dir);
    let prefix = format!("{}_", slot.file_stem());
    let entries = match fs::read_dir(&parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("list", &parent, error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| Error::io("list", &parent, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(stem) = name.as_deref().and_then(|name| name.strip_suffix(PARTIAL)) else {
            continue;
        };
        // Run 2 of a slug `ippo_1` begins like run 1 of `ippo`: the whole rest must be the time.
        let is_ours = stem.strip_prefix(&prefix).is_some_and(is_timestamp);
        if is_ours {
            Move { export_dir, slot, partial: path.clone() }.finish()?;
        }
    }
    Ok(())
}

/// Whether the text is a [`timestamp`], perhaps with the suffix of a second one in that second.
fn is_timestamp(text: &str) -> bool {
    let (stamp, suffix) = text.split_once('_').unwrap_or((text, "0"));
    let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "00000000T000000Z" && suffix.bytes().all(|byte| byte.is_ascii_digit())
}

/// Moves whatever the slot has, its record and its outputs, below `runs/_superseded`, and
/// returns where it lies; none where there was nothing. The caller holds the slot's lock.
pub(crate) fn set_aside(export_dir: &Path, slot: &SlotId) -> Result<Option<PathBuf>, Error> {
    let record = record::record_path(export_dir, slot);
    let outputs = artifact::run_directory(export_dir, slot);
    if !exists(&record) && is_empty_dir(&outputs) {
        return Ok(None);
    }
    let partial = claim(export_dir, slot)?;
    Move { export_dir, slot, partial }.finish().map(Some)
}

/// Whether the directory is missing or holds nothing.
pub(crate) fn is_empty_dir(path: &Path) -> bool {
    fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none())
}

/// Makes a new `<slug>_<idx>_<timestamp>[_n].partial`, never by listing.
fn claim(export_dir: &Path, slot: &SlotId) -> Result<PathBuf, Error> {
    let parent = superseded_dir(export_dir);
    fs::create_dir_all(&parent)
        .map_err(|error| Error::io("create the directory", &parent, error))?;
    let stamp = timestamp(SystemTime::now());
    for suffix in 0_u32.. {
        let stem = match suffix {
            0 => format!("{}_{stamp}", slot.file_stem()),
            more => format!("{}_{stamp}_{more}", slot.file_stem()),
        };
        if exists(&parent.join(&stem)) {
            continue;
        }
        let partial = parent.join(format!("{stem}{PARTIAL}"));
        match fs::create_dir(&partial) {
            Ok(()) => return Ok(partial),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("create the directory", &partial, error)),
        }
    }
    unreachable!("a free suffix exists below 2^32")
}

/// One move, resumable at every step.
struct Move<'a> {
    export_dir: &'a Path,
    slot: &'a SlotId,
    partial: PathBuf,
}

impl Move<'_> {
    fn finish(self) -> Result<PathBuf, Error> {
        let record = record::record_path(self.export_dir, self.slot);
        let done = done_path(&self.partial);
        if exists(&record) {
            self.move_record(&record, &done)?;
        } else {
            self.move_run_directory()?;
        }
        sweep_leftovers(&self.partial)?;
        fs::rename(&self.partial, &done)
            .map_err(|error| Error::io("rename", &self.partial, error))?;
        sync_directory(&superseded_dir(self.export_dir))?;
        Ok(done)
    }

    /// The rewritten copy is whole before the original goes. A file that is no record of this slot
    /// is kept as it is: the outputs that it names may be another slot's.
    fn move_record(&self, record: &Path, done: &Path) -> Result<(), Error> {
        let copy = self.partial.join(format!("{}.json", self.slot.file_stem()));
        let own = |head: &RecordHead| {
            head.algorithm.slug == self.slot.slug().as_str() && head.run_idx == self.slot.run_idx()
        };
        if let Some(mut whole) = record::read_whole(record).ok().filter(|whole| own(&whole.head)) {
            self.move_tracked_elsewhere(&whole.head)?;
            self.move_run_directory()?;
            self.point_at_copies(&mut whole.head, done);
            record::write_record(&copy, &whole.head, &whole.metrics, &whole.episodes)?;
        } else {
            self.move_run_directory()?;
            let bytes = fs::read(record).map_err(|error| Error::io("read", record, error))?;
            write_atomically(&copy, |writer| writer.write_all(&bytes))?;
        }
        fs::remove_file(record).map_err(|error| Error::io("remove", record, error))?;
        sync_directory(&record::runs_dir(self.export_dir))
    }

    fn move_run_directory(&self) -> Result<(), Error> {
        let from = artifact::run_directory(self.export_dir, self.slot);
        if is_empty_dir(&from) {
            return Ok(());
        }
        let to = self.partial.join("artifacts");
        fs::rename(&from, &to).map_err(|error| Error::io("move aside", &from, error))?;
        sync_directory(&self.partial)
    }

    /// Outputs tracked outside the run's own directory: moved from below the export directory,
    /// copied from elsewhere.
    fn move_tracked_elsewhere(&self, head: &RecordHead) -> Result<(), Error> {
        let own = artifact::run_directory(self.export_dir, self.slot);
        for (index, tracked) in head.artifact_paths.values().enumerate() {
            let from = artifact::resolve_stored(self.export_dir, &tracked.path);
            let to = self.partial.join(elsewhere_name(index));
            if from.starts_with(&own) || exists(&to) || !exists(&from) {
                continue;
            }
            if Path::new(&tracked.path).is_absolute() {
                artifact::copy_tree(&from, &to)?;
            } else {
                fs::rename(&from, &to).map_err(|error| Error::io("move aside", &from, error))?;
            }
        }
        Ok(())
    }

    /// Points a record's tracked paths at where the outputs will lie.
    fn point_at_copies(&self, head: &mut RecordHead, done: &Path) {
        let own = artifact::run_directory(self.export_dir, self.slot);
        for (index, tracked) in head.artifact_paths.values_mut().enumerate() {
            let old = artifact::resolve_stored(self.export_dir, &tracked.path);
            let new = match old.strip_prefix(&own) {
                Ok(rest) => done.join("artifacts").join(rest),
                Err(_) => done.join(elsewhere_name(index)),
            };
            let below = new.strip_prefix(self.export_dir).unwrap_or(&new);
            tracked.path = below.to_string_lossy().into_owned();
        }
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn done_path(partial: &Path) -> PathBuf {
    let name = partial.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    partial.with_file_name(name.strip_suffix(PARTIAL).unwrap_or(&name))
}

/// Labels may hold anything, so outputs from elsewhere are numbered in label order.
fn elsewhere_name(index: usize) -> String {
    format!("output_{index}")
}

#[cfg(test)]
mod killed;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::Slug;

    fn slot(slug: &str, run_idx: u32) -> SlotId {
        SlotId::new(Slug::new(slug).unwrap(), run_idx)
    }

    fn output_of(export_dir: &Path, slot: &SlotId) -> PathBuf {
        let output = artifact::run_directory(export_dir, slot).join("policy");
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        fs::write(&output, slot.to_string()).unwrap();
        output
    }

    fn head_of_ippo_0(policy: &str) -> RecordHead {
        let text = format!(
            r#"{{"schema_version": 1, "status": "complete", "request": {{"schema_version": 1,
            "hash": "0"}}, "algorithm": {{"name": "IPPO", "slug": "ippo", "config": {{}}}},
            "run_idx": 0, "seed": 0, "seeds": {{"learner": 0}}, "environment": {{"name": "e",
            "config": {{}}}}, "common_config": {{}}, "provenance": {{}}, "required_artifacts": {{}},
            "artifact_paths": {{"policy": {{"path": "{policy}", "kind": "file", "bytes": 1,
            "sha256": "0"}}}}, "hardware_id": null, "started_at": "", "finished_at": null,
            "seconds": 1.0, "attempts": [], "summary": {{}}, "artifacts": {{}},
            "checkpoint": null}}"#
        );
        crate::value::Value::parse_json(text.as_bytes()).unwrap().to().unwrap()
    }

    #[test]
    fn a_half_done_move_is_finished_by_its_own_slot_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = (slot("ippo", 1), slot("ippo_1", 2));
        let output = output_of(dir.path(), &ours);
        let partial = claim(dir.path(), &theirs).unwrap();
        recover(dir.path(), &ours).unwrap();
        assert!(partial.is_dir() && output.is_file());
        recover(dir.path(), &theirs).unwrap();
        assert!(!partial.exists() && output.is_file());
        assert!(done_path(&partial).is_dir());
    }

    #[test]
    fn the_second_move_of_a_second_is_recovered_too() {
        let dir = tempfile::tempdir().unwrap();
        let ours = slot("ippo", 1);
        let partials = [claim(dir.path(), &ours).unwrap(), claim(dir.path(), &ours).unwrap()];
        fs::write(partials[0].join(".ippo_1.json.1-0-0.rle-tmp"), "{").unwrap();
        recover(dir.path(), &ours).unwrap();
        assert!(partials.iter().all(|partial| !partial.exists() && done_path(partial).is_dir()));
        assert!(is_empty_dir(&done_path(&partials[0])), "what the kill left is swept");
    }

    #[test]
    fn a_copied_record_takes_nothing_from_the_slot_that_it_was_copied_from() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (slot("ippo", 0), slot("ippo", 1));
        let output = output_of(dir.path(), &first);
        let head = head_of_ippo_0("ippo/artifacts/run_0/policy");
        fs::create_dir_all(record::runs_dir(dir.path())).unwrap();
        let copied = record::record_path(dir.path(), &second);
        record::write_record(&copied, &head, &std::collections::BTreeMap::new(), &[]).unwrap();
        let before = fs::read(&copied).unwrap();
        let moved = set_aside(dir.path(), &second).unwrap().unwrap();
        assert!(output.is_file() && !copied.exists());
        assert_eq!(fs::read(moved.join("ippo_1.json")).unwrap(), before);
    }
}
