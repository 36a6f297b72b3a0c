//! Saves of several processes in one write: those that wait for the lock offer what they have to
//! whoever gets it, for a save that merges is nothing but data.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::hardware::{self, Descriptions};
use super::scan::{Fault, Scanner};
use super::stages::{self, Raw, Stages};
use super::{TIMINGS_FILE, Timings, file};
use crate::Error;
use crate::fs::{FileLock, Offer, Offered, failpoint, offers_for};

/// The version of an offer's content; a holder leaves any other to its owner.
const SCHEMA_VERSION: u64 = 1;
/// How much longer than it was told to an owner waits whose offer was taken at that moment: only
/// a holder that stands still just then lets it wait for all of that.
const OUTCOME_WAIT: Duration = Duration::from_secs(10);

/// What another process offers.
pub(super) struct Offering {
    offered: Offered,
    pub(super) stages: Stages,
    pub(super) hardware: Descriptions,
}

impl Offering {
    pub(super) fn take(&mut self) -> bool {
        self.offered.take()
    }

    pub(super) fn accept(self) {
        self.offered.accept();
    }
}

/// What is offered to the holder of the lock of `dir`, without what cannot be read.
pub(super) fn offerings(dir: &Path) -> Vec<Offering> {
    let offers = offers_for(&dir.join(TIMINGS_FILE)).into_iter();
    offers
        .filter_map(|offered| {
            let text = str::from_utf8(offered.content()).ok()?;
            let (stages, hardware) = parse(&Arc::new(text.to_owned())).ok()?;
            Some(Offering { offered, stages, hardware })
        })
        .collect()
}

/// Waits for the lock, and meanwhile offers the times to whoever holds it. `None` once they are
/// in the file and on disk.
///
/// # Errors
/// [`Error::Locked`] after the wait; nothing is written then, nor will be.
pub(super) fn lock_or_offer(
    lock: &Path,
    timeout: Duration,
    dir: &Path,
    timings: &Timings,
) -> Result<Option<FileLock>, Error> {
    if let Some(lock) = FileLock::try_acquire(lock, Duration::ZERO)? {
        return Ok(Some(lock));
    }
    let offer = if timeout.is_zero() {
        None
    } else {
        Offer::make(&dir.join(TIMINGS_FILE), render(timings).as_bytes())?
    };
    let Some(offer) = offer else { return FileLock::acquire(lock, timeout).map(Some) };
    let is_done = || offer.is_accepted();
    let outcome = match FileLock::acquire_unless(lock, timeout, Some(&is_done)) {
        // Where it can no longer be withdrawn it was taken, and only the outcome tells.
        Err(error) if !offer.withdraw() => {
            match FileLock::acquire_unless(lock, OUTCOME_WAIT, Some(&is_done)) {
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

/// The text of an offer: those of both files within one.
pub(super) fn render(timings: &Timings) -> String {
    format!(
        "{{\"hardware\": {}, \"schema_version\": {SCHEMA_VERSION}, \"timings\": {}}}\n",
        timings.hardware.render().trim_end(),
        stages::render(&timings.stages).trim_end()
    )
}

fn parse(source: &Arc<String>) -> Result<(Stages, Descriptions), Fault> {
    let (mut stages, mut hardware, mut version) = (None, None, None);
    let mut scanner = Scanner::new(source);
    file::expect_table(&mut scanner)?;
    scanner.object(|scanner, key| {
        let raw = Raw::new(source, scanner.value()?);
        match &*key {
            "hardware" => hardware = Some(hardware::parse(&Arc::new(raw.text().to_owned()))?),
            "timings" => stages = Some(stages::parse(&Arc::new(raw.text().to_owned()))?),
            "schema_version" => version = raw.value().as_u64(),
            _ => return Err(Fault::Content(format!("has the unknown key {key:?}"))),
        }
        Ok(())
    })?;
    scanner.finish()?;
    match (stages, hardware, version) {
        (Some(stages), Some(hardware), Some(SCHEMA_VERSION)) => Ok((stages, hardware)),
        _ => Err(Fault::Content("is no offer of this version".to_owned())),
    }
}
