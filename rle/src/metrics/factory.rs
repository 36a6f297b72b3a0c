//! Chooses the backends: their loggers for a run, and their directories of a slot.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "loggers")]
use super::backends::{self, Swanlab, TensorBoard, Wandb};
use super::logger::MetricLogger;
#[cfg(feature = "loggers")]
use super::run::{Backend, LogMode};
use super::run::{LogOptions, LoggedRun};

/// The loggers of the backends that the options name.
#[cfg(feature = "loggers")]
pub(super) fn loggers(options: &LogOptions, run: &LoggedRun) -> Vec<Box<dyn MetricLogger>> {
    let mut loggers: Vec<Box<dyn MetricLogger>> = Vec::new();
    for backend in &options.backends {
        let disabled = options.mode == LogMode::Disabled;
        match backend {
            Backend::TensorBoard => loggers.push(Box::new(TensorBoard::new(options, run))),
            Backend::Wandb | Backend::Swanlab if disabled => {}
            Backend::Wandb => loggers.push(Box::new(Wandb::new(options, run))),
            Backend::Swanlab => loggers.push(Box::new(Swanlab::new(options, run))),
        }
    }
    loggers
}

/// No loggers: this program was built without them.
#[cfg(not(feature = "loggers"))]
pub(super) fn loggers(options: &LogOptions, _run: &LoggedRun) -> Vec<Box<dyn MetricLogger>> {
    if !options.backends.is_empty() {
        tracing::warn!("metrics are not logged: this program is built without feature `loggers`");
    }
    Vec::new()
}

/// The directories that the backends have of a slot (`ippo_1`) below that of an experiment.
///
/// # Errors
/// When a directory cannot be listed.
#[cfg(feature = "loggers")]
pub(crate) fn directories(experiment: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
    let curves = experiment.join(Backend::TensorBoard.name()).join(slot);
    let mut found: Vec<PathBuf> = curves.is_dir().then_some(curves).into_iter().collect();
    found.extend(backends::wandb::directories(experiment, slot)?);
    found.extend(backends::swanlab::directories(experiment, slot)?);
    Ok(found)
}

/// None: this program was built without loggers.
#[cfg(not(feature = "loggers"))]
#[expect(clippy::unnecessary_wraps, reason = "with loggers it can fail")]
pub(crate) fn directories(_experiment: &Path, _slot: &str) -> io::Result<Vec<PathBuf>> {
    Ok(Vec::new())
}
