//! Saves of several processes in one write, with one pair of syncs.
//!
//! A save that merges needs nothing but its data. So when it finds the lock held, it offers its
//! data to the holder, in a file beside `timings.json`, and waits for the lock as well.
//!
//! # Protocol
//!
//! 1. The owner writes its offer under the name of a temporary, locks the file, and renames it.
//!    It keeps the file open and locked until its save returns.
//! 2. A holder of the lock lists the offers. One whose lock is free belongs to a dead owner and is
//!    removed. The holder merges the others, in the order of their names, and then its own times.
//! 3. The holder writes the new content to a temporary and syncs it. Then it *takes* each offer by
//!    removing its name. An owner *withdraws* its offer in the same way, so only one of the two
//!    succeeds. If an offer was withdrawn in between, the holder starts again without it.
//! 4. The holder renames the temporary, syncs the directory, and *accepts* each offer by emptying
//!    its file. The owner sees that by the handle it has kept, and its save returns.
//! 5. An owner that gets the lock first withdraws its offer and does the save itself.
//! 6. An owner whose wait ends withdraws its offer and returns the error. If the offer is gone, a
//!    holder has taken it, and the owner waits a little longer for the outcome.
//!
//! # Crashes
//!
//! - The owner dies: its offer's lock is free, so nobody merges it and the next sweep removes it.
//!   If it was taken already, its times are in the file, once.
//! - The holder dies before the rename: the file is as it was. Owners whose offers were taken see
//!   no answer, get the lock, and save by themselves.
//! - The holder dies after the rename and before the answer: owners save the same entries again.
//!   Each replaces its equal, so nothing is there twice.
//! - Somebody removes an offer's file: its name is gone but the file is not empty, so the owner
//!   does not take that for an answer.
//! - The holder fails with the offers (one of them makes the file too long, for instance): it
//!   tries again with its own times only, and the owners save by themselves.
//!
//! - `offer`: the file of an offer with the text in it, and the four things that can happen to it.
//! - `holder`: writes what others offer together with its own times.

mod holder;
mod offer;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use super::locked::{self, LockedFiles};
use super::store::Timings;
use super::{LOCK_FILE, TIMINGS_FILE};
use crate::Error;
use crate::fs::{FileLock, failpoint};
use offer::Offer;

/// How much longer an owner waits when its time is over and its offer has just been taken. Only a
/// holder that is stopped at that moment makes it wait this long.
const OUTCOME_WAIT: Duration = Duration::from_secs(10);

/// Merges the times into the files of a directory, or has the holder of their lock do so.
///
/// # Errors
/// Those of these times alone, and [`Error::Locked`] after the wait.
pub(super) fn save(dir: &Path, timeout: Duration, timings: &Timings) -> Result<(), Error> {
    locked::create(dir)?;
    match lock_or_offer(dir, timeout, timings)? {
        Some(lock) => holder::merge(LockedFiles::with_lock(dir, lock, timeout)?, timings),
        None => Ok(()),
    }
}

/// Waits for the lock, and meanwhile offers the times to whoever holds it. `None` once they are
/// in the file and on disk.
///
/// # Errors
/// [`Error::Locked`] after the wait; nothing is written then, nor will be.
fn lock_or_offer(
    dir: &Path,
    timeout: Duration,
    timings: &Timings,
) -> Result<Option<FileLock>, Error> {
    let lock = &dir.join(LOCK_FILE);
    if let Some(lock) = FileLock::try_acquire(lock, Duration::ZERO)? {
        return Ok(Some(lock));
    }
    let offer = if timeout.is_zero() {
        None
    } else {
        Offer::make(&dir.join(TIMINGS_FILE), offer::render(timings).as_bytes())?
    };
    let Some(offer) = offer else { return FileLock::acquire(lock, timeout).map(Some) };
    let is_done = || offer.is_accepted();
    let outcome = match FileLock::acquire_unless(lock, timeout, is_done) {
        // An offer that cannot be withdrawn was taken: wait for the outcome.
        Err(error) if !offer.withdraw() => {
            match FileLock::acquire_unless(lock, OUTCOME_WAIT, is_done) {
                Err(_) if !is_done() => Err(error),
                Err(_) => Ok(None),
                outcome => outcome,
            }
        }
        outcome => outcome,
    };
    failpoint()?;
    if let Ok(Some(_)) = &outcome {
        // It was not accepted; it may be gone already.
        offer.withdraw();
        failpoint()?;
    }
    outcome
}
