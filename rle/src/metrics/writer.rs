//! The writer thread's work: it drains the queue of a run into the loggers.

use std::io;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::logger::{BackendReport, LogReport, MetricLogger, WriteError};
use super::run::RunOutcome;
use super::sink::{Batch, Drained, Queue, RunClock};

/// Feeds the loggers of one run from its queue.
pub(super) struct Writer {
    clock: RunClock,
    resume_step: Option<i64>,
    started: bool,
    /// Whether no file is created before the first point.
    waits_for_point: bool,
    loggers: Vec<CheckedLogger>,
}

/// A logger with its first error and its losses.
struct CheckedLogger {
    logger: Box<dyn MetricLogger>,
    works: bool,
    lost: u64,
    problem: Option<String>,
}

impl Writer {
    /// A resumed run waits for its first point in any case.
    pub(super) fn new(
        loggers: Vec<Box<dyn MetricLogger>>,
        clock: RunClock,
        resume_step: Option<i64>,
        waits_for_point: bool,
    ) -> Self {
        let checked = |logger| CheckedLogger { logger, works: true, lost: 0, problem: None };
        Self {
            clock,
            resume_step,
            started: false,
            waits_for_point: waits_for_point || resume_step.is_some(),
            loggers: loggers.into_iter().map(checked).collect(),
        }
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.loggers.iter().map(|checked| checked.logger.name()).collect()
    }

    /// Writes points until the queue is closed, then the outcome.
    pub(super) fn run(
        mut self,
        queue: &Queue,
        interval: Duration,
        outcomes: &Receiver<RunOutcome>,
    ) -> LogReport {
        if !self.waits_for_point {
            self.start(None);
        }
        let mut drained = Drained::default();
        while !drained.closed {
            queue.drain(interval, &mut drained);
            if drained.points.is_empty() {
                queue.set_written(drained.pushed);
                continue;
            }
            self.start(drained.points.first().map(|point| point.step));
            let batch = Batch { names: &drained.names, points: &drained.points, clock: self.clock };
            self.loggers.iter_mut().for_each(|logger| logger.write(&batch));
            queue.set_written(drained.pushed);
        }
        if self.resume_step.is_some() || self.loggers.iter().any(CheckedLogger::has_files) {
            self.start(None);
        }
        if !self.started {
            self.loggers.iter_mut().for_each(|logger| logger.works = false);
        }
        let outcome = outcomes.recv().ok();
        let seconds = self.clock.seconds_at(self.clock.elapsed_nanos());
        let finish = |logger: CheckedLogger| logger.finish(outcome.as_ref(), seconds);
        let backends = self.loggers.into_iter().map(finish).collect();
        LogReport { backends, ..LogReport::default() }
    }

    /// A resumed run starts with its first point, which tells whether the step of the checkpoint
    /// is computed again.
    fn start(&mut self, first_step: Option<i64>) {
        if self.started {
            return;
        }
        self.started = true;
        let kept_through = self
            .resume_step
            .map(|step| if first_step == Some(step) { step.saturating_sub(1) } else { step });
        for checked in &mut self.loggers {
            if let Err(error) = checked.logger.start(self.clock, kept_through) {
                checked.works = false;
                checked.warn(&error);
            }
        }
    }
}

impl CheckedLogger {
    fn has_files(&self) -> bool {
        self.logger.directory().exists()
    }

    fn write(&mut self, batch: &Batch<'_>) {
        if !self.works {
            self.lost += batch.points.len() as u64;
            return;
        }
        if let Err(error) = self.logger.write(batch) {
            self.count(&error);
        }
    }

    fn count(&mut self, error: &WriteError) {
        self.lost += error.lost;
        self.warn(&error.source);
    }

    fn warn(&mut self, error: &io::Error) {
        if self.problem.is_some() {
            return;
        }
        let (name, directory) = (self.logger.name(), self.logger.directory());
        tracing::warn!(
            "metrics for {name} are incomplete: cannot write in {}: {error}; the run goes on",
            directory.display()
        );
        self.problem = Some(error.to_string());
    }

    fn finish(mut self, outcome: Option<&RunOutcome>, seconds: f64) -> BackendReport {
        if self.works
            && let Err(error) = self.logger.finish(outcome, seconds)
        {
            self.count(&error);
        }
        BackendReport {
            name: self.logger.name(),
            directory: self.logger.directory(),
            lost: self.lost,
            unfit: self.logger.unfit(),
            problem: self.problem,
            upload: if self.works { self.logger.upload() } else { None },
        }
    }
}
