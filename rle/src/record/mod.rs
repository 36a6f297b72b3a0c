//! Run records: what `<export_dir>/runs/<slug>_<run_idx>.json` holds, written and read.
//!
//! A record is one JSON object, head fields first. Deciding about a slot reads the head alone;
//! metrics and episodes are then checked for syntax only.

pub(crate) mod archive;
pub(crate) mod decision;
pub(crate) mod identity;
pub(crate) mod provenance;
#[cfg(feature = "cli")]
pub(crate) mod verify;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
use crate::fs::write_json_atomically;
use crate::machine::scheduler::SchedulerJob;
use crate::names::SlotId;
use crate::record::identity::REQUEST_SCHEMA;
use crate::run::artifacts::{self, PathKind};
use crate::run::result::Episode;
use crate::value::Value;

/// The newest record format that this version reads and writes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Fields that a decision does not need.
const BULK_FIELDS: [&str; 2] = ["metrics", "episode_history"];

/// Fields in which the words for non-finite numbers stand for those numbers.
const NUMERIC_FIELDS: [&str; 3] = ["metrics", "episode_history", "summary"];

/// How a slot's record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Finished; the only status that is ever reused.
    Complete,
    /// Ended with an error or a panic.
    Failed,
    /// Stopped on request; it can go on.
    Interrupted,
    /// A process is at it, or was when it died.
    Running,
}

/// The version and value of a request's hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTag {
    /// Version of the rule by which the hash was computed.
    pub schema_version: u32,
    /// SHA-256 in hex.
    pub hash: String,
}

/// The algorithm of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
pub struct RecordedEnvironment {
    /// Its name.
    pub name: String,
    /// Its configuration.
    pub config: Value,
}

/// A required artifact of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRequirement {
    /// The path as declared.
    pub path: String,
    /// SHA-256 of the content, where the algorithm asks for it.
    pub sha256: Option<String>,
}

/// A tracked output of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// One start of a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// `running`, `complete`, `failed`, `interrupted` or `lost`.
    pub outcome: String,
    /// Sequence number of the checkpoint that it went on from.
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
pub struct LogLoss {
    /// The number of points.
    pub points: u64,
    /// The first error of each backend that had one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub problems: BTreeMap<String, String>,
}

/// A deliberate reuse across a named difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
pub struct RecordHead {
    /// Version of the record's format.
    pub schema_version: u32,
    /// How the slot stands.
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

/// A whole record, as analysis code reads it.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// Everything but metrics and episodes.
    pub head: RecordHead,
    /// Metrics by name; non-finite numbers are numbers.
    pub metrics: BTreeMap<String, Value>,
    /// Completed episodes in order.
    pub episode_history: Vec<Episode>,
    export_dir: PathBuf,
}

impl RunRecord {
    /// One metric as a type: `record.metric::<Vec<f64>>("return_mean")`.
    ///
    /// # Errors
    /// When there is none of that name, or it does not fit the type.
    pub fn metric<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let value = self.metrics.get(name).ok_or_else(|| {
            let known = self.metrics.keys().map(String::as_str);
            let hint = crate::near_match::hint(name, known);
            Error::usage(format!(
                "{}:{} has no metric `{name}`{hint}",
                self.head.algorithm.slug, self.head.run_idx
            ))
        })?;
        value.to().map_err(|error| Error::Value(error.under_key(name).under_key("metrics")))
    }

    /// Where a tracked output lies now.
    #[must_use]
    pub fn artifact_path(&self, label: &str) -> Option<PathBuf> {
        let tracked = self.head.artifact_paths.get(label)?;
        Some(artifacts::resolve_stored(&self.export_dir, &tracked.path))
    }
}

/// The record files of an export directory that this version reads, ordered by slug and run.
///
/// # Errors
/// When the directory cannot be listed, or a record cannot be read: none is left out in silence.
pub fn load_records(export_dir: impl AsRef<Path>) -> Result<Vec<RunRecord>, Error> {
    let export_dir = export_dir.as_ref();
    let mut records = Vec::new();
    for path in record_paths(export_dir)? {
        records.push(read_record(export_dir, &path)?);
    }
    records.sort_by(|a, b| {
        (&a.head.algorithm.slug, a.head.run_idx).cmp(&(&b.head.algorithm.slug, b.head.run_idx))
    });
    Ok(records)
}

pub(crate) fn runs_dir(export_dir: &Path) -> PathBuf {
    export_dir.join("runs")
}

pub(crate) fn record_path(export_dir: &Path, slot: &SlotId) -> PathBuf {
    runs_dir(export_dir).join(format!("{}.json", slot.file_stem()))
}

pub(crate) fn lock_path(export_dir: &Path, slot: &SlotId) -> PathBuf {
    runs_dir(export_dir).join(format!("{}.lock", slot.file_stem()))
}

/// All `*.json` files directly in `runs/`, sorted; none where there is no such directory.
pub(crate) fn record_paths(export_dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let directory = runs_dir(export_dir);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("list", &directory, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io("list", &directory, error))?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// What stands at a slot's record path.
#[derive(Debug)]
pub(crate) enum RecordState {
    Missing,
    /// Not a record of this slot; `--rerun` may move it aside.
    Unusable(String),
    /// Written by a newer version: never touched.
    Newer(u64),
    Head(Box<RecordHead>),
}

/// Reads the head of a slot's record.
pub(crate) fn read_state(export_dir: &Path, slot: &SlotId) -> Result<RecordState, Error> {
    let path = record_path(export_dir, slot);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(RecordState::Missing),
        Err(error) => return Err(Error::io("read", &path, error)),
    };
    let head = match parse_head(&bytes) {
        Ok(head) => head,
        Err(Unreadable::Newer(version)) => return Ok(RecordState::Newer(version)),
        Err(Unreadable::Broken(problem)) => return Ok(RecordState::Unusable(problem)),
    };
    if head.algorithm.slug != slot.slug().as_str() || head.run_idx != slot.run_idx() {
        return Ok(RecordState::Unusable(format!(
            "belongs to slot {}:{}, not to {slot}",
            head.algorithm.slug, head.run_idx
        )));
    }
    if head.request.schema_version > REQUEST_SCHEMA {
        return Ok(RecordState::Newer(u64::from(head.request.schema_version)));
    }
    Ok(RecordState::Head(Box::new(head)))
}

/// The head of any record file, whatever slot it belongs to; none where it cannot be read.
pub(crate) fn read_head(path: &Path) -> Option<RecordHead> {
    parse_head(&fs::read(path).ok()?).ok()
}

enum Unreadable {
    Newer(u64),
    Broken(String),
}

fn parse_head(bytes: &[u8]) -> Result<RecordHead, Unreadable> {
    let fields = parse_fields(bytes, false)?;
    from_fields(fields)
}

fn from_fields<T: serde::de::DeserializeOwned>(
    mut fields: BTreeMap<String, Value>,
) -> Result<T, Unreadable> {
    for field in NUMERIC_FIELDS {
        if let Some(value) = fields.get_mut(field) {
            value.restore_non_finite();
        }
    }
    Value::Object(fields).to().map_err(|error| Unreadable::Broken(format!("is no record: {error}")))
}

fn parse_fields(bytes: &[u8], bulk: bool) -> Result<BTreeMap<String, Value>, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Broken("is empty".to_owned()));
    }
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let fields = parser
        .deserialize_map(FieldsVisitor { bulk })
        .and_then(|fields| parser.end().map(|()| fields))
        .map_err(|error| Unreadable::Broken(format!("is not a whole JSON object: {error}")))?;
    match fields.get("schema_version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(SCHEMA_VERSION) => Err(Unreadable::Newer(version)),
        Some(_) => Ok(fields),
        None => Err(Unreadable::Broken("is no record: it has no schema_version".to_owned())),
    }
}

/// Reads an object's fields; bulk fields only when asked to.
struct FieldsVisitor {
    bulk: bool,
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = BTreeMap<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record, which is a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if !self.bulk && BULK_FIELDS.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
            } else {
                let value = map.next_value::<Value>()?;
                fields.insert(key, value);
            }
        }
        Ok(fields)
    }
}

/// A record in the form in which it is written back.
pub(crate) struct WholeRecord {
    pub(crate) head: RecordHead,
    pub(crate) metrics: BTreeMap<String, Value>,
    pub(crate) episodes: Vec<Value>,
}

#[derive(Deserialize)]
struct Bulk {
    metrics: BTreeMap<String, Value>,
    episode_history: Vec<Value>,
}

/// Reads a record file whole.
pub(crate) fn read_whole(path: &Path) -> Result<WholeRecord, Error> {
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
    let explain = |unreadable| match unreadable {
        Unreadable::Newer(version) => Error::file(path, newer_problem(version)),
        Unreadable::Broken(problem) => Error::file(path, problem),
    };
    let mut fields = parse_fields(&bytes, true).map_err(explain)?;
    let mut bulk = BTreeMap::new();
    for field in BULK_FIELDS {
        if let Some(value) = fields.remove(field) {
            bulk.insert(field.to_owned(), value);
        }
    }
    let head = from_fields(fields).map_err(explain)?;
    let Bulk { metrics, episode_history } = from_fields(bulk).map_err(explain)?;
    Ok(WholeRecord { head, metrics, episodes: episode_history })
}

fn read_record(export_dir: &Path, path: &Path) -> Result<RunRecord, Error> {
    let WholeRecord { head, metrics, episodes } = read_whole(path)?;
    let episode_history = Value::Array(episodes)
        .to()
        .map_err(|error| Error::file(path, error.under_key("episode_history").to_string()))?;
    Ok(RunRecord { head, metrics, episode_history, export_dir: export_dir.to_owned() })
}

pub(crate) fn newer_problem(version: u64) -> String {
    format!(
        "was written by a newer version of this program (record schema {version}, this one reads \
         up to {SCHEMA_VERSION}); use that version, or another --export-dir"
    )
}

/// Writes a slot's record, whole or not at all.
pub(crate) fn write_record(
    path: &Path,
    head: &RecordHead,
    metrics: &BTreeMap<String, Value>,
    episodes: &[Value],
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        head: &'a RecordHead,
        metrics: &'a BTreeMap<String, Value>,
        episode_history: &'a [Value],
    }
    write_json_atomically(path, &Document { head, metrics, episode_history: episodes })
}

#[cfg(test)]
pub(crate) mod sample;
