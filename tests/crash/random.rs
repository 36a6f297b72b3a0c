//! Random moments, and how to draw the same ones again.

use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Random numbers that a seed gives again.
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one of several threads.
    pub(crate) fn new(seed: u64, thread: u64) -> Self {
        Self(seed.wrapping_add(thread))
    }

    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn duration(&mut self, longest: Duration) -> Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap();
        Duration::from_nanos(self.below(nanos.max(1)))
    }
}

/// A seed that differs with each test run, unless the environment gives one.
pub(crate) fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
    let seed = env::var("RLE_CRASH_SEED")
        .map_or_else(|_| u64::try_from(now()).unwrap(), |seed| seed.parse().unwrap());
    println!("to draw the same moments again: RLE_CRASH_SEED={seed}");
    seed
}
