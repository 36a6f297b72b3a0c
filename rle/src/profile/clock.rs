//! The one clock of the timed stages: monotonic, so that a wall-clock jump changes nothing.

use std::time::Instant;

/// A point in time, good only for the distance to now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick(Instant);

impl Tick {
    #[inline]
    pub(super) fn now() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since then; 584 years fit.
    #[inline]
    pub(super) fn elapsed_nanos(self) -> u64 {
        let elapsed = self.0.elapsed();
        elapsed
            .as_secs()
            .wrapping_mul(1_000_000_000)
            .wrapping_add(u64::from(elapsed.subsec_nanos()))
    }
}
