//! Merges new entries into those of a file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::entry::{RunEntry, RunKey};
use super::hardware::Renamed;
use super::stages::Stages;

/// What makes two entries of a stage the same: run index and label; without a run index the label;
/// without either all of the entry, as its canonical text.
type Key = (RunKey, Option<String>);

fn key_of(entry: &RunEntry) -> Key {
    let key = entry.key();
    // No entry holds a NaN, which alone has no canonical text.
    let content = || entry.value().canonical_json().unwrap_or_default();
    let content = (key == RunKey::none()).then(content);
    (key, content)
}

/// The stages, with each hardware under the id that it has in the file.
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
        let known = stages.entry(name).or_default();
        known.take_extra(&stage);
        merge_runs(known.runs_mut(), stage.into_runs());
    }
}

/// One pass over the entries that are there, one over those that come.
fn merge_runs(runs: &mut Vec<RunEntry>, incoming: Vec<RunEntry>) {
    let mut latest: Vec<Option<RunEntry>> = Vec::with_capacity(incoming.len());
    let mut places = HashMap::with_capacity(incoming.len());
    for entry in incoming {
        let next = latest.len();
        match places.entry(key_of(&entry)) {
            Entry::Occupied(place) => latest[*place.get()] = Some(entry),
            Entry::Vacant(place) => {
                place.insert(next);
                latest.push(Some(entry));
            }
        }
    }
    let by_content = places.keys().any(|(_, content)| content.is_some());
    runs.retain_mut(|run| {
        let has_name = run.run_idx().is_some() || run.label().is_some();
        if !has_name && !by_content {
            return true;
        }
        let Some(place) = places.get(&key_of(run)) else { return true };
        // A second entry under the same key is removed: the first one has been replaced.
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
