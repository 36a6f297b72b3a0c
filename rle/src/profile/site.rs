//! A place in the source that is timed, and the guards that time its calls.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::clock::Start;
use super::debug;
use super::registry::{self, RowKey};
use super::thread::{self, Entered};
use crate::Stage;

/// One place in the source that is timed; a static in an expansion.
#[derive(Debug)]
pub struct Site {
    stage: Stage,
    module: &'static str,
    group: Option<&'static str>,
    metric: bool,
    /// Before the first call 0, then the bits of a [`Row`] plus one.
    row: AtomicU32,
    /// `time_profile/<stage>`, from the first call that is logged or handed on.
    title: OnceLock<String>,
}

/// The row's number, and in the lowest bit whether more is to be done with a call than to count
/// it. Kept in guards, so that their end need not ask the site again.
#[derive(Clone, Copy, Debug)]
struct Row(u32);

/// Times a call from [`Site::enter`] to its drop. The outermost of nested calls of one stage on a
/// thread counts; a guard that is dropped on another thread counts in full.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct Guard {
    site: &'static Site,
    row: Row,
    entered: Entered,
    start: Start,
}

/// Times an `async` call from its first poll to ready or drop, on whatever threads. Never folds.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once measures nothing"]
pub struct AsyncGuard {
    site: &'static Site,
    row: Row,
    start: Start,
}

impl Site {
    /// A site of `stage` in `module` (its `module_path!()`).
    #[must_use]
    pub const fn new(stage: Stage, module: &'static str) -> Self {
        Self {
            stage,
            module,
            group: None,
            metric: false,
            row: AtomicU32::new(0),
            title: OnceLock::new(),
        }
    }

    /// Counts to the group `name` of summaries, instead of the module's last segment.
    #[must_use]
    pub const fn in_group(mut self, name: &'static str) -> Self {
        self.group = Some(name);
        self
    }

    /// Hands each call's time to the metrics, too.
    #[must_use]
    pub const fn with_metric(mut self) -> Self {
        self.metric = true;
        self
    }

    /// The path of the module that holds the site.
    #[must_use]
    pub const fn module(&self) -> &'static str {
        self.module
    }

    /// The full name of the site's stage.
    #[must_use]
    pub const fn stage(&self) -> &'static str {
        self.stage.name()
    }

    /// Begins to time a call on this thread.
    #[inline]
    pub fn enter(&'static self) -> Guard {
        let row = self.row();
        let entered = thread::enter(row.number());
        Guard { site: self, row, entered, start: Start::now() }
    }

    /// Begins to time an `async` call.
    #[inline]
    pub fn enter_async(&'static self) -> AsyncGuard {
        AsyncGuard { site: self, row: self.row(), start: Start::now() }
    }

    /// Begins to time a call on this thread, with `RLE_DEBUG` only.
    #[inline]
    pub fn enter_in_debug(&'static self) -> Option<Guard> {
        debug::is_on().then(|| self.enter())
    }

    /// Begins to time an `async` call, with `RLE_DEBUG` only.
    #[inline]
    pub fn enter_async_in_debug(&'static self) -> Option<AsyncGuard> {
        debug::is_on().then(|| self.enter_async())
    }

    #[inline]
    fn row(&self) -> Row {
        match self.row.load(Ordering::Relaxed) {
            0 => self.first_use(),
            row => Row(row - 1),
        }
    }

    #[cold]
    fn first_use(&self) -> Row {
        let module = self.module.rsplit("::").next().unwrap_or(self.module);
        let group = self.group.unwrap_or(module);
        let number = registry::intern(RowKey { stage: self.stage(), group });
        let row = Row::new(number, self.metric || debug::is_on());
        self.row.store(row.0 + 1, Ordering::Relaxed);
        row
    }

    #[cold]
    fn note(&self, ticks: u64) {
        let title = self.title.get_or_init(|| format!("time_profile/{}", self.stage()));
        debug::note(title, self.metric, ticks);
    }
}

impl Row {
    fn new(number: usize, is_noted: bool) -> Self {
        let bits = u32::try_from(number << 1).expect("a program has fewer than 2^31 stages");
        Self(bits | u32::from(is_noted))
    }

    #[inline]
    const fn number(self) -> usize {
        (self.0 >> 1) as usize
    }

    #[inline]
    const fn is_noted(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        let ticks = self.start.elapsed();
        let counted = thread::leave(self.row.number(), self.entered, ticks);
        if counted && self.row.is_noted() {
            self.site.note(ticks);
        }
    }
}

impl Drop for AsyncGuard {
    #[inline]
    fn drop(&mut self) {
        let ticks = self.start.elapsed();
        thread::record(self.row.number(), ticks);
        if self.row.is_noted() {
            self.site.note(ticks);
        }
    }
}
