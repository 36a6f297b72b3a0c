//! What timing files hold: how long each algorithm's runs took, apart by the hardware they ran on, and
//! stages that nobody has declared, since a misspelt name splits a series in two.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use super::comparable::{Classes, TimeHardware, TimeWarning, warnings};
use super::files::{Place, Scope, own_stage};
use super::label::Labels;
use super::walk::{FileProblem, serialize_path};
use crate::timings::{RunEntry, Stage, Summary, Timings};
use crate::{Error, near_match};

#[derive(Clone, Debug)]
pub(crate) struct TimesRequest {
    pub(crate) scope: Scope,
    /// Only so many runs of each algorithm, those of the highest indices.
    pub(crate) latest_runs: Option<usize>,
    /// Stages beside the whole run, too.
    pub(crate) other_stages: bool,
    /// One mean over different hardware.
    pub(crate) pool: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Times {
    pub(crate) algorithms: Vec<AlgorithmTimes>,
    pub(crate) warnings: Vec<TimeWarning>,
    pub(crate) faults: Vec<FileProblem>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct AlgorithmTimes {
    pub(crate) group: String,
    pub(crate) algorithm: String,
    pub(crate) label: String,
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    /// The whole run first.
    pub(crate) stages: Vec<StageTimes>,
    /// Names of stages that the file has and that were not asked for.
    pub(crate) other_stages: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct StageTimes {
    pub(crate) stage: String,
    /// Entries that count together; several where their hardware differs.
    pub(crate) sets: Vec<TimeSet>,
}

/// Entries that count together.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TimeSet {
    pub(crate) n: usize,
    pub(crate) mean_seconds: f64,
    /// Twice the sample standard deviation, with n - 1; none of a single entry.
    pub(crate) two_sd_seconds: Option<f64>,
    pub(crate) min_seconds: f64,
    pub(crate) max_seconds: f64,
    /// This stage's part of the time of the same whole runs.
    pub(crate) share: Option<f64>,
    pub(crate) entries: Vec<TimeEntry>,
    /// Each hardware once; several of entries that were pooled, and of one whose attempts differ.
    pub(crate) hardware: Vec<TimeHardware>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TimeEntry {
    pub(crate) run_idx: Option<u32>,
    pub(crate) label: Option<String>,
    pub(crate) seconds: f64,
}

/// The times of all algorithms that are asked for, and what could not be read.
pub(crate) fn algorithm_times(request: &TimesRequest) -> Result<Times, Error> {
    let mut times = Times::default();
    let mut labels: BTreeMap<String, Labels> = BTreeMap::new();
    times.faults = request.scope.read_timings(false, |place, file, timings| {
        let Some(slug) = place.owner.slug() else { return };
        let group_labels = labels
            .entry(place.group.clone())
            .or_insert_with(|| Labels::of_group(&request.scope.root.join(&place.group)));
        let mut algorithm = AlgorithmTimes {
            group: place.group.clone(),
            algorithm: slug.to_owned(),
            label: group_labels.label(slug),
            file,
            stages: Vec::new(),
            other_stages: Vec::new(),
        };
        times.warnings.extend(add_stages(&mut algorithm, timings, place, request));
        times.algorithms.push(algorithm);
    })?;
    Ok(times)
}

/// Adds the stages of a file to its algorithm, and says what is not to be compared: each text once,
/// with all stages that it is about.
fn add_stages(
    algorithm: &mut AlgorithmTimes,
    timings: &Timings,
    place: &Place,
    request: &TimesRequest,
) -> Vec<TimeWarning> {
    let own = own_stage(&place.owner).unwrap_or_default();
    let latest = request.latest_runs.map(|count| latest(timings, &own, count));
    let wanted = |entry: &&RunEntry| match (&latest, entry.run_idx()) {
        (Some(latest), Some(run_idx)) => latest.contains(&run_idx),
        _ => true,
    };
    let classes = Classes::of(timings);
    let runs: Vec<&RunEntry> =
        timings.stage(&own).into_iter().flat_map(Stage::runs).filter(wanted).collect();
    let whole = seconds_by_run(&runs);
    let mut found: Vec<TimeWarning> = Vec::new();
    let others = timings.stages().filter(|(name, _)| *name != own);
    let stages = timings.stages().filter(|(name, _)| *name == own).chain(others);
    for (name, stage) in stages {
        if name != own && !request.other_stages {
            algorithm.other_stages.push(name.to_owned());
            continue;
        }
        let mut entries: Vec<&RunEntry> = stage.runs().iter().filter(wanted).collect();
        entries.sort_by_key(|entry| entry.run_idx().map_or(u64::MAX, u64::from));
        let sets = classes.sets(&entries);
        for text in warnings(&classes, &sets, request.pool) {
            match found.iter_mut().find(|warning| warning.text == text) {
                Some(warning) => warning.stages.push(name.to_owned()),
                None => found.push(TimeWarning {
                    group: algorithm.group.clone(),
                    algorithm: algorithm.algorithm.clone(),
                    stages: vec![name.to_owned()],
                    text,
                }),
            }
        }
        let sets = if request.pool { classes.pooled(sets) } else { sets };
        let set =
            |entries: Vec<&RunEntry>| time_set(&entries, &classes, (name != own).then_some(&whole));
        let sets = sets.into_iter().filter_map(set).collect();
        algorithm.stages.push(StageTimes { stage: name.to_owned(), sets });
    }
    found
}

/// The highest indices of the runs of a file.
fn latest(timings: &Timings, own: &str, count: usize) -> BTreeSet<u32> {
    let indices = |entries: &[RunEntry]| -> BTreeSet<u32> {
        entries.iter().filter_map(RunEntry::run_idx).collect()
    };
    let all = match timings.stage(own) {
        Some(stage) => indices(stage.runs()),
        None => timings.stages().flat_map(|(_, stage)| indices(stage.runs())).collect(),
    };
    all.into_iter().rev().take(count).collect()
}

fn time_set(
    entries: &[&RunEntry],
    classes: &Classes,
    whole: Option<&BTreeMap<u32, f64>>,
) -> Option<TimeSet> {
    let summary = Summary::of(entries.iter().copied())?;
    let shown = |entry: &&RunEntry| TimeEntry {
        run_idx: entry.run_idx(),
        label: entry.label().map(ToOwned::to_owned),
        seconds: entry.seconds(),
    };
    Some(TimeSet {
        n: summary.runs,
        mean_seconds: summary.mean,
        two_sd_seconds: summary.std.map(|std| 2.0 * std),
        min_seconds: summary.min,
        max_seconds: summary.max,
        share: whole.and_then(|whole| share(entries, whole)),
        entries: entries.iter().map(shown).collect(),
        hardware: classes.hardware(entries),
    })
}

/// The part that these entries have of the time of the whole runs that they belong to.
fn share(entries: &[&RunEntry], whole: &BTreeMap<u32, f64>) -> Option<f64> {
    let parts = seconds_by_run(entries);
    let both = parts.iter().filter_map(|(run_idx, part)| Some((part, whole.get(run_idx)?)));
    let (part, all) = both.fold((0.0, 0.0), |(a, b), (part, all)| (a + part, b + all));
    (all > 0.0).then(|| part / all)
}

fn seconds_by_run(entries: &[&RunEntry]) -> BTreeMap<u32, f64> {
    let mut seconds = BTreeMap::new();
    for entry in entries {
        if let Some(run_idx) = entry.run_idx() {
            *seconds.entry(run_idx).or_insert(0.0) += entry.seconds();
        }
    }
    seconds
}

/// A stage that is neither declared nor allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnknownStage {
    pub(crate) group: String,
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) stage: String,
    /// A stage of a similar name that is known.
    pub(crate) near: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckedStages {
    /// The stages that are declared or allowed.
    pub(crate) known: BTreeSet<String>,
    pub(crate) files: usize,
    pub(crate) unknown: Vec<UnknownStage>,
    pub(crate) faults: Vec<FileProblem>,
}

/// The stages of all timing files, those of prepares included, that are neither among the `known`
/// ones nor the runner's own of that file.
pub(crate) fn unknown_stages(
    scope: &Scope,
    known: BTreeSet<String>,
) -> Result<CheckedStages, Error> {
    let (mut files, mut unknown) = (0, Vec::new());
    let faults = scope.read_timings(true, |place, file, timings| {
        files += 1;
        let own = own_stage(&place.owner);
        let names = || known.iter().map(String::as_str).chain(own.as_deref());
        for (stage, _) in timings.stages() {
            if !names().any(|name| name == stage) {
                unknown.push(UnknownStage {
                    group: place.group.clone(),
                    file: file.clone(),
                    stage: stage.to_owned(),
                    near: near_match::nearest(stage, names()).map(ToOwned::to_owned),
                });
            }
        }
    })?;
    Ok(CheckedStages { known, files, unknown, faults })
}
