//! What one thread has spent in one stage, written by that thread alone and readable by all.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Calls and time of a stage, with the shortest and the longest call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) calls: u64,
    pub(super) nanos: u64,
    pub(super) shortest: u64,
    pub(super) longest: u64,
}

impl Totals {
    pub(super) const ZERO: Self = Self { calls: 0, nanos: 0, shortest: u64::MAX, longest: 0 };

    pub(super) fn add_call(&mut self, nanos: u64) {
        self.add(Self { calls: 1, nanos, shortest: nanos, longest: nanos });
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls = self.calls.wrapping_add(other.calls);
        self.nanos = self.nanos.wrapping_add(other.nanos);
        self.shortest = self.shortest.min(other.shortest);
        self.longest = self.longest.max(other.longest);
    }
}

/// One thread's sums for one stage.
///
/// Calls and time only ever grow, so that a reader takes differences and no call is lost or
/// counted twice. The extremes belong to the lap that they are marked with. One thread writes; a
/// sequence number (odd while writing) lets the others read a consistent state without a lock.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Sums {
    sequence: AtomicU64,
    calls: AtomicU64,
    nanos: AtomicU64,
    lap: AtomicU64,
    shortest: AtomicU64,
    longest: AtomicU64,
    /// Guards entered on the writing thread and dropped on another, not yet taken off its depth.
    released: AtomicU64,
}

/// A consistent copy of [`Sums`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    calls: u64,
    nanos: u64,
    lap: u64,
    shortest: u64,
    longest: u64,
}

impl Sums {
    pub(super) const fn new() -> Self {
        Self {
            sequence: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            lap: AtomicU64::new(0),
            shortest: AtomicU64::new(u64::MAX),
            longest: AtomicU64::new(0),
            released: AtomicU64::new(0),
        }
    }

    /// Adds one call. Only ever called by the thread that these sums belong to, hence plain loads
    /// and stores.
    #[inline]
    pub(super) fn record(&self, nanos: u64, lap: u64) {
        const MINE: Ordering = Ordering::Relaxed;
        let sequence = self.sequence.load(MINE);
        self.sequence.store(sequence.wrapping_add(1), MINE);
        fence(Ordering::Release);
        self.calls.store(self.calls.load(MINE).wrapping_add(1), MINE);
        self.nanos.store(self.nanos.load(MINE).wrapping_add(nanos), MINE);
        if self.lap.load(MINE) == lap {
            if nanos < self.shortest.load(MINE) {
                self.shortest.store(nanos, MINE);
            }
            if nanos > self.longest.load(MINE) {
                self.longest.store(nanos, MINE);
            }
        } else {
            self.lap.store(lap, MINE);
            self.shortest.store(nanos, MINE);
            self.longest.store(nanos, MINE);
        }
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    pub(super) fn read(&self) -> Reading {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            let reading = Reading {
                calls: self.calls.load(Ordering::Relaxed),
                nanos: self.nanos.load(Ordering::Relaxed),
                lap: self.lap.load(Ordering::Relaxed),
                shortest: self.shortest.load(Ordering::Relaxed),
                longest: self.longest.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == before {
                return reading;
            }
            // The writer may have lost its CPU half-way.
            std::thread::yield_now();
        }
    }

    pub(super) fn release(&self) {
        self.released.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn take_released(&self) -> u64 {
        self.released.swap(0, Ordering::AcqRel)
    }
}

impl Reading {
    pub(super) const ZERO: Self =
        Self { calls: 0, nanos: 0, lap: 0, shortest: u64::MAX, longest: 0 };

    /// What was added after `earlier`, as a part of `lap`.
    pub(super) fn since(self, earlier: Self, lap: u64) -> Totals {
        let calls = self.calls.wrapping_sub(earlier.calls);
        let nanos = self.nanos.wrapping_sub(earlier.nanos);
        if calls == 0 {
            return Totals::ZERO;
        }
        // A call that ended at the very instant of the lap's change is in the sums of this lap
        // while its extremes carry the mark of the one before; the mean always lies between.
        let mean = nanos / calls;
        let (shortest, longest) =
            if self.lap == lap { (self.shortest, self.longest) } else { (mean, mean) };
        Totals { calls, nanos, shortest: shortest.min(mean), longest: longest.max(mean) }
    }
}
