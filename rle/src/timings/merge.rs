//! Entries that come to those of a file.

use std::collections::HashMap;

use super::entry::RunEntry;
use super::hardware::Renamed;
use super::stages::{Stage, Stages};

/// What makes two entries of a stage the same.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// Run index and label.
    Run(u32, Option<String>),
    /// The label alone, where there is no run index.
    Label(String),
    /// Everything, where there is neither: the canonical text.
    Content(String),
}

impl Key {
    fn of(entry: &RunEntry) -> Self {
        match (entry.run_idx(), entry.label()) {
            (Some(run_idx), label) => Self::Run(run_idx, label.map(str::to_owned)),
            (None, Some(label)) => Self::Label(label.to_owned()),
            // No entry holds a NaN, which alone has no canonical text.
            (None, None) => Self::Content(entry.value().canonical_json().unwrap_or_default()),
        }
    }
}

/// The stages with the ids that their hardware has in the file.
pub(super) fn renamed_stages(stages: &Stages, renamed: &Renamed) -> Stages {
    let mut stages = stages.clone();
    if !renamed.is_empty() {
        for stage in stages.values_mut() {
            for run in stage.runs_mut() {
                run.rename_hardware(renamed);
            }
        }
    }
    stages
}

/// Merges `incoming` into `stages`: an entry that is there already is replaced in its place, a
/// further one is appended.
pub(super) fn merge(stages: &mut Stages, incoming: Stages) {
    for (name, stage) in incoming {
        merge_stage(stages.entry(name).or_default(), stage);
    }
}

fn merge_stage(known: &mut Stage, incoming: Stage) {
    known.take_extra(&incoming);
    merge_runs(known.runs_mut(), incoming.into_runs());
}

/// One pass over the entries that are there, one over those that come.
fn merge_runs(runs: &mut Vec<RunEntry>, incoming: Vec<RunEntry>) {
    let mut latest: Vec<Option<RunEntry>> = Vec::with_capacity(incoming.len());
    let mut places = HashMap::with_capacity(incoming.len());
    for entry in incoming {
        let next = latest.len();
        match places.entry(Key::of(&entry)) {
            std::collections::hash_map::Entry::Occupied(place) => {
                latest[*place.get()] = Some(entry);
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(next);
                latest.push(Some(entry));
            }
        }
    }
    let by_content = places.keys().any(|key| matches!(key, Key::Content(_)));
    runs.retain_mut(|run| {
        let has_name = run.run_idx().is_some() || run.label().is_some();
        if !has_name && !by_content {
            return true;
        }
        let Some(place) = places.get(&Key::of(run)) else { return true };
        // A second entry of that name is no more than a leftover of the first.
        match latest[*place].take() {
            Some(entry) => {
                *run = entry;
                true
            }
            None => false,
        }
    });
    runs.extend(latest.into_iter().flatten());
}
