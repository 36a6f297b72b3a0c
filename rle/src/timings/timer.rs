//! Measures times: a guard for a block, and a timer that is started and stopped by hand.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use super::entry::RunKey;
use super::hardware::current;
use super::stages::describe_stage;
use super::store::Timings;
use crate::Error;

/// Measures from its creation to its drop, and records then: at the end of a block, on an early
/// return, on a panic. Everything [`Timings`] does can be done through it meanwhile.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct Guard<'t> {
    timings: &'t mut Timings,
    stage: String,
    key: RunKey,
    start: Instant,
}

impl Deref for Guard<'_> {
    type Target = Timings;

    fn deref(&self) -> &Timings {
        self.timings
    }
}

impl DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Timings {
        self.timings
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        let key = std::mem::take(&mut self.key);
        if let Err(error) = self.timings.record(&self.stage, seconds, key) {
            tracing::warn!("a measured time is lost: {error}");
        }
    }
}

impl Timings {
    /// Runs a block and records how long it took, also when it panics.
    pub fn timed<T>(&mut self, stage: &str, key: RunKey, block: impl FnOnce() -> T) -> T {
        let _guard = self.guard(stage, key);
        block()
    }

    /// Measures until the guard is dropped, and records then: at the end of the block, on an
    /// early return, on a panic.
    pub fn guard(&mut self, stage: impl Into<String>, key: RunKey) -> Guard<'_> {
        Guard { timings: self, stage: stage.into(), key, start: now() }
    }
}

/// A stopwatch that is started and stopped by hand, once.
///
/// ```
/// use rle::timings::{RunKey, Timer, Timings};
///
/// let mut timings = Timings::new();
/// let mut timer = Timer::new("ippo_train", RunKey::run(0));
/// timer.start()?;
/// let seconds = timer.stop(&mut timings)?;
/// assert_eq!(timings.stage("ippo_train").map(|stage| stage.runs()[0].seconds()), Some(seconds));
/// # Ok::<(), rle::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a timer measures from its start to its stop"]
pub struct Timer {
    stage: String,
    key: RunKey,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    New,
    Running(Instant),
    Stopped,
}

impl Timer {
    /// A timer that is not started.
    pub fn new(stage: impl Into<String>, key: RunKey) -> Self {
        Self { stage: stage.into(), key, state: State::New }
    }

    /// Begins to measure.
    ///
    /// # Errors
    /// When it was started before.
    pub fn start(&mut self) -> Result<(), Error> {
        match self.state {
            State::New => {
                self.state = State::Running(now());
                Ok(())
            }
            State::Running(_) => Err(self.misused("is started twice")),
            State::Stopped => Err(self.misused("is started again after its stop")),
        }
    }

    /// Ends the measurement, records it and returns it in seconds.
    ///
    /// # Errors
    /// When it was not started or is stopped already; nothing is recorded then.
    pub fn stop(&mut self, timings: &mut Timings) -> Result<f64, Error> {
        match self.state {
            State::Running(start) => {
                let seconds = start.elapsed().as_secs_f64();
                timings.record(&self.stage, seconds, self.key.clone())?;
                self.state = State::Stopped;
                Ok(seconds)
            }
            State::New => Err(self.misused("is stopped before its start")),
            State::Stopped => Err(self.misused("is stopped twice")),
        }
    }

    fn misused(&self, problem: &str) -> Error {
        Error::usage(format!(
            "the timer of {} {problem}; a timer measures once, from start to stop, make a new one",
            describe_stage(&self.stage)
        ))
    }
}

/// The beginning of a measurement.
fn now() -> Instant {
    // A record names the hardware, and the first description of it may take seconds. It is made
    // before the measurement, so that it is no part of it.
    current();
    Instant::now()
}
