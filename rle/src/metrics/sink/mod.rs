//! The bounded queue between the training threads and the writer thread of a run.
//!
//! It never waits long for a disk and never opens a file.
//!
//! - `point`: the points of a run and the clock that dates them.
//! - `queue`: the queue itself, with the metric names and their last values.
//! - `metric_sink`: the handle that training threads log to.

mod metric_sink;
mod point;
mod queue;
#[cfg(test)]
mod tests;

pub use metric_sink::MetricSink;
pub(crate) use metric_sink::MetricState;
pub use point::{Batch, Point, RunClock};
pub(super) use queue::{Drained, Queue};
