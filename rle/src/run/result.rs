//! What an algorithm returns: metrics, episodes, outputs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::value::{Value, ValueError};

/// One completed episode: a row of the record's `episode_history`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Episode {
    /// Running number of the episode in this run.
    pub episode: u64,
    /// Which of the parallel environments it was played in.
    pub env_index: u64,
    /// Environment step at which it began.
    pub start_step: u64,
    /// Environment step at which it ended.
    pub t_end: u64,
    /// Its length in environment steps.
    pub ep_len: u64,
    /// Sum of the rewards.
    pub cum_reward: f64,
    /// Sum of the constraint violations.
    pub cum_violations: f64,
    /// Return of each agent by name.
    pub agent_returns: BTreeMap<String, f64>,
    /// Further columns.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// Metrics below this are durations.
pub(crate) const DURATIONS: &str = "time_profile/";

/// The durations of a number, or of an array of numbers.
fn durations(value: &impl Serialize) -> Option<Vec<f64>> {
    let value = Value::from_serialize_lossless(value).ok()?;
    match value.as_array() {
        Some(items) => items.iter().map(Value::as_f64).collect(),
        None => Some(vec![value.as_f64()?]),
    }
}

/// The result of one run, built step by step.
///
/// The builder never fails: a value that has no JSON form, or a label given twice, fails the
/// slot when the algorithm returns, and the message names it.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RunResult {
    pub(crate) metrics: BTreeMap<String, Value>,
    pub(crate) episodes: Vec<Episode>,
    pub(crate) summary: BTreeMap<String, Value>,
    pub(crate) artifacts: BTreeMap<String, Value>,
    pub(crate) artifact_paths: BTreeMap<String, PathBuf>,
    pub(crate) checkpoint: Option<Value>,
    /// Durations given as metrics, in seconds by stage.
    pub(crate) timings: Vec<(String, f64)>,
    pub(crate) faults: Vec<String>,
    /// The run was stopped on request and can go on from its checkpoint.
    pub(crate) interrupted: bool,
}

impl RunResult {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// A metric: a number, a text, a list, a nested list. NaN and infinities are kept.
    ///
    /// A later value of the same name replaces the earlier one. A duration below
    /// `time_profile/`, a number or a list of numbers in seconds, goes to the run's timings and
    /// never into the metrics; anything else there is left out, with a warning in the log.
    pub fn metric(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        if let Some(stage) = name.strip_prefix(DURATIONS) {
            if let Some(seconds) = durations(&value) {
                self.timings.extend(seconds.into_iter().map(|time| (stage.to_owned(), time)));
            } else {
                tracing::warn!(
                    "metric `{name}` left out: a duration is a number of seconds or a list of them"
                );
            }
            return self;
        }
        if let Some(value) = self.convert("metric", &name, &value) {
            self.metrics.insert(name, value);
        }
        self
    }

    /// Appends one row to the episode history.
    pub fn episode(mut self, episode: Episode) -> Self {
        self.episodes.push(episode);
        self
    }

    /// Appends rows to the episode history.
    pub fn episodes(mut self, episodes: impl IntoIterator<Item = Episode>) -> Self {
        self.episodes.extend(episodes);
        self
    }

    /// Adds to the record's summary, over what the runner derives under the same key.
    pub fn summary(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        if let Some(value) = self.convert("summary", &key, &value) {
            self.summary.insert(key, value);
        }
        self
    }

    /// Metadata about outputs that is stored but never checked. It holds no NaN or infinity.
    pub fn artifact(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        let value = Value::from_serialize(&value);
        if let Some(value) = self.accept("artifact", &key, value) {
            self.artifacts.insert(key, value);
        }
        self
    }

    /// Tracks a file or directory: it must exist when the algorithm returns, is hashed, and
    /// must be unchanged for the record to be reused.
    pub fn artifact_path(mut self, label: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let label = label.into();
        if self.artifact_paths.insert(label.clone(), path.into()).is_some() {
            self.faults.push(format!("the tracked output `{label}` is given twice"));
        }
        self
    }

    /// A description of the last checkpoint, stored in the record. It holds no NaN or infinity.
    pub fn checkpoint(mut self, value: impl Serialize) -> Self {
        let value = Value::from_serialize(&value);
        if let Some(value) = self.accept("checkpoint", "", value) {
            self.checkpoint = Some(value);
        }
        self
    }

    /// Adds logged values as metrics, except where the algorithm returned one of that name.
    pub(crate) fn add_logged(&mut self, values: impl IntoIterator<Item = (String, f64)>) {
        for (name, value) in values {
            if !self.metrics.contains_key(&name)
                && let Some(value) = self.convert("metric", &name, &value)
            {
                self.metrics.insert(name, value);
            }
        }
    }

    /// A value that may hold non-finite numbers.
    fn convert(&mut self, kind: &str, key: &str, value: &impl Serialize) -> Option<Value> {
        self.accept(kind, key, Value::from_serialize_lossless(value))
    }

    fn accept(&mut self, kind: &str, key: &str, value: Result<Value, ValueError>) -> Option<Value> {
        value
            .map_err(|error| {
                let name = if key.is_empty() { String::new() } else { format!(" `{key}`") };
                self.faults.push(format!("{kind}{name} cannot be stored: {error}"));
            })
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_timings_and_no_metrics() {
        let result = RunResult::new()
            .metric("time_profile/rollout", 1.5)
            .metric("time_profile/train", [1, 2])
            .metric("time_profile/note", "slow")
            .metric("time_profile/nested", [[1.0]])
            .metric("time_profiles", 1);
        let names: Vec<_> = result.metrics.keys().map(String::as_str).collect();
        assert_eq!(names, ["time_profiles"]);
        let timed = [("rollout", 1.5), ("train", 1.0), ("train", 2.0)];
        assert_eq!(result.timings, timed.map(|(stage, seconds)| (stage.to_owned(), seconds)));
        assert_eq!(result.faults, Vec::<String>::new());
    }

    #[test]
    fn metadata_comes_back_as_it_went_in_or_is_refused() {
        let result = RunResult::new().artifact("note", "NaN").checkpoint("Infinity");
        assert_eq!(result.faults, Vec::<String>::new());
        assert_eq!(result.artifacts["note"].as_str(), Some("NaN"));
        let result = RunResult::new().artifact("loss", f64::NAN).checkpoint(f64::INFINITY);
        assert_eq!(result.faults.len(), 2, "{:?}", result.faults);
        assert!(result.faults[0].contains("`loss`"), "{:?}", result.faults);
    }
}
