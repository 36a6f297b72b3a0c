//! All stages and all threads' sums: laps and runs.
//!
//! A lap is the time between two moments at which somebody wants sums: a run begins or ends. At a
//! lap's end what was added goes to every open run, so that readers never disturb each other and
//! threads never wait for a reader.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::sums::{Reading, Sums, Totals};

/// The number of the current lap, read by every call when it ends.
static LAP: AtomicU64 = AtomicU64::new(1);

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { stages: Vec::new(), runs: Vec::new(), next_run: 0 });

struct Registry {
    stages: Vec<StageSums>,
    runs: Vec<OpenRun>,
    next_run: u64,
}

/// One stage over all threads.
struct StageSums {
    name: &'static str,
    /// Calls of this lap that no registered thread holds any more.
    orphaned: Totals,
    threads: Vec<ThreadSums>,
}

struct ThreadSums {
    thread: u64,
    sums: Arc<Sums>,
    /// What earlier laps have already taken.
    taken: Reading,
}

struct OpenRun {
    id: u64,
    /// By stage id, as far as laps have ended since the run began.
    totals: Vec<Totals>,
}

/// The sum of one stage over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StageTotal {
    /// The stage's full name.
    pub(crate) stage: &'static str,
    /// Finished calls, recursion folded.
    pub(crate) calls: u64,
    /// Their time, in seconds.
    pub(crate) seconds: f64,
    /// The shortest call, in seconds.
    pub(crate) minimum: f64,
    /// The longest call, in seconds.
    pub(crate) maximum: f64,
}

/// Sums the stages of one run, from [`begin_run`] to [`finish`](Self::finish).
#[derive(Debug)]
#[must_use = "a run that is not finished gives no sums"]
pub(crate) struct RunTimer {
    id: u64,
}

/// Begins to count every thread's calls to a run, also those that are open now, when they end.
///
/// One run at a time is the rule; where a run begins inside another, its calls count to both.
pub(crate) fn begin_run() -> RunTimer {
    let mut registry = lock();
    registry.end_lap();
    let id = registry.next_run;
    registry.next_run += 1;
    registry.runs.push(OpenRun { id, totals: Vec::new() });
    RunTimer { id }
}

impl RunTimer {
    /// Ends the run: its stages that were called, sorted by name.
    pub(crate) fn finish(self) -> Vec<StageTotal> {
        let mut registry = lock();
        registry.end_lap();
        let totals = registry.close_run(self.id);
        let named = registry.named(totals);
        drop(registry);
        named
    }
}

impl Drop for RunTimer {
    fn drop(&mut self) {
        lock().close_run(self.id);
    }
}

impl Registry {
    fn end_lap(&mut self) {
        // Read first, then move on: a call that ends in between counts to the next lap in full.
        let lap = LAP.load(Ordering::Relaxed);
        for (id, stage) in self.stages.iter_mut().enumerate() {
            let totals = stage.take_lap(lap);
            if totals.calls == 0 {
                continue;
            }
            for run in &mut self.runs {
                run.add(id, totals);
            }
        }
        LAP.store(lap + 1, Ordering::Relaxed);
    }

    fn close_run(&mut self, id: u64) -> Vec<Totals> {
        match self.runs.iter().position(|run| run.id == id) {
            Some(at) => self.runs.remove(at).totals,
            None => Vec::new(),
        }
    }

    fn named(&self, totals: Vec<Totals>) -> Vec<StageTotal> {
        let mut named: Vec<StageTotal> = self
            .stages
            .iter()
            .zip(totals)
            .filter(|(_, totals)| totals.calls > 0)
            .map(|(stage, totals)| StageTotal {
                stage: stage.name,
                calls: totals.calls,
                seconds: seconds(totals.nanos),
                minimum: seconds(totals.shortest),
                maximum: seconds(totals.longest),
            })
            .collect();
        named.sort_unstable_by_key(|total| total.stage);
        named
    }
}

impl OpenRun {
    fn add(&mut self, id: usize, totals: Totals) {
        if self.totals.len() <= id {
            self.totals.resize(id + 1, Totals::ZERO);
        }
        self.totals[id].add(totals);
    }
}

impl StageSums {
    fn take_lap(&mut self, lap: u64) -> Totals {
        let mut totals = std::mem::replace(&mut self.orphaned, Totals::ZERO);
        for thread in &mut self.threads {
            totals.add(thread.take_lap(lap));
        }
        totals
    }
}

impl ThreadSums {
    fn take_lap(&mut self, lap: u64) -> Totals {
        let reading = self.sums.read();
        let totals = reading.since(self.taken, lap);
        self.taken = reading;
        totals
    }
}

#[inline]
pub(super) fn current_lap() -> u64 {
    LAP.load(Ordering::Relaxed)
}

/// The id of a stage: all sites of one name share it.
pub(super) fn intern(name: &'static str) -> usize {
    let mut registry = lock();
    if let Some(id) = registry.stages.iter().position(|stage| stage.name == name) {
        return id;
    }
    registry.stages.push(StageSums { name, orphaned: Totals::ZERO, threads: Vec::new() });
    registry.stages.len() - 1
}

/// Sums that `thread` will write for the stage.
pub(super) fn register(stage: usize, thread: u64) -> Arc<Sums> {
    let sums = Arc::new(Sums::new());
    let entry = ThreadSums { thread, sums: Arc::clone(&sums), taken: Reading::ZERO };
    lock().stages[stage].threads.push(entry);
    sums
}

/// Takes over what a thread that ends has not yet handed to a lap.
pub(super) fn retire(stage: usize, thread: u64) {
    let mut registry = lock();
    let lap = current_lap();
    let stage = &mut registry.stages[stage];
    if let Some(at) = stage.threads.iter().position(|entry| entry.thread == thread) {
        let totals = stage.threads.swap_remove(at).take_lap(lap);
        stage.orphaned.add(totals);
    }
}

/// Counts a call for a thread that has no memory of its own any more.
pub(super) fn record_orphan(stage: usize, nanos: u64) {
    lock().stages[stage].orphaned.add_call(nanos);
}

/// Tells the thread that entered a guard that it was dropped elsewhere; nothing if it has ended.
pub(super) fn release(stage: usize, thread: u64) {
    let registry = lock();
    if let Some(entry) = registry.stages[stage].threads.iter().find(|entry| entry.thread == thread)
    {
        entry.sums.release();
    }
}

fn lock() -> MutexGuard<'static, Registry> {
    // Nothing in here runs foreign code; sums stay whole whatever panicked.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days in nanoseconds")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
