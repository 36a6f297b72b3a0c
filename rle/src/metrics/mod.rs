//! Metric loggers: write what a run logs to files that TensorBoard, W&B and SwanLab read.
//!
//! A [`RunLogger`] owns the writer thread of one run; training threads log to its
//! [`MetricSink`]. An error never fails a run: the first one of each backend is a warning, and
//! lost points are counted in the [`LogReport`]. This module never reads records and never talks
//! to a service: the vendors' own tools do that ([`Upload`]).
//!
//! - `number`: the values and steps that can be logged.
//! - `run`: the description of a run, its outcome, and the options.
//! - `layout`: the directories and slots of a run's files.
//! - `upload`: starts a vendor's own tool, which uploads a run.
//! - `sink`: the queue between training threads and the writer thread.
//! - `logger`: the interface of all backends, and what they report at the end of a run.
//! - `backends`: the files of TensorBoard, W&B and SwanLab.
//! - `factory`: chooses the backends of a run.
//! - `writer`: the work of the writer thread.
//! - `run_logger`: the handle of one run's metrics.
//! - `current`: the sink of the active run, for code without a context.
//!
//! ```
//! use rle::Slug;
//! use rle::metrics::{LogOptions, LoggedRun, RunLogger, RunOutcome};
//! use rle::value::Value;
//!
//! # let dir = tempfile::tempdir()?;
//! # let log_dir = dir.path();
//! let run = LoggedRun {
//!     project: "cartpole".to_owned(),
//!     name: "first_try".to_owned(),
//!     group: "REINFORCE".to_owned(),
//!     slug: Slug::new("reinforce")?,
//!     run_idx: 0,
//!     config: Value::from_iter([("lr", 3e-4)]),
//!     tags: Vec::new(),
//!     request: "a1b2c3".to_owned(),
//!     resume_step: None,
//! };
//! let logger = RunLogger::start(&LogOptions::new(log_dir), &run);
//! let sink = logger.sink();
//! for step in 0..100 {
//!     sink.log("train/loss", 1.0 / f64::from(step + 1), i64::from(step));
//! }
//! let report = logger.finish(RunOutcome::Complete);
//! assert_eq!(report.lost(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "loggers")]
mod backends;
mod current;
mod factory;
mod layout;
mod logger;
mod number;
mod run;
mod run_logger;
mod sink;
#[cfg(feature = "loggers")]
#[cfg(test)]
mod tests;
mod upload;
mod writer;

pub use current::log_metric;
pub(crate) use current::{Current, flush_current};
pub(crate) use factory::directories;
pub use logger::{BackendReport, LogReport, MetricLogger, WriteError};
pub use number::{LogStep, LogValue};
pub use run::{Backend, LogMode, LogOptions, LoggedRun, RunOutcome};
pub use run_logger::RunLogger;
pub(crate) use sink::MetricState;
pub use sink::{Batch, MetricSink, Point, RunClock};
pub use upload::{Upload, UploadOutcome};
