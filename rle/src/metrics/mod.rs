//! Metric loggers: what a run logs, as files that TensorBoard, W&B and SwanLab show.
//!
//! A [`RunLogger`] owns the writer thread of one run; training threads log to its
//! [`MetricSink`]. Nothing in here ever fails a run: errors are one warning, and lost points are
//! counted in the [`LogReport`]. It never reads records and never speaks to a service: that is
//! left to the vendors' own tools ([`HandOver`]).
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
mod hand_over;
mod layout;
mod logger;
mod number;
mod run;
mod sink;
#[cfg(feature = "loggers")]
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use current::log_metric;
pub(crate) use current::{Current, flush_current};
pub use hand_over::{HandOver, HandedOver};
pub use logger::{BackendReport, Fault, LogReport, MetricLogger, RunLogger};
pub use number::{LogStep, LogValue};
pub use run::{Backend, LogMode, LogOptions, LoggedRun, RunOutcome};
pub(crate) use sink::Standing;
pub use sink::{Batch, Began, MetricSink, Point};

/// The loggers that the options ask for.
#[cfg(feature = "loggers")]
fn loggers(options: &LogOptions, run: &LoggedRun) -> Vec<Box<dyn MetricLogger>> {
    let mut loggers: Vec<Box<dyn MetricLogger>> = Vec::new();
    for backend in &options.backends {
        let disabled = options.mode == LogMode::Disabled;
        match backend {
            Backend::TensorBoard => {
                loggers.push(Box::new(backends::tensorboard::TensorBoard::new(options, run)));
            }
            Backend::Wandb | Backend::Swanlab if disabled => {}
            Backend::Wandb => loggers.push(Box::new(backends::wandb::Wandb::new(options, run))),
            Backend::Swanlab => {
                loggers.push(Box::new(backends::swanlab::Swanlab::new(options, run)))
            }
        }
    }
    loggers
}

/// No loggers: this program was built without them.
#[cfg(not(feature = "loggers"))]
fn loggers(options: &LogOptions, _run: &LoggedRun) -> Vec<Box<dyn MetricLogger>> {
    if !options.backends.is_empty() {
        tracing::warn!("metrics are not logged: this program is built without feature `loggers`");
    }
    Vec::new()
}

/// What the backends have of a slot (`ippo_1`) below the directory of an experiment.
///
/// # Errors
/// When a directory cannot be listed.
#[cfg(feature = "loggers")]
pub(crate) fn directories(experiment: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
    let curves = experiment.join(Backend::TensorBoard.name()).join(slot);
    let mut found: Vec<PathBuf> = curves.is_dir().then_some(curves).into_iter().collect();
    found.extend(backends::wandb::Wandb::directories(
        &experiment.join(Backend::Wandb.name()),
        slot,
    )?);
    found.extend(backends::swanlab::Swanlab::directories(
        &experiment.join(Backend::Swanlab.name()),
        slot,
    )?);
    Ok(found)
}

/// None: this program was built without loggers.
#[cfg(not(feature = "loggers"))]
#[expect(clippy::unnecessary_wraps, reason = "with loggers it can fail")]
pub(crate) fn directories(_experiment: &Path, _slot: &str) -> io::Result<Vec<PathBuf>> {
    Ok(Vec::new())
}
