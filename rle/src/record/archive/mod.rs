//! What is not in use any more but kept: superseded slots and archived complete sets.
//!
//! `runs/_superseded/<slug>_<run_idx>_<timestamp>/` holds one slot's record, outputs and
//! checkpoints; `runs/_archived_complete_runs/<slug>_<timestamp>/` a whole set's, with its
//! timings. Records in them point at the copies beside them. The caller holds the locks of the
//! slots it moves.

#[cfg(feature = "cli")]
mod care;
mod gather;
mod transfer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Error;
use crate::fs::failpoint;
use crate::names::{SlotId, Slug};
use crate::record;
use crate::run::artifacts;
use crate::run::checkpoint;
use crate::timings;

#[cfg(feature = "cli")]
pub(crate) use care::{Entry, find, list, prune, restore, to_prune};

use gather::Gathered;
use transfer::{Step, Transfer};

pub(crate) fn superseded_dir(export_dir: &Path) -> PathBuf {
    record::runs_dir(export_dir).join("_superseded")
}

pub(crate) fn archived_dir(export_dir: &Path) -> PathBuf {
    record::runs_dir(export_dir).join("_archived_complete_runs")
}

/// `20261129T131800Z`.
pub(crate) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}

/// Finishes or undoes what killed processes left half done, and says whether there was anything:
/// every start calls it.
///
/// # Errors
/// When the system refuses, or another process is at it for minutes.
pub(crate) fn recover(export_dir: &Path) -> Result<bool, Error> {
    let superseded = transfer::recover(export_dir, &superseded_dir(export_dir), "")?;
    let archived = transfer::recover(export_dir, &archived_dir(export_dir), "")?;
    Ok(superseded || archived)
}

/// The same for what one algorithm's slots may wait for.
///
/// # Errors
/// As [`recover`].
pub(crate) fn recover_slug(export_dir: &Path, slug: &Slug) -> Result<(), Error> {
    let prefix = format!("{slug}_");
    transfer::recover(export_dir, &superseded_dir(export_dir), &prefix)?;
    transfer::recover(export_dir, &archived_dir(export_dir), &prefix)?;
    Ok(())
}

/// Whether a slot has anything that a new run must not meet.
pub(crate) fn has_anything(export_dir: &Path, slot: &SlotId) -> bool {
    record::record_path(export_dir, slot).symlink_metadata().is_ok()
        || has_outputs(export_dir, slot)
}

/// Whether a slot has outputs or checkpoints of an earlier attempt.
pub(crate) fn has_outputs(export_dir: &Path, slot: &SlotId) -> bool {
    !artifacts::is_empty_dir(&artifacts::run_directory(export_dir, slot))
        || !artifacts::is_empty_dir(&checkpoint::directory(export_dir, slot))
}

/// Moves whatever a slot has below `runs/_superseded`, and says where it lies; none where it
/// has nothing.
///
/// # Errors
/// When the system refuses; everything is then where it was.
pub(crate) fn set_aside(export_dir: &Path, slot: &SlotId) -> Result<Option<PathBuf>, Error> {
    if !has_anything(export_dir, slot) {
        return Ok(None);
    }
    let stem = format!("{}_{}", slot.file_stem(), timestamp(SystemTime::now()));
    let transfer = Transfer::begin(export_dir, &superseded_dir(export_dir), &stem)?;
    let gathered = gather_slot(&transfer, export_dir, slot);
    finish(transfer, gathered).map(Some)
}

fn gather_slot(
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slot: &SlotId,
) -> Result<Gathered, Error> {
    let mut gathered = gather::slot(transfer, export_dir, slot, "")?;
    move_timings(&mut gathered, transfer, export_dir, slot.slug(), &[slot.run_idx()])?;
    Ok(gathered)
}

/// The runs' times go with them: what a new run does not write again must not stay as if it had.
fn move_timings(
    gathered: &mut Gathered,
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slug: &Slug,
    run_indices: &[u32],
) -> Result<(), Error> {
    failpoint()?;
    timings::copy_runs(&export_dir.join(slug.as_str()), run_indices, transfer.directory())?;
    gathered
        .steps
        .push(Step::DropTimings { slug: slug.to_string(), run_indices: run_indices.to_vec() });
    Ok(())
}

/// Moves the complete set of an algorithm below `runs/_archived_complete_runs`.
///
/// # Errors
/// When the system refuses; everything is then where it was.
pub(crate) fn archive_set(
    export_dir: &Path,
    slug: &Slug,
    run_indices: &[u32],
) -> Result<PathBuf, Error> {
    let stem = format!("{slug}_{}", timestamp(SystemTime::now()));
    let transfer = Transfer::begin(export_dir, &archived_dir(export_dir), &stem)?;
    let gathered = gather_set(&transfer, export_dir, slug, run_indices);
    finish(transfer, gathered)
}

fn gather_set(
    transfer: &Transfer<'_>,
    export_dir: &Path,
    slug: &Slug,
    run_indices: &[u32],
) -> Result<Gathered, Error> {
    let mut all = Gathered::default();
    for &run_idx in run_indices {
        let slot = SlotId::new(slug.clone(), run_idx);
        all.extend(gather::slot(transfer, export_dir, &slot, &format!("run_{run_idx}"))?);
    }
    move_timings(&mut all, transfer, export_dir, slug, run_indices)?;
    Ok(all)
}

fn finish(transfer: Transfer<'_>, gathered: Result<Gathered, Error>) -> Result<PathBuf, Error> {
    match gathered.and_then(|gathered| gathered.write_origin(&transfer).map(|()| gathered)) {
        Ok(gathered) => transfer.commit(gathered.steps),
        Err(error) => {
            transfer.abandon();
            Err(error)
        }
    }
}
