//! The sums of all stages over some period, read at one moment.

use std::time::Instant;

use super::clock;
use super::registry::{self, RowKey};
use super::sums::Totals;
use super::windows::Scope;

/// The rows with calls over some period.
pub(super) struct Snapshot {
    /// Its duration.
    pub(super) seconds: f64,
    /// Seconds per tick.
    pub(super) per_tick: f64,
    pub(super) rows: Vec<(RowKey, Totals)>,
}

impl Snapshot {
    /// The sums of a scope so far; with `reset` its next epoch begins here.
    pub(super) fn take(scope: Scope, reset: bool) -> Self {
        let mut registry = registry::lock();
        registry.end_lap();
        let now = Instant::now();
        let span = registry.windows.of(scope, reset.then_some(now));
        let rows = span.as_ref().map_or(Vec::new(), |span| registry.called(&span.rows));
        drop(registry);
        let seconds = span.map_or(0.0, |span| (now - span.began).as_secs_f64());
        let per_tick = if rows.is_empty() { 0.0 } else { clock::seconds_per_tick() };
        Self { seconds, per_tick, rows }
    }
}
