//! The owner of an offer: it waits for the lock, while a holder may do its save.

use std::path::Path;
use std::time::Duration;

use super::content;
use super::offer::Offer;
use crate::Error;
use crate::fs::{FileLock, failpoint};
use crate::timings::store::Timings;
use crate::timings::{LOCK_FILE, TIMINGS_FILE};

/// How much longer than it was told to an owner waits whose offer was taken at that moment: only
/// a holder that is stopped just then lets it wait for all of that.
const OUTCOME_WAIT: Duration = Duration::from_secs(10);

/// Waits for the lock, and meanwhile offers the times to whoever holds it. `None` once they are
/// in the file and on disk.
///
/// # Errors
/// [`Error::Locked`] after the wait; nothing is written then, nor will be.
pub(super) fn lock_or_offer(
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
        Offer::make(&dir.join(TIMINGS_FILE), content::render(timings).as_bytes())?
    };
    let Some(offer) = offer else { return FileLock::acquire(lock, timeout).map(Some) };
    let is_done = || offer.is_accepted();
    let outcome = match FileLock::acquire_unless(lock, timeout, is_done) {
        // Where it can no longer be withdrawn it was taken, and only the outcome tells.
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
        // Whether or not it is there still: it was not accepted.
        offer.withdraw();
        failpoint()?;
    }
    outcome
}
