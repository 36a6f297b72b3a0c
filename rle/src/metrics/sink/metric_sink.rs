//! The handle that training threads log to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::queue::Queue;

/// How long a flush waits for the disk, once for each time that the writer falls behind.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// How far the metrics of a run have come: what checkpoints note.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MetricState {
    /// None where nothing was logged.
    pub(crate) highest_step: Option<i64>,
    pub(crate) last_values: BTreeMap<String, f64>,
}

/// What training threads log to; clones log to the same run.
///
/// Logging never fails and never waits for a disk for long: where the writer cannot keep up, a
/// point that finds the queue full waits up to a second, and if that does not help, points are
/// dropped and counted until the writer has drained the queue again.
#[derive(Clone, Debug)]
pub struct MetricSink {
    queue: Arc<Queue>,
}

impl MetricSink {
    pub(in crate::metrics) fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// A sink without files, which only keeps last values.
    pub(crate) fn without_loggers() -> Self {
        Self::new(Arc::new(Queue::new(false)))
    }

    /// Logs one value. An empty name, or one over 4,096 bytes, is dropped and counted, with one
    /// warning; so is every new name once there are 100,000.
    pub fn log(&self, name: &str, value: f64, step: i64) {
        let nanos = self.queue.clock.elapsed_nanos();
        drop(self.queue.push(self.queue.lock(), name, value, step, nanos));
    }

    /// Logs several values of one step.
    pub fn log_many(&self, values: &[(&str, f64)], step: i64) {
        let nanos = self.queue.clock.elapsed_nanos();
        let mut state = self.queue.lock();
        for (name, value) in values {
            state = self.queue.push(state, name, *value, step, nanos);
        }
    }

    /// The step last logged, whatever its name.
    #[must_use]
    pub fn last_step(&self) -> Option<i64> {
        self.queue.lock().last_step
    }

    /// The last value of each name.
    #[must_use]
    pub fn last_values(&self) -> BTreeMap<String, f64> {
        self.metric_state().last_values
    }

    /// Logs a value that has no step of its own, at the step last logged; before the first one of
    /// a run at 0.
    ///
    /// A resumed run has logged such values of its checkpoint's step already: they are left out
    /// until it logs a step.
    pub fn log_at_last_step(&self, name: &str, value: f64) {
        let nanos = self.queue.clock.elapsed_nanos();
        let state = self.queue.lock();
        let first_step = if state.earlier_values.is_some() { None } else { Some(0) };
        if let Some(step) = state.last_step.or(first_step) {
            drop(self.queue.push(state, name, value, step, nanos));
        }
    }

    /// Waits until the files hold what has been logged so far, so that a kill of the process
    /// cannot lose it; returns whether they do. Gives up on a disk that hangs after ten seconds.
    pub fn flush(&self) -> bool {
        self.queue.flush_within(FLUSH_TIMEOUT)
    }

    /// What a later attempt resumes from.
    pub(crate) fn metric_state(&self) -> MetricState {
        let state = self.queue.lock();
        let mut last_values = state.earlier_values.clone().unwrap_or_default();
        let names = state.names.iter().map(ToString::to_string);
        last_values.extend(names.zip(state.last.iter().copied()));
        MetricState { highest_step: state.highest_step, last_values }
    }

    /// Resumes from the state of an earlier attempt.
    pub(crate) fn resume_from(&self, earlier: MetricState) {
        let mut state = self.queue.lock();
        state.highest_step = earlier.highest_step;
        state.earlier_values = Some(earlier.last_values);
    }
}
