//! What the runner writes into the timing files: the run itself, its stages, what the trainer
//! recorded by hand. A timing file that cannot be written never fails a run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::SlotId;
use crate::machine::hardware::Hardware;
use crate::profile::StageTotal;
use crate::run::checkpoint::add_totals;
use crate::run::{RecordedTiming, StageSum};
use crate::timings::{self, NewEntry};
use crate::value::Value;

/// The time of one attempt that led to a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) attempt: u32,
    /// None in older records.
    pub(crate) hardware_id: Option<String>,
    pub(crate) seconds: f64,
}

pub(crate) fn total_seconds(segments: &[Segment]) -> f64 {
    segments.iter().map(|segment| segment.seconds).sum()
}

pub(crate) struct Run<'a> {
    pub(crate) algorithm_dir: &'a Path,
    pub(crate) slot: &'a SlotId,
    /// Time of the last attempt.
    pub(crate) seconds: f64,
    /// The attempts before it.
    pub(crate) segments: &'a [Segment],
    pub(crate) attempt: u32,
    pub(crate) stages: &'a [StageTotal],
    /// Stage times of the attempts before it.
    pub(crate) stages_before: &'a BTreeMap<String, StageSum>,
    pub(crate) recorded: &'a [RecordedTiming],
}

/// Adds one run to `<export_dir>/<slug>/timings.json`.
pub(crate) fn save_run(run: &Run<'_>) {
    let key = Key { run_idx: Some(run.slot.run_idx()), label: None };
    let last = Segment {
        attempt: run.attempt,
        hardware_id: Some(timings::hardware_id().to_owned()),
        seconds: run.seconds,
    };
    let segments: Vec<Segment> = run.segments.iter().cloned().chain([last]).collect();
    let mut total = key.entry(total_seconds(&segments));
    if segments.len() > 1 {
        let segments = segments.iter().map(|segment| {
            let unknown = || Hardware::default().id();
            let hardware_id = segment.hardware_id.clone().unwrap_or_else(unknown);
            Value::from_iter([
                ("attempt", Value::from(segment.attempt)),
                ("hardware_id", Value::from(hardware_id)),
                ("seconds", Value::from(segment.seconds)),
            ])
        });
        total.extra.insert("segments".to_owned(), Value::Array(segments.collect()));
    }
    let mut stages = run.stages_before.clone();
    add_totals(&mut stages, run.stages);
    let name = format!("{}_run", run.slot.slug());
    save(run.algorithm_dir, (name, total), &key, &stages, run.recorded);
}

/// Writes the description of this process's hardware beside an algorithm's times. Before a run: one
/// that resumes after a kill refers to it.
pub(crate) fn describe_hardware(algorithm_dir: &Path) {
    if let Err(error) = timings::describe_hardware(algorithm_dir) {
        tracing::warn!("the hardware's description is not saved: {error}");
    }
}

/// Adds one prepare to `_prepared/<function>/timings.json`, labelled by its request.
pub(crate) fn save_prepare(
    home: &Path,
    function: &str,
    request: &str,
    seconds: f64,
    stages: &[StageTotal],
    recorded: &[RecordedTiming],
) {
    let key = Key { run_idx: None, label: Some(request.to_owned()) };
    let mut sums = BTreeMap::new();
    add_totals(&mut sums, stages);
    save(home, (format!("{function}_prepare"), key.entry(seconds)), &key, &sums, recorded);
}

struct Key {
    run_idx: Option<u32>,
    label: Option<String>,
}

impl Key {
    fn entry(&self, seconds: f64) -> NewEntry {
        NewEntry {
            hardware_id: timings::hardware_id().to_owned(),
            seconds,
            run_idx: self.run_idx,
            label: self.label.clone(),
            extra: BTreeMap::new(),
        }
    }
}

fn save(
    directory: &Path,
    total: (String, NewEntry),
    key: &Key,
    stages: &BTreeMap<String, StageSum>,
    recorded: &[RecordedTiming],
) {
    let mut entries = vec![total];
    for (name, sum) in stages {
        let mut entry = key.entry(sum.seconds);
        entry.extra.insert("calls".to_owned(), Value::from(sum.calls));
        entries.push((name.clone(), entry));
    }
    // Durations of one stage and label add up, as calls of one stage do.
    let mut by_hand: BTreeMap<(&str, Option<&str>), f64> = BTreeMap::new();
    for timing in recorded {
        *by_hand.entry((&timing.stage, timing.label.as_deref())).or_default() += timing.seconds;
    }
    for ((stage, label), seconds) in by_hand {
        let mut entry = key.entry(seconds);
        if let Some(label) = label {
            entry.label = Some(label.to_owned());
        }
        entries.push((stage.to_owned(), entry));
    }
    if let Err(error) = timings::merge_entries(directory, entries) {
        tracing::warn!("timings not saved: {error}");
    }
}
