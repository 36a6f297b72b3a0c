//! Stretches of time whose calls are summed: the process, the runs in it, and epochs of both.
//!
//! A lap is the time between two moments at which somebody wants sums.

use std::time::Instant;

use super::clock;
use super::registry::{Registry, RowKey, lock};
use super::seconds;
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

/// All open windows.
pub(super) struct Windows {
    /// None before the first timed call.
    process: Option<Window>,
    runs: Vec<OpenRun>,
    next_run: u64,
}

struct OpenRun {
    id: u64,
    window: Window,
}

/// From some moment to now.
struct Window {
    whole: Span,
    /// Since the last reset.
    epoch: Span,
}

/// Totals by row since a moment, as far as laps have ended.
#[derive(Clone, Debug)]
struct Span {
    began: Instant,
    rows: Vec<Totals>,
}

/// What to sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The run that is active, else the process.
    Run,
    /// The same since its last reset.
    Epoch,
    /// The process, whatever runs.
    Process,
}

/// The rows with calls over some time.
pub(super) struct Stretch {
    /// Its duration.
    pub(super) seconds: f64,
    /// Seconds per tick.
    pub(super) per_tick: f64,
    pub(super) rows: Vec<(RowKey, Totals)>,
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
    // From here on the clock is compared with the system's.
    clock::Start::now();
    let mut registry = lock();
    registry.end_lap();
    RunTimer { id: registry.windows.open_run() }
}

impl RunTimer {
    /// The sums so far: stages that were called, sorted by name.
    pub(crate) fn totals(&self) -> Vec<StageTotal> {
        let rows = self.rows();
        if rows.is_empty() { Vec::new() } else { by_stage(&rows, clock::seconds_per_tick()) }
    }

    fn rows(&self) -> Vec<(RowKey, Totals)> {
        let mut registry = lock();
        registry.end_lap();
        let run = registry.windows.runs.iter().find(|run| run.id == self.id);
        run.map_or(Vec::new(), |run| registry.named(&run.window.whole.rows))
    }

    /// Ends the run; later calls count to it no more.
    pub(crate) fn close(&self) {
        lock().windows.runs.retain(|run| run.id != self.id);
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

/// The sums of a scope so far; with `reset` its next epoch begins here.
pub(super) fn stretch(scope: Scope, reset: bool) -> Stretch {
    let mut registry = lock();
    registry.end_lap();
    let now = Instant::now();
    let span = registry.windows.of(scope, reset.then_some(now));
    let rows = span.as_ref().map_or(Vec::new(), |span| registry.named(&span.rows));
    drop(registry);
    let seconds = span.map_or(0.0, |span| (now - span.began).as_secs_f64());
    let per_tick = if rows.is_empty() { 0.0 } else { clock::seconds_per_tick() };
    Stretch { seconds, per_tick, rows }
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

impl Registry {
    /// The rows that were called.
    fn named(&self, rows: &[Totals]) -> Vec<(RowKey, Totals)> {
        let rows = self.rows.iter().map(|row| row.key).zip(rows.iter().copied());
        rows.filter(|(_, totals)| totals.calls > 0).collect()
    }
}

impl Windows {
    pub(super) const fn new() -> Self {
        Self { process: None, runs: Vec::new(), next_run: 0 }
    }

    /// The process is about to make its first timed call, unless it has made it already.
    pub(super) fn open_process(&mut self) {
        self.process.get_or_insert_with(Window::new);
    }

    /// Counts what a lap has added to a row.
    pub(super) fn add(&mut self, row: usize, totals: Totals) {
        let runs = self.runs.iter_mut().map(|run| &mut run.window);
        for window in self.process.iter_mut().chain(runs) {
            window.whole.add(row, totals);
            window.epoch.add(row, totals);
        }
    }

    fn open_run(&mut self) -> u64 {
        let id = self.next_run;
        self.next_run += 1;
        self.runs.push(OpenRun { id, window: Window::new() });
        id
    }

    /// What a scope has summed up; with `reset`, a moment, its next epoch begins then.
    fn of(&mut self, scope: Scope, reset: Option<Instant>) -> Option<Span> {
        let run = self.runs.last_mut().filter(|_| scope != Scope::Process);
        let window = run.map(|run| &mut run.window).or(self.process.as_mut())?;
        let span = match scope {
            Scope::Run | Scope::Process => window.whole.clone(),
            Scope::Epoch => window.epoch.clone(),
        };
        if let Some(now) = reset {
            window.epoch = Span { began: now, rows: Vec::new() };
        }
        Some(span)
    }
}

impl Window {
    fn new() -> Self {
        let began = Instant::now();
        let span = Span { began, rows: Vec::new() };
        Self { whole: span.clone(), epoch: span }
    }
}

impl Span {
    fn add(&mut self, row: usize, totals: Totals) {
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Totals::ZERO);
        }
        self.rows[row].add(totals);
    }
}
