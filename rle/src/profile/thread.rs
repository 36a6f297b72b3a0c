//! A thread's own part: its sums and how deep it is in each stage.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::registry;
use super::sums::Sums;

/// Where a guard was entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The thread's number; [`NO_THREAD`] where it has no memory of its own any more.
    thread: u64,
    /// No other guard of the stage was open on that thread.
    outermost: bool,
}

const NO_THREAD: u64 = 0;

/// This thread's stages, by stage id.
struct Local {
    thread: Cell<u64>,
    stages: RefCell<Vec<Option<LocalStage>>>,
}

struct LocalStage {
    sums: Arc<Sums>,
    depth: Cell<u64>,
}

thread_local! {
    static LOCAL: Local =
        const { Local { thread: Cell::new(NO_THREAD), stages: RefCell::new(Vec::new()) } };
}

#[inline]
pub(super) fn enter(stage: usize) -> Entered {
    LOCAL
        .try_with(|local| {
            let outermost = local.with_stage(stage, LocalStage::enter);
            Entered { thread: local.thread.get(), outermost }
        })
        .unwrap_or(Entered { thread: NO_THREAD, outermost: true })
}

#[inline]
pub(super) fn leave(stage: usize, entered: Entered, nanos: u64) {
    let at_home = LOCAL.try_with(|local| {
        local.with_stage(stage, |here| {
            let at_home = local.thread.get() == entered.thread;
            if at_home {
                here.depth.set(here.depth.get().saturating_sub(1));
            }
            if entered.outermost || !at_home {
                here.sums.record(nanos, registry::current_lap());
            }
            at_home
        })
    });
    match at_home {
        Ok(true) => {}
        Ok(false) => registry::release(stage, entered.thread),
        Err(_) => {
            registry::record_orphan(stage, nanos);
            registry::release(stage, entered.thread);
        }
    }
}

#[inline]
pub(super) fn record(stage: usize, nanos: u64) {
    let recorded = LOCAL.try_with(|local| {
        local.with_stage(stage, |here| here.sums.record(nanos, registry::current_lap()));
    });
    if recorded.is_err() {
        registry::record_orphan(stage, nanos);
    }
}

impl Local {
    #[inline]
    fn with_stage<T>(&self, stage: usize, body: impl FnOnce(&LocalStage) -> T) -> T {
        if let Some(Some(here)) = self.stages.borrow().get(stage) {
            return body(here);
        }
        self.first_use(stage);
        match self.stages.borrow().get(stage) {
            Some(Some(here)) => body(here),
            _ => unreachable!("the first use has just made the entry"),
        }
    }

    #[cold]
    fn first_use(&self, stage: usize) {
        static NEXT_THREAD: AtomicU64 = AtomicU64::new(NO_THREAD + 1);
        if self.thread.get() == NO_THREAD {
            self.thread.set(NEXT_THREAD.fetch_add(1, Ordering::Relaxed));
        }
        let sums = registry::register(stage, self.thread.get());
        let mut stages = self.stages.borrow_mut();
        if stages.len() <= stage {
            stages.resize_with(stage + 1, || None);
        }
        stages[stage] = Some(LocalStage { sums, depth: Cell::new(0) });
    }
}

impl LocalStage {
    #[inline]
    fn enter(&self) -> bool {
        let mut depth = self.depth.get();
        if depth > 0 {
            // Some of them may have been dropped on other threads in the meantime.
            depth = depth.saturating_sub(self.sums.take_released());
        }
        self.depth.set(depth + 1);
        depth == 0
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for (stage, here) in self.stages.get_mut().iter().enumerate() {
            if here.is_some() {
                registry::retire(stage, self.thread.get());
            }
        }
    }
}
