//! What a record file holds: plain data, as it is on disk.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::machine::scheduler::SchedulerJob;
use crate::run::PathKind;
use crate::value::Value;

/// The newest record format that this version reads and writes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The rule by which this version computes the hash of a request.
pub(crate) const REQUEST_SCHEMA: u32 = 1;

/// The state of a slot's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// Finished; the only status that is ever reused.
    Complete,
    /// Ended with an error or a panic.
    Failed,
    /// Stopped on request; it can go on.
    Interrupted,
    /// A process computes it, or did so when it died.
    Running,
}

/// The version and value of a request's hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestTag {
    /// Version of the rule by which the hash was computed.
    pub schema_version: u32,
    /// SHA-256 in hex.
    pub hash: String,
}

/// The algorithm of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedAlgorithm {
    /// Display label.
    pub name: String,
    /// Slug.
    pub slug: String,
    /// Resolved configuration, defaults filled in.
    pub config: Value,
}

/// The environment of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedEnvironment {
    /// Its name.
    pub name: String,
    /// Its configuration.
    pub config: Value,
}

/// A required artifact of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedRequirement {
    /// The path as declared.
    pub path: String,
    /// SHA-256 of the content, where the algorithm asks for it.
    pub sha256: Option<String>,
}

/// A tracked output of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrackedPath {
    /// Relative to the export directory, or absolute.
    pub path: String,
    /// File or directory.
    pub kind: PathKind,
    /// Size in bytes, of all files together.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

/// How one start of a slot ended.
///
/// ```
/// use rle::AttemptOutcome;
///
/// assert_eq!(AttemptOutcome::Lost.to_string(), "lost");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It still runs, or its process died and no later start has noticed that.
    Running,
    /// It finished.
    Complete,
    /// It ended with an error or a panic.
    Failed,
    /// It was stopped on request.
    Interrupted,
    /// Its process died.
    Lost,
    /// A word that only a newer version knows.
    #[serde(untagged)]
    Other(String),
}

impl From<RunStatus> for AttemptOutcome {
    fn from(status: RunStatus) -> Self {
        match status {
            RunStatus::Complete => Self::Complete,
            RunStatus::Failed => Self::Failed,
            RunStatus::Interrupted => Self::Interrupted,
            RunStatus::Running => Self::Running,
        }
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// One start of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// Name of the machine.
    pub host: String,
    /// Process id there.
    pub pid: u32,
    /// The scheduler's job in short, where there is one: `slurm 123_4`, `pbs 17.server`.
    pub job: Option<String>,
    /// The same with all that the scheduler says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerJob>,
    /// The identity of the hardware that it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_id: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; none while it runs and when the process was killed.
    pub finished_at: Option<String>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Sequence number of the checkpoint that it resumed from.
    pub resumed_from: Option<u64>,
    /// Its own run time in seconds; none where it was killed.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// What of its metrics the loggers could not keep, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<LogLoss>,
}

/// Metrics that were logged and are not in every file that should hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLoss {
    /// The number of points.
    pub points: u64,
    /// The first error of each backend that had one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub problems: BTreeMap<String, String>,
}

/// A deliberate reuse across a named difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accepted {
    /// The path given with `--accept`.
    pub path: String,
    /// The fields that differed.
    pub differences: Vec<String>,
    /// Hash of the request that the record answers from then on too.
    pub request_hash: String,
    /// RFC 3339, UTC.
    pub accepted_at: String,
}

/// Everything of a record but its metrics and episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordHead {
    /// Version of the record's format.
    pub schema_version: u32,
    /// The state of the slot.
    pub status: RunStatus,
    /// Identity of the request.
    pub request: RequestTag,
    /// The algorithm.
    pub algorithm: RecordedAlgorithm,
    /// Zero-based run index.
    pub run_idx: u32,
    /// Learner seed.
    pub seed: u64,
    /// All named seeds.
    pub seeds: BTreeMap<String, u64>,
    /// The environment.
    pub environment: RecordedEnvironment,
    /// Shared configuration without what only selects or resumes.
    pub common_config: Value,
    /// The code and the tools that computed it.
    pub provenance: Value,
    /// Required artifacts by label.
    pub required_artifacts: BTreeMap<String, RecordedRequirement>,
    /// Tracked outputs by label.
    pub artifact_paths: BTreeMap<String, TrackedPath>,
    /// The identity of the hardware of the last attempt: `<slug>/timings_hardware.json` has the
    /// description under it.
    pub hardware_id: Option<String>,
    /// RFC 3339, UTC, of the last attempt.
    pub started_at: String,
    /// RFC 3339, UTC; none while it runs.
    pub finished_at: Option<String>,
    /// Duration of the run in seconds, by a monotonic clock, over all attempts that led to it.
    pub seconds: Option<f64>,
    /// Every start of the slot for this request.
    pub attempts: Vec<Attempt>,
    /// Differences to a later request across which the record was deliberately reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Derived figures and what the algorithm added.
    pub summary: BTreeMap<String, Value>,
    /// Metadata about outputs.
    pub artifacts: BTreeMap<String, Value>,
    /// Description of the last checkpoint.
    pub checkpoint: Option<Value>,
    /// The directory of the logged metrics, with one for each backend below it: relative to the
    /// export directory, or absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<String>,
}

impl RecordHead {
    /// Its slot in words: `ippo:1`.
    pub(crate) fn slot(&self) -> String {
        format!("{}:{}", self.algorithm.slug, self.run_idx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_of_a_newer_version_is_kept_as_it_was_written() {
        let words = ["running", "complete", "failed", "interrupted", "lost", "evicted"];
        for word in words {
            let json = format!("\"{word}\"");
            let outcome: AttemptOutcome = serde_json::from_str(&json).expect("a word is read");
            assert_eq!(outcome.to_string(), word);
            assert_eq!(serde_json::to_string(&outcome).expect("a word is written"), json);
            assert_eq!(matches!(outcome, AttemptOutcome::Other(_)), word == "evicted");
        }
    }
}
