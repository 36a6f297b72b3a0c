//! The summary of a run's stages, per group.

use std::fmt;
use std::time::Instant;

use super::bound::{Bound, bound};
use super::clock;
use super::debug::TARGET;
use super::registry::{self, RowKey};
use super::sums::Totals;
use super::windows::Scope;

/// How often and how long the stages ran, per group, over some period.
///
/// Its text has one line a group and one aligned row a stage:
///
/// ```text
/// ppo:
///     rollout       count=1  total=1.234567s  avg=1.234567s
///     train         count=4  total=0.890123s  avg=0.222531s
/// policies:
///     sync_weights  count=1  total=0.123456s  avg=0.123456s
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Duration of the period, in seconds.
    pub seconds: f64,
    /// Groups with calls, in the order in which the program first came to them.
    pub groups: Vec<GroupSummary>,
}

/// The stages of one group: those of one module, unless `group = ".."` says otherwise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupSummary {
    /// The group's name.
    pub name: &'static str,
    /// Stages with calls, in the order in which the program first came to them.
    pub stages: Vec<StageSummary>,
}

/// One stage in one group.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StageSummary {
    /// The stage's full name.
    pub name: &'static str,
    /// Finished calls; of nested calls on one thread the outermost.
    pub count: u64,
    /// Their time together, in seconds.
    pub total: f64,
    /// The shortest call, in seconds.
    pub minimum: f64,
    /// The longest call, in seconds.
    pub maximum: f64,
}

/// The stages of the run that is active, since it began; outside of a run, those of the process.
///
/// A prepare is a run in this sense. Calls that are still open do not count.
#[must_use]
pub fn summary() -> Summary {
    Summary::take(Scope::Run, false)
}

/// The same since the last [`print_summary`] that reset it.
#[must_use]
pub fn epoch_summary() -> Summary {
    Summary::take(Scope::Epoch, false)
}

/// The stages of the process since its first timed call, runs or not.
#[must_use]
pub fn process_summary() -> Summary {
    Summary::take(Scope::Process, false)
}

/// Logs [`epoch_summary`] at DEBUG, a line a stage, with the shares of the phases and what helps
/// where one bounds the run. With `reset` the next one begins here.
pub fn print_summary(reset: bool) {
    if !reset && !tracing::enabled!(target: TARGET, tracing::Level::DEBUG) {
        return;
    }
    let summary = Summary::take(Scope::Epoch, reset);
    if summary.groups.is_empty() {
        tracing::debug!(target: TARGET, "timing summary: no timed call has ended");
        return;
    }
    tracing::debug!(target: TARGET, "timing summary:");
    for line in summary.to_string().lines() {
        tracing::debug!(target: TARGET, "{line}");
    }
    let bound = summary.bound();
    if !bound.shares.is_empty() {
        for line in bound.to_string().lines() {
            tracing::debug!(target: TARGET, "{line}");
        }
    }
}

impl Summary {
    /// The sums of a scope so far; with `reset` its next epoch begins here.
    fn take(scope: Scope, reset: bool) -> Self {
        let mut registry = registry::lock();
        registry.end_lap();
        let now = Instant::now();
        let Some(span) = registry.windows.of(scope, reset.then_some(now)) else {
            return Self::default();
        };
        let rows = registry.called(&span.rows);
        drop(registry);
        let per_tick = if rows.is_empty() { 0.0 } else { clock::seconds_per_tick() };
        let mut groups: Vec<GroupSummary> = Vec::new();
        for (key, totals) in &rows {
            let stage = StageSummary::new(key, *totals, per_tick);
            match groups.iter_mut().find(|group| group.name == key.group) {
                Some(group) => group.stages.push(stage),
                None => groups.push(GroupSummary { name: key.group, stages: vec![stage] }),
            }
        }
        Self { seconds: (now - span.began).as_secs_f64(), groups }
    }

    /// All stages, with the groups of each added up, in seconds.
    #[must_use]
    pub fn stage_seconds(&self) -> Vec<(&'static str, f64)> {
        let mut stages: Vec<(&'static str, f64)> = Vec::new();
        for stage in self.groups.iter().flat_map(|group| &group.stages) {
            match stages.iter_mut().find(|(name, _)| *name == stage.name) {
                Some((_, seconds)) => *seconds += stage.total,
                None => stages.push((stage.name, stage.total)),
            }
        }
        stages
    }

    /// Which phase bounds the period.
    #[must_use]
    pub fn bound(&self) -> Bound {
        bound(self.stage_seconds(), self.seconds)
    }
}

impl StageSummary {
    fn new(key: &RowKey, totals: Totals, per_tick: f64) -> Self {
        let seconds = |ticks| clock::seconds(ticks, per_tick);
        Self {
            name: key.stage,
            count: totals.calls,
            total: seconds(totals.ticks),
            minimum: seconds(totals.shortest),
            maximum: seconds(totals.longest),
        }
    }

    /// The mean time of a call, in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no program makes 2^53 calls")]
    pub fn average(&self) -> f64 {
        self.total / self.count as f64
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |stage: &StageSummary| {
            [
                stage.name.to_owned(),
                format!("count={}", stage.count),
                format!("total={:.6}s", stage.total),
                format!("avg={:.6}s", stage.average()),
            ]
        };
        let groups: Vec<(&str, Vec<[String; 4]>)> = self
            .groups
            .iter()
            .map(|group| (group.name, group.stages.iter().map(rows).collect()))
            .collect();
        let width = |column: usize| {
            let cells = groups.iter().flat_map(|(_, rows)| rows).map(|row| row[column].len());
            cells.max().unwrap_or_default()
        };
        let widths = [width(0), width(1), width(2)];
        for (at, (name, rows)) in groups.iter().enumerate() {
            if at > 0 {
                writeln!(formatter)?;
            }
            write!(formatter, "{name}:")?;
            for [stage, count, total, average] in rows {
                let [stage_width, count_width, total_width] = widths;
                write!(
                    formatter,
                    "\n    {stage:stage_width$}  {count:count_width$}  {total:total_width$}  {average}"
                )?;
            }
        }
        Ok(())
    }
}
