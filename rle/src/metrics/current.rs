//! The sink of the active run of this process, for code without a context.

use std::sync::atomic::{AtomicBool, Ordering};

use super::number::{LogStep, LogValue};
use super::sink::MetricSink;
use crate::profile;
use crate::sync::RwLock;

static CURRENT: RwLock<Option<MetricSink>> = RwLock::new(None);

/// While it lives, [`log_metric`] and metric stages log to the run's sink.
#[must_use]
pub(crate) struct Current(());

impl Current {
    pub(crate) fn begin(sink: MetricSink) -> Self {
        // A sink that the program itself has set stays.
        let _ = profile::set_metric_sink(log_stage);
        set(Some(sink));
        Self(())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        set(None);
    }
}

fn set(sink: Option<MetricSink>) {
    *CURRENT.write() = sink;
}

fn with_current<T>(use_it: impl FnOnce(&MetricSink) -> T) -> Option<T> {
    CURRENT.read().as_ref().map(use_it)
}

/// Logs a value of the active run, from any thread, as
/// [`RunContext::log`](crate::RunContext::log) does. Outside of a run nothing is logged.
///
/// ```
/// rle::log_metric("train/loss", 0.25, 100);
/// ```
pub fn log_metric(name: impl AsRef<str>, value: impl LogValue, step: impl LogStep) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    let name = name.as_ref();
    let logged = with_current(|sink| sink.log(name, value.as_logged(), step.as_step()));
    if logged.is_none() && !WARNED.swap(true, Ordering::Relaxed) {
        tracing::debug!("metric `{name}` is not logged: no run is active");
    }
}

/// Flushes what is logged so far, for a process that exits without ending its run.
pub(crate) fn flush_current() {
    // The lock is released before the flush, so that the run can end in the meantime.
    let sink = with_current(Clone::clone);
    sink.inspect(|sink| {
        sink.flush();
    });
}

fn log_stage(name: &str, seconds: f64) {
    with_current(|sink| sink.log_at_last_step(name, seconds));
}
