//! Stretches of time whose calls are summed: the process, and the runs in it.
//!
//! A lap is the time between two moments at which somebody wants sums.

use super::clock;
use super::registry::{Registry, RowKey, lock};
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

/// Totals by row, as far as laps have ended.
#[derive(Clone, Debug)]
pub(super) struct Table(Vec<Totals>);

/// All open windows.
pub(super) struct Windows {
    process: Table,
    runs: Vec<OpenRun>,
    next_run: u64,
}

struct OpenRun {
    id: u64,
    /// Since the run began.
    whole: Table,
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
    // From here on the clock is compared with the system's.
    clock::Start::now();
    let mut registry = lock();
    registry.end_lap();
    let id = registry.windows.open_run();
    RunTimer { id }
}

impl RunTimer {
    /// The sums so far: stages that were called, sorted by name.
    pub(crate) fn totals(&self) -> Vec<StageTotal> {
        let mut registry = lock();
        registry.end_lap();
        let run = registry.windows.runs.iter().find(|run| run.id == self.id);
        let whole = run.map_or(Table::new(), |run| run.whole.clone());
        let rows = registry.named(whole);
        drop(registry);
        by_stage(&rows)
    }

    /// Ends the run; later calls count to it no more.
    pub(crate) fn close(&self) {
        lock().windows.close_run(self.id);
    }

    /// Ends the run: its stages that were called, sorted by name.
    pub(crate) fn finish(self) -> Vec<StageTotal> {
        let mut registry = lock();
        registry.end_lap();
        let whole = registry.windows.close_run(self.id);
        let rows = registry.named(whole);
        drop(registry);
        by_stage(&rows)
    }
}

impl Drop for RunTimer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Adds up the groups of each stage.
fn by_stage(rows: &[(RowKey, Totals)]) -> Vec<StageTotal> {
    let mut stages: Vec<(&'static str, Totals)> = Vec::new();
    for (key, totals) in rows {
        match stages.iter_mut().find(|(stage, _)| *stage == key.stage) {
            Some((_, sum)) => sum.add(*totals),
            None => stages.push((key.stage, *totals)),
        }
    }
    stages.sort_unstable_by_key(|(stage, _)| *stage);
    if stages.is_empty() {
        return Vec::new();
    }
    let per_tick = clock::seconds_per_tick();
    stages.into_iter().map(|(stage, totals)| StageTotal::new(stage, totals, per_tick)).collect()
}

impl StageTotal {
    fn new(stage: &'static str, totals: Totals, per_tick: f64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "exact for weeks, then to 16 digits")]
        let seconds = |ticks: u64| ticks as f64 * per_tick;
        Self {
            stage,
            calls: totals.calls,
            seconds: seconds(totals.ticks),
            minimum: seconds(totals.shortest),
            maximum: seconds(totals.longest),
        }
    }
}

impl Registry {
    /// The rows of a table that were called.
    fn named(&self, table: Table) -> Vec<(RowKey, Totals)> {
        let rows = self.rows.iter().map(|row| row.key).zip(table.0);
        rows.filter(|(_, totals)| totals.calls > 0).collect()
    }
}

impl Windows {
    pub(super) const fn new() -> Self {
        Self { process: Table::new(), runs: Vec::new(), next_run: 0 }
    }

    /// Counts what a lap has added to a row.
    pub(super) fn add(&mut self, row: usize, totals: Totals) {
        self.process.add(row, totals);
        for run in &mut self.runs {
            run.whole.add(row, totals);
        }
    }

    fn open_run(&mut self) -> u64 {
        let id = self.next_run;
        self.next_run += 1;
        self.runs.push(OpenRun { id, whole: Table::new() });
        id
    }

    fn close_run(&mut self, id: u64) -> Table {
        match self.runs.iter().position(|run| run.id == id) {
            Some(at) => self.runs.remove(at).whole,
            None => Table::new(),
        }
    }
}

impl Table {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn add(&mut self, row: usize, totals: Totals) {
        if self.0.len() <= row {
            self.0.resize(row + 1, Totals::ZERO);
        }
        self.0[row].add(totals);
    }
}
