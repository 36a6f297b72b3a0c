//! The runtime of `#[rle::timed]`: how often and how long each stage ran, per run.
//!
//! Each thread adds to memory of its own; after its first call of a stage there is no lock, no
//! allocation and no string work. This module never writes a file: the runner puts a run's sums
//! into its timings.

mod clock;
mod registry;
mod sums;
mod thread;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Stage;
use clock::Tick;
pub(crate) use registry::{StageTotal, begin_run};
use thread::Entered;

/// One place in the source that is timed; a static in an expansion.
#[derive(Debug)]
pub struct Site {
    stage: Stage,
    module: &'static str,
    /// The stage's id plus one; 0 before the first call.
    id: AtomicUsize,
}

/// Times a call from [`Site::enter`] to its drop. The outermost of nested calls of one stage on a
/// thread counts; a guard that is dropped on another thread counts in full.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct Guard {
    stage: usize,
    entered: Entered,
    start: Tick,
}

/// Times an `async` call from its first poll to ready or drop, on whatever threads. Never folds.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct AsyncGuard {
    stage: usize,
    start: Tick,
}

impl Site {
    /// A site of `stage` in `module` (its `module_path!()`).
    #[must_use]
    pub const fn new(stage: Stage, module: &'static str) -> Self {
        Self { stage, module, id: AtomicUsize::new(0) }
    }

    /// The path of the module that holds the site.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// Begins to time a call on this thread.
    pub fn enter(&'static self) -> Guard {
        let stage = self.stage_id();
        let entered = thread::enter(stage);
        Guard { stage, entered, start: Tick::now() }
    }

    /// Begins to time an `async` call.
    pub fn enter_async(&'static self) -> AsyncGuard {
        AsyncGuard { stage: self.stage_id(), start: Tick::now() }
    }

    fn stage_id(&self) -> usize {
        match self.id.load(Ordering::Relaxed) {
            0 => self.first_use(),
            id => id - 1,
        }
    }

    #[cold]
    fn first_use(&self) -> usize {
        let stage = registry::intern(self.stage.name());
        self.id.store(stage + 1, Ordering::Relaxed);
        stage
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let nanos = self.start.elapsed_nanos();
        thread::leave(self.stage, self.entered, nanos);
    }
}

impl Drop for AsyncGuard {
    fn drop(&mut self) {
        let nanos = self.start.elapsed_nanos();
        thread::record(self.stage, nanos);
    }
}
