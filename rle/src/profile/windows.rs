//! The periods over which calls are summed: the process, the runs in it, and epochs of both.
//!
//! A lap is the time between two moments at which sums are read.

use std::time::Instant;

use super::sums::Totals;

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
pub(super) struct Span {
    pub(super) began: Instant,
    pub(super) rows: Vec<Totals>,
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

impl Windows {
    pub(super) const fn new() -> Self {
        Self { process: None, runs: Vec::new(), next_run: 0 }
    }

    /// Opens the window of the process, at its first timed call.
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

    pub(super) fn open_run(&mut self) -> u64 {
        let id = self.next_run;
        self.next_run += 1;
        self.runs.push(OpenRun { id, window: Window::new() });
        id
    }

    pub(super) fn close_run(&mut self, id: u64) {
        self.runs.retain(|run| run.id != id);
    }

    /// The totals of a run by row; none once it is closed.
    pub(super) fn run_rows(&self, id: u64) -> &[Totals] {
        let run = self.runs.iter().find(|run| run.id == id);
        run.map_or(&[], |run| &run.window.whole.rows)
    }

    /// What a scope has summed up; with `reset`, a moment, its next epoch begins then.
    pub(super) fn of(&mut self, scope: Scope, reset: Option<Instant>) -> Option<Span> {
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
