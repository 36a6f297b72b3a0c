//! The sums of one run, for its record.

use super::clock::{self, seconds};
use super::registry::{self, RowKey};
use super::sums::Totals;

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

/// Sums the stages of one run, from [`begin_run`] to [`close`](Self::close) or its drop.
#[derive(Debug)]
#[must_use = "a run is over when its timer is dropped"]
pub(crate) struct RunTimer {
    id: u64,
}

/// Begins to count every thread's calls to a run, also those that are open now, when they end.
///
/// One run at a time is the rule; where a run begins inside another, its calls count to both.
pub(crate) fn begin_run() -> RunTimer {
    // The measurement of the clock's rate begins here.
    clock::Start::now();
    let mut registry = registry::lock();
    registry.end_lap();
    RunTimer { id: registry.windows.open_run() }
}

impl RunTimer {
    /// The sums so far: stages that were called, sorted by name.
    pub(crate) fn totals(&self) -> Vec<StageTotal> {
        let mut registry = registry::lock();
        registry.end_lap();
        let rows = registry.called(registry.windows.run_rows(self.id));
        drop(registry);
        if rows.is_empty() { Vec::new() } else { by_stage(&rows, clock::seconds_per_tick()) }
    }

    /// Ends the run; later calls count to it no more.
    pub(crate) fn close(&self) {
        registry::lock().windows.close_run(self.id);
    }

    /// Ends the run: its stages that were called, sorted by name.
    pub(crate) fn finish(self) -> Vec<StageTotal> {
        self.totals()
    }
}

impl Drop for RunTimer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Adds up the groups of each stage.
fn by_stage(rows: &[(RowKey, Totals)], per_tick: f64) -> Vec<StageTotal> {
    let mut stages: Vec<(&'static str, Totals)> = Vec::new();
    for (key, totals) in rows {
        match stages.iter_mut().find(|(stage, _)| *stage == key.stage) {
            Some((_, sum)) => sum.add(*totals),
            None => stages.push((key.stage, *totals)),
        }
    }
    stages.sort_unstable_by_key(|(stage, _)| *stage);
    let total = |(stage, totals): (&'static str, Totals)| StageTotal {
        stage,
        calls: totals.calls,
        seconds: seconds(totals.ticks, per_tick),
        minimum: seconds(totals.shortest, per_tick),
        maximum: seconds(totals.longest, per_tick),
    };
    stages.into_iter().map(total).collect()
}
