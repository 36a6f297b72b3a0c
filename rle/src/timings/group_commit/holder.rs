//! The holder of the lock, who writes what others offer together with its own times.

use std::path::Path;
use std::sync::Arc;

use super::offer::{self, Offered, offers_for};
use crate::Error;
use crate::fs::failpoint;
use crate::timings::hardware::Descriptions;
use crate::timings::locked::LockedFiles;
use crate::timings::stages::{self, Stages};
use crate::timings::store::Timings;
use crate::timings::{TIMINGS_FILE, merge};

/// What another process offers.
struct Offering {
    offered: Offered,
    stages: Stages,
    hardware: Descriptions,
}

/// The offers to the holder of the lock of `dir`, without those that cannot be read.
fn offerings(dir: &Path) -> Vec<Offering> {
    let offers = offers_for(&dir.join(TIMINGS_FILE)).into_iter();
    offers
        .filter_map(|offered| {
            let text = str::from_utf8(offered.content()).ok()?;
            let (stages, hardware) = offer::parse(&Arc::new(text.to_owned())).ok()?;
            Some(Offering { offered, stages, hardware })
        })
        .collect()
}

/// What the files will hold.
struct Merged {
    result: Timings,
    /// Whether there is more hardware than in the file.
    hardware_grown: bool,
    /// Which of the others' times are in it.
    holds: Vec<bool>,
}

/// Merges `own` into the files, and with it what others offer meanwhile.
///
/// # Errors
/// Those of `own` alone: where it fails with the others, it is tried without them.
pub(super) fn merge(files: LockedFiles, own: &Timings) -> Result<(), Error> {
    let others = offerings(&files.dir);
    failpoint()?;
    if !others.is_empty() && merge_all(&files, own, others).is_ok() {
        return Ok(());
    }
    failpoint()?;
    let merged = merged(&files, own, &[])?;
    files.write(&merged.result, merged.hardware_grown)
}

/// Merges what others offer, then `own`, in one write.
fn merge_all(files: &LockedFiles, own: &Timings, mut others: Vec<Offering>) -> Result<(), Error> {
    let prepared = loop {
        let merged = merged(files, own, &others)?;
        let mut holds = merged.holds.into_iter();
        others.retain(|_| holds.next().unwrap_or(false));
        let prepared = files.prepare(&merged.result, merged.hardware_grown)?;
        failpoint()?;
        // As late as possible: until then an owner that withdraws its offer returns an error.
        let count = others.len();
        others.retain_mut(|other| other.offered.take());
        failpoint()?;
        if others.len() == count {
            break prepared;
        }
    };
    let replaced = prepared.put()?;
    failpoint()?;
    replaced.sync()?;
    for other in others {
        failpoint()?;
        other.offered.accept();
    }
    failpoint()
}

/// The others' times, then `own`. Times of hardware that the file does not describe yet are left
/// to their owners: the description would be written first, and the offer may still be withdrawn.
fn merged(files: &LockedFiles, own: &Timings, others: &[Offering]) -> Result<Merged, Error> {
    let mut stages = stages::load(&files.timings)?;
    let mut hardware = Descriptions::load(&files.hardware)?;
    let (own_renamed, hardware_grown) = hardware.merge(&own.hardware);
    let holds = others.iter().map(|other| {
        let (renamed, is_new) = hardware.clone().merge(&other.hardware);
        if !is_new {
            merge::merge(&mut stages, merge::renamed_stages(&other.stages, &renamed));
        }
        !is_new
    });
    let holds = holds.collect();
    merge::merge(&mut stages, merge::renamed_stages(&own.stages, &own_renamed));
    Ok(Merged { result: Timings { stages, hardware }, hardware_grown, holds })
}
