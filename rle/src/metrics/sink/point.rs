//! The points of a run and the clock that dates them.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One logged value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The index of its name in [`Batch::names`].
    pub name: u32,
    /// The step it belongs to.
    pub step: i64,
    /// The value, which may be NaN or infinite.
    pub value: f64,
    /// When it was logged, in nanoseconds since the run began.
    pub nanos: u64,
}

/// Points in the order in which they were logged.
#[derive(Debug)]
pub struct Batch<'a> {
    /// All names so far; they keep their index.
    pub names: &'a [Arc<str>],
    /// The points.
    pub points: &'a [Point],
    /// The clock of the run.
    pub clock: RunClock,
}

/// Dates the points of a run: when the run began, by the wall clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start_seconds: f64,
    start: Instant,
}

impl RunClock {
    pub(in crate::metrics) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start_seconds: since.as_secs_f64(), start: Instant::now() }
    }

    /// Seconds since 1970 at the beginning of the run.
    #[must_use]
    pub fn start_seconds(self) -> f64 {
        self.start_seconds
    }

    /// Seconds since 1970 at so many nanoseconds after the beginning. It never decreases, even when
    /// the wall clock is set back in the meantime.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 104 days in nanoseconds")]
    pub fn seconds_at(self, nanos: u64) -> f64 {
        self.start_seconds + nanos as f64 / 1e9
    }

    /// Nanoseconds since the beginning; 584 years fit.
    #[must_use]
    pub fn elapsed_nanos(self) -> u64 {
        let elapsed = self.start.elapsed();
        elapsed.as_secs().wrapping_mul(1_000_000_000).wrapping_add(elapsed.subsec_nanos().into())
    }
}
