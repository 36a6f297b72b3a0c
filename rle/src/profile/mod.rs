//! The runtime of `#[rle::timed]`: how often and how long each stage ran, per run.
//!
//! Each thread adds to memory of its own; after its first call of a stage there is no lock, no
//! allocation and no string work. This module never writes a file: the runner puts a run's sums
//! into its timings.

mod clock;
mod registry;
mod sums;
mod thread;
mod windows;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Stage;
use clock::Start;
use registry::RowKey;
use thread::Entered;
pub(crate) use windows::{RunTimer, StageTotal, begin_run};

/// One place in the source that is timed; a static in an expansion.
#[derive(Debug)]
pub struct Site {
    stage: Stage,
    module: &'static str,
    /// The row's number plus one; 0 before the first call.
    row: AtomicUsize,
}

/// Times a call from [`Site::enter`] to its drop. The outermost of nested calls of one stage on a
/// thread counts; a guard that is dropped on another thread counts in full.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct Guard {
    row: usize,
    entered: Entered,
    start: Start,
}

/// Times an `async` call from its first poll to ready or drop, on whatever threads. Never folds.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct AsyncGuard {
    row: usize,
    start: Start,
}

impl Site {
    /// A site of `stage` in `module` (its `module_path!()`).
    #[must_use]
    pub const fn new(stage: Stage, module: &'static str) -> Self {
        Self { stage, module, row: AtomicUsize::new(0) }
    }

    /// The path of the module that holds the site.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// Begins to time a call on this thread.
    #[inline]
    pub fn enter(&'static self) -> Guard {
        let row = self.row();
        let entered = thread::enter(row);
        Guard { row, entered, start: Start::now() }
    }

    /// Begins to time an `async` call.
    #[inline]
    pub fn enter_async(&'static self) -> AsyncGuard {
        AsyncGuard { row: self.row(), start: Start::now() }
    }

    #[inline]
    fn row(&self) -> usize {
        match self.row.load(Ordering::Relaxed) {
            0 => self.first_use(),
            row => row - 1,
        }
    }

    #[cold]
    fn first_use(&self) -> usize {
        let group = self.module.rsplit("::").next().unwrap_or(self.module);
        let row = registry::intern(RowKey { stage: self.stage.name(), group });
        self.row.store(row + 1, Ordering::Relaxed);
        row
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        thread::leave(self.row, self.entered, self.start.elapsed());
    }
}

impl Drop for AsyncGuard {
    #[inline]
    fn drop(&mut self) {
        thread::record(self.row, self.start.elapsed());
    }
}
