//! All rows and all threads' sums.
//!
//! A row is a stage within a group; each thread adds to memory of its own for it. At the end of a
//! lap (see [`windows`](super::windows)) what was added goes to every open window, so that readers
//! never disturb each other and threads never wait for a reader.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sums::{Fold, Reading, Slot, Sums, Totals};
use super::windows::Windows;
use crate::sync::Mutex;

/// The number of the current lap, read by every call when it ends.
static LAP: AtomicU64 = AtomicU64::new(1);

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { rows: Vec::new(), windows: Windows::new() });

pub(super) struct Registry {
    pub(super) rows: Vec<Row>,
    pub(super) windows: Windows,
}

/// What tells one row from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowKey {
    /// The stage's full name.
    pub(super) stage: &'static str,
    pub(super) group: &'static str,
}

/// One row over all threads.
pub(super) struct Row {
    pub(super) key: RowKey,
    /// Calls of this lap that no registered thread holds any more.
    orphaned: Totals,
    threads: Vec<ThreadSums>,
    /// Memory of threads that have ended, for the next ones.
    idle: Vec<ThreadSums>,
}

struct ThreadSums {
    thread: u64,
    slot: Slot,
    /// What earlier laps have already taken.
    taken: Reading,
}

impl Registry {
    /// The rows that were called.
    pub(super) fn called(&self, rows: &[Totals]) -> Vec<(RowKey, Totals)> {
        let rows = self.rows.iter().map(|row| row.key).zip(rows.iter().copied());
        rows.filter(|(_, totals)| totals.calls > 0).collect()
    }

    /// Gives what was added since the last lap to every open window.
    pub(super) fn end_lap(&mut self) {
        // Read first, then move on: a call that ends in between counts to the next lap in full.
        let lap = current_lap();
        for (row, sums) in self.rows.iter_mut().enumerate() {
            let totals = sums.take_lap(lap);
            if totals.calls > 0 {
                self.windows.add(row, totals);
            }
        }
        LAP.store(lap + 1, Ordering::Relaxed);
    }

    /// How deep the thread is in the stage, where another row of the stage counts it already.
    fn fold_of(&self, stage: &str, thread: u64) -> Option<&'static Fold> {
        self.rows
            .iter()
            .filter(|row| row.key.stage == stage)
            .flat_map(|row| &row.threads)
            .find(|entry| entry.thread == thread)
            .map(|entry| entry.slot.fold)
    }
}

impl Row {
    fn take_lap(&mut self, lap: u64) -> Totals {
        let mut totals = std::mem::replace(&mut self.orphaned, Totals::ZERO);
        for thread in &mut self.threads {
            totals.add(thread.take_lap(lap));
        }
        totals
    }
}

impl ThreadSums {
    fn new() -> Self {
        // Never freed, but handed on: as many as threads were alive at once.
        let sums: &'static Sums = Box::leak(Box::new(Sums::new()));
        Self { thread: 0, slot: Slot { sums, fold: &sums.fold }, taken: Reading::ZERO }
    }

    fn take_lap(&mut self, lap: u64) -> Totals {
        let reading = self.slot.sums.read();
        let totals = reading.since(self.taken, lap);
        self.taken = reading;
        totals
    }
}

#[inline]
pub(super) fn current_lap() -> u64 {
    LAP.load(Ordering::Relaxed)
}

/// The number of a row: all sites of one stage and group share it.
pub(super) fn intern(key: RowKey) -> usize {
    let mut registry = lock();
    if let Some(row) = registry.rows.iter().position(|row| row.key == key) {
        return row;
    }
    registry.windows.open_process();
    registry.rows.push(Row { key, orphaned: Totals::ZERO, threads: Vec::new(), idle: Vec::new() });
    registry.rows.len() - 1
}

/// Memory that `thread` will write for the row.
pub(super) fn register(row: usize, thread: u64) -> Slot {
    let mut registry = lock();
    let shared = registry.fold_of(registry.rows[row].key.stage, thread);
    let row = &mut registry.rows[row];
    let mut entry = row.idle.pop().unwrap_or_else(ThreadSums::new);
    let own = &entry.slot.sums.fold;
    own.reset();
    entry.slot.fold = shared.unwrap_or(own);
    entry.thread = thread;
    let slot = entry.slot;
    row.threads.push(entry);
    slot
}

/// Takes over what a thread that ends has not yet handed to a lap.
pub(super) fn retire(row: usize, thread: u64) {
    let mut registry = lock();
    let lap = current_lap();
    let row = &mut registry.rows[row];
    if let Some(at) = row.threads.iter().position(|entry| entry.thread == thread) {
        let mut entry = row.threads.swap_remove(at);
        row.orphaned.add(entry.take_lap(lap));
        row.idle.push(entry);
    }
}

/// Counts a call for a thread that has no memory of its own any more.
pub(super) fn record_orphan(row: usize, ticks: u64) {
    lock().rows[row].orphaned.add_call(ticks);
}

/// Tells the thread that entered a guard that it was dropped elsewhere; nothing if it has ended.
pub(super) fn release(row: usize, thread: u64) {
    let registry = lock();
    if let Some(entry) = registry.rows[row].threads.iter().find(|entry| entry.thread == thread) {
        entry.slot.fold.release();
    }
}

pub(super) fn lock() -> MutexGuard<'static, Registry> {
    // Nothing in here runs foreign code; sums stay whole whatever panicked.
    REGISTRY.lock()
}
