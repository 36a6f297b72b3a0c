//! What one thread has spent in one row, written by that thread alone and readable by all.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Calls and time of a stage in ticks of the clock, with the shortest and the longest call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) calls: u64,
    pub(super) ticks: u64,
    pub(super) shortest: u64,
    pub(super) longest: u64,
}

impl Totals {
    pub(super) const ZERO: Self = Self { calls: 0, ticks: 0, shortest: u64::MAX, longest: 0 };

    pub(super) fn add_call(&mut self, ticks: u64) {
        self.add(Self { calls: 1, ticks, shortest: ticks, longest: ticks });
    }

    pub(super) fn add(&mut self, other: Self) {
        self.calls = self.calls.wrapping_add(other.calls);
        self.ticks = self.ticks.wrapping_add(other.ticks);
        self.shortest = self.shortest.min(other.shortest);
        self.longest = self.longest.max(other.longest);
    }
}

/// One thread's sums for one row of the registry.
///
/// Calls and time only ever grow, so that a reader takes differences and no call is lost or
/// counted twice. The extremes belong to the lap that they are marked with. One thread writes; a
/// sequence number (odd while writing) lets the others read a consistent state without a lock.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Sums {
    sequence: AtomicU64,
    calls: AtomicU64,
    ticks: AtomicU64,
    lap: AtomicU64,
    shortest: AtomicU64,
    longest: AtomicU64,
    /// Counts the open guards, unless another row of the stage does so on this thread.
    pub(super) fold: Fold,
}

/// How many guards of one stage one thread has open.
#[derive(Debug)]
pub(super) struct Fold {
    /// Written by that thread alone.
    open: AtomicU32,
    /// Guards entered on that thread and dropped on another, not yet taken off.
    released: AtomicU32,
}

impl Fold {
    const fn new() -> Self {
        Self { open: AtomicU32::new(0), released: AtomicU32::new(0) }
    }

    /// Counts one more open guard; returns whether it is the outermost.
    #[inline]
    pub(super) fn enter(&self) -> bool {
        let mut open = self.open.load(Ordering::Relaxed);
        if open > 0 {
            // Some of them may have been dropped on other threads in the meantime.
            open = open.saturating_sub(self.take_released());
        }
        self.open.store(open + 1, Ordering::Relaxed);
        open == 0
    }

    #[inline]
    pub(super) fn leave(&self) {
        let open = self.open.load(Ordering::Relaxed);
        self.open.store(open.saturating_sub(1), Ordering::Relaxed);
    }

    #[inline]
    fn take_released(&self) -> u32 {
        // There are seldom any, and a load costs less than an exchange.
        match self.released.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.released.swap(0, Ordering::AcqRel),
        }
    }

    /// Notes that one of them was dropped on another thread.
    pub(super) fn release(&self) {
        self.released.fetch_add(1, Ordering::AcqRel);
    }

    /// Begins anew, for the next thread that uses this memory.
    pub(super) fn reset(&self) {
        self.open.store(0, Ordering::Relaxed);
        self.released.store(0, Ordering::Relaxed);
    }
}

/// The memory of one thread for one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) sums: &'static Sums,
    /// How deep the thread is in the row's stage; rows of one stage share it.
    pub(super) fold: &'static Fold,
}

/// A consistent copy of [`Sums`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    calls: u64,
    ticks: u64,
    lap: u64,
    shortest: u64,
    longest: u64,
}

impl Sums {
    pub(super) const fn new() -> Self {
        Self {
            sequence: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            lap: AtomicU64::new(0),
            shortest: AtomicU64::new(u64::MAX),
            longest: AtomicU64::new(0),
            fold: Fold::new(),
        }
    }

    /// Adds one call. Only ever called by the thread that these sums belong to, hence plain loads
    /// and stores.
    #[inline]
    pub(super) fn record(&self, ticks: u64, lap: u64) {
        const MINE: Ordering = Ordering::Relaxed;
        let sequence = self.sequence.load(MINE);
        self.sequence.store(sequence.wrapping_add(1), MINE);
        fence(Ordering::Release);
        self.calls.store(self.calls.load(MINE).wrapping_add(1), MINE);
        self.ticks.store(self.ticks.load(MINE).wrapping_add(ticks), MINE);
        if self.lap.load(MINE) == lap {
            if ticks < self.shortest.load(MINE) {
                self.shortest.store(ticks, MINE);
            }
            if ticks > self.longest.load(MINE) {
                self.longest.store(ticks, MINE);
            }
        } else {
            self.lap.store(lap, MINE);
            self.shortest.store(ticks, MINE);
            self.longest.store(ticks, MINE);
        }
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    pub(super) fn read(&self) -> Reading {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            let reading = Reading {
                calls: self.calls.load(Ordering::Relaxed),
                ticks: self.ticks.load(Ordering::Relaxed),
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
}

impl Reading {
    pub(super) const ZERO: Self =
        Self { calls: 0, ticks: 0, lap: 0, shortest: u64::MAX, longest: 0 };

    /// What was added after `earlier`, as a part of `lap`.
    pub(super) fn since(self, earlier: Self, lap: u64) -> Totals {
        let calls = self.calls.wrapping_sub(earlier.calls);
        let ticks = self.ticks.wrapping_sub(earlier.ticks);
        if calls == 0 {
            return Totals::ZERO;
        }
        // A call that ended at the very instant of the lap's change is in the sums of this lap
        // while its extremes carry the mark of the one before; the mean always lies between.
        let mean = ticks / calls;
        let (shortest, longest) =
            if self.lap == lap { (self.shortest, self.longest) } else { (mean, mean) };
        Totals { calls, ticks, shortest: shortest.min(mean), longest: longest.max(mean) }
    }
}
