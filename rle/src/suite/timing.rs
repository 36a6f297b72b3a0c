//! What the runner writes into the timing files: the run itself, its stages, what the trainer
//! recorded by hand. A timing file that cannot be written never fails a run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::context::RecordedTiming;
use crate::profile::StageTotal;
use crate::timings::{self, RunEntry};
use crate::value::Value;

/// Adds one run to `<export_dir>/<slug>/timings.json`.
pub(crate) fn save_run(
    algorithm_dir: &Path,
    slug: &str,
    run_idx: u32,
    seconds: f64,
    stages: &[StageTotal],
    recorded: &[RecordedTiming],
) {
    let key = Key { run_idx: Some(run_idx), label: None };
    save(algorithm_dir, &format!("{slug}_run"), &key, seconds, stages, recorded);
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
    save(home, &format!("{function}_prepare"), &key, seconds, stages, recorded);
}

struct Key {
    run_idx: Option<u32>,
    label: Option<String>,
}

impl Key {
    fn entry(&self, seconds: f64) -> RunEntry {
        RunEntry {
            hardware_id: timings::unknown_hardware_id(),
            seconds,
            run_idx: self.run_idx,
            label: self.label.clone(),
            extra: BTreeMap::new(),
        }
    }
}

fn save(
    directory: &Path,
    total_stage: &str,
    key: &Key,
    seconds: f64,
    stages: &[StageTotal],
    recorded: &[RecordedTiming],
) {
    let mut entries = vec![(total_stage.to_owned(), key.entry(seconds))];
    for stage in stages {
        let mut entry = key.entry(stage.seconds);
        entry.extra.insert("calls".to_owned(), Value::from(stage.calls));
        entries.push((stage.stage.to_owned(), entry));
    }
    for timing in recorded {
        let mut entry = key.entry(timing.seconds);
        if let Some(label) = &timing.label {
            entry.label = Some(label.clone());
        }
        entries.push((timing.stage.clone(), entry));
    }
    if let Err(error) = timings::merge_entries(directory, entries) {
        tracing::warn!("timings not saved: {error}");
    }
}
