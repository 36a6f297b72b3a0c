//! What is not in use any more but kept: superseded slots and archived complete sets.
//!
//! `runs/_superseded/<slug>_<run_idx>_<timestamp>/` holds one slot's record, outputs and
//! checkpoints; `runs/_archived_complete_runs/<slug>_<timestamp>/` a whole set's, with its
//! timings. Records in them point at the copies beside them. The caller holds the locks of the
//! slots it moves.
//!
//! - `transaction`: moves that survive a kill at any instant.
//! - `entries`: where archives are, what they say of themselves, and the removal of old ones.
//! - `collect`: collects the files of a slot, and where each of them goes.
//! - `restore`: puts an archive back.

mod collect;
mod entries;
mod restore;
mod transaction;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::record_path;
use crate::fs::failpoint;
use crate::run::{artifacts, checkpoint};
use crate::{Error, SlotId, Slug, timings};

use collect::Collector;
use entries::{archived_dir, superseded_dir};
use transaction::{Step, Transaction};

pub(crate) use entries::{Entry, find, list, timestamp, to_prune};
pub(crate) use restore::restore;
pub(crate) use transaction::prune;

/// Finishes or undoes what killed processes left half done, of all algorithms or of one. Returns
/// whether there was anything.
pub(crate) fn recover(export_dir: &Path, slug: Option<&Slug>) -> Result<bool, Error> {
    let prefix = slug.map_or(String::new(), |slug| format!("{slug}_"));
    let superseded = transaction::recover(export_dir, &superseded_dir(export_dir), &prefix)?;
    let archived = transaction::recover(export_dir, &archived_dir(export_dir), &prefix)?;
    Ok(superseded || archived)
}

/// Whether a slot has anything that a new run must not meet.
pub(crate) fn has_anything(export_dir: &Path, slot: &SlotId) -> bool {
    record_path(export_dir, slot).symlink_metadata().is_ok() || has_outputs(export_dir, slot)
}

/// Whether a slot has outputs or checkpoints of an earlier attempt.
pub(crate) fn has_outputs(export_dir: &Path, slot: &SlotId) -> bool {
    !artifacts::is_empty_dir(&artifacts::run_directory(export_dir, slot))
        || !artifacts::is_empty_dir(&checkpoint::directory(export_dir, slot))
}

/// Moves whatever a slot has below `runs/_superseded`, and returns the new place; none where it has
/// nothing. After an error everything is where it was.
pub(crate) fn set_aside(export_dir: &Path, slot: &SlotId) -> Result<Option<PathBuf>, Error> {
    if !has_anything(export_dir, slot) {
        return Ok(None);
    }
    let stem = format!("{}_{}", slot.file_stem(), timestamp(SystemTime::now()));
    let transaction = Transaction::begin(export_dir, &superseded_dir(export_dir), &stem)?;
    fill(transaction, slot.slug(), &[slot.run_idx()], |_| String::new()).map(Some)
}

/// Moves the complete set of an algorithm below `runs/_archived_complete_runs`. After an error
/// everything is where it was.
pub(crate) fn archive_set(
    export_dir: &Path,
    slug: &Slug,
    run_indices: &[u32],
) -> Result<PathBuf, Error> {
    let stem = format!("{slug}_{}", timestamp(SystemTime::now()));
    let transaction = Transaction::begin(export_dir, &archived_dir(export_dir), &stem)?;
    fill(transaction, slug, run_indices, |run_idx| format!("run_{run_idx}"))
}

/// Moves runs of an algorithm, each into the directory that `below` names, and commits.
fn fill(
    transaction: Transaction<'_>,
    slug: &Slug,
    run_indices: &[u32],
    below: impl Fn(u32) -> String,
) -> Result<PathBuf, Error> {
    transaction.commit(|transaction| {
        let mut collector = Collector::new(transaction);
        for &run_idx in run_indices {
            collector.collect(&SlotId::new(slug.clone(), run_idx), &below(run_idx))?;
        }
        // A time that a new run does not write again must not stay as its own.
        failpoint()?;
        let live = transaction.export_dir.join(slug.as_str());
        timings::copy_runs(&live, run_indices, &transaction.directory)?;
        let run_indices = run_indices.to_vec();
        collector.steps.push(Step::DropTimings { slug: slug.to_string(), run_indices });
        collector.finish()
    })
}
