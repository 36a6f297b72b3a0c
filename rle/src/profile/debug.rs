//! What `RLE_DEBUG` turns on, and where single calls go: to the log, and to the metrics.

use std::sync::{LazyLock, OnceLock};

use super::clock;

/// The target of this module's lines in log filters.
pub(super) const TARGET: &str = "rle::profile";

static IS_ON: LazyLock<bool> = LazyLock::new(|| {
    std::env::var_os("RLE_DEBUG").is_some_and(|value| asks_for_more(&value.to_string_lossy()))
});

static METRIC_SINK: OnceLock<MetricSink> = OnceLock::new();

/// Takes the time of single calls; see [`set_metric_sink`].
pub type MetricSink = fn(name: &str, seconds: f64);

/// Whether `RLE_DEBUG` asks for more: it is set, and neither empty nor `0`.
///
/// Asked once in a process. What is neither `0` nor `1` is a warning, and counts as set.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    *IS_ON
}

fn asks_for_more(value: &str) -> bool {
    match value.trim() {
        "" | "0" => false,
        "1" => true,
        other => {
            tracing::warn!("RLE_DEBUG is `{}`, expected 0 or 1; 1 is used", other.escape_debug());
            true
        }
    }
}

/// Hands the time of each call of a `metric` stage to `sink`, as `time_profile/<stage>` and
/// seconds, on the thread that ends the call. The first sink stays; whether this one is it. The
/// first run of a suite is one: it [logs](crate::RunContext::log) them.
///
/// A sink must be quick, and must not panic: it may run while a panic unwinds.
pub fn set_metric_sink(sink: MetricSink) -> bool {
    METRIC_SINK.set(sink).is_ok()
}

/// Logs a call that counted, and hands it to the sink.
pub(super) fn note(title: &str, is_metric: bool, ticks: u64) {
    let seconds = clock::seconds(ticks, clock::recent_seconds_per_tick());
    if is_on() {
        tracing::info!(target: TARGET, "{title}: {seconds:.4}s");
    }
    if let (true, Some(sink)) = (is_metric, METRIC_SINK.get()) {
        sink(title, seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_nothing_ask_for_no_more() {
        assert_eq!(
            ["", " ", "0", "1", " 1 ", "yes"].map(asks_for_more),
            [false, false, false, true, true, true]
        );
    }
}
