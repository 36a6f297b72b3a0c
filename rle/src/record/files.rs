//! Where the records of an export directory are; reads them, the head alone for decisions or
//! everything for analysis, and writes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::format::{REQUEST_SCHEMA, RecordHead, SCHEMA_VERSION};
use crate::fs::write_json_atomically;
use crate::run::{Episode, artifacts};
use crate::value::Value;
use crate::{Error, SlotId};

/// Fields that a decision does not need.
const BULK_FIELDS: [&str; 2] = ["metrics", "episode_history"];

/// Fields in which the words for non-finite numbers stand for those numbers.
const NUMERIC_FIELDS: [&str; 3] = ["metrics", "episode_history", "summary"];

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
    let is_record = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json") && path.is_file()
    };
    let mut paths = artifacts::list_directory(&runs_dir(export_dir))?;
    paths.retain(is_record);
    paths.sort();
    Ok(paths)
}

/// A whole record, as analysis code reads it.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
    pub fn metric<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let value = self.metrics.get(name).ok_or_else(|| {
            let known = self.metrics.keys().map(String::as_str);
            let hint = crate::near_match::hint(name, known);
            Error::usage(format!("{} has no metric `{name}`{hint}", self.head.slot()))
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
        let WholeRecord { head, metrics, episodes } = read_whole(&path)?;
        let episode_history = Value::Array(episodes)
            .to()
            .map_err(|error| Error::file(path, error.under_key("episode_history").to_string()))?;
        records.push(RunRecord {
            head,
            metrics,
            episode_history,
            export_dir: export_dir.to_owned(),
        });
    }
    records
        .sort_by_cached_key(|RunRecord { head, .. }| (head.algorithm.slug.clone(), head.run_idx));
    Ok(records)
}

/// What was found at a slot's record path.
#[derive(Debug)]
pub(crate) enum RecordState {
    Missing,
    /// Not a record of this slot; `--rerun` may move it aside.
    Unusable(String),
    Head(Box<RecordHead>),
}

/// Reads the head of a slot's record. One that a newer version wrote is an error.
pub(crate) fn read_state(export_dir: &Path, slot: &SlotId) -> Result<RecordState, Error> {
    let path = record_path(export_dir, slot);
    let Some(bytes) = Error::unless_missing("read", &path, fs::read(&path))? else {
        return Ok(RecordState::Missing);
    };
    let head = match parse_head(&path, &bytes) {
        Ok(head) => head,
        Err(Error::File { problem, .. }) => return Ok(RecordState::Unusable(problem)),
        Err(error) => return Err(error),
    };
    let owner = head.slot();
    if owner != slot.to_string() {
        return Ok(RecordState::Unusable(format!("belongs to slot {owner}, not to {slot}")));
    }
    if head.request.schema_version > REQUEST_SCHEMA {
        return Err(newer(&path, u64::from(head.request.schema_version)));
    }
    Ok(RecordState::Head(Box::new(head)))
}

/// The head of any record file, whatever slot it belongs to; none where it cannot be read.
pub(crate) fn read_head(path: &Path) -> Option<RecordHead> {
    parse_head(path, &fs::read(path).ok()?).ok()
}

fn parse_head(path: &Path, bytes: &[u8]) -> Result<RecordHead, Error> {
    typed(path, &parse(path, bytes, false)?)
}

fn typed<T: DeserializeOwned>(path: &Path, record: &Value) -> Result<T, Error> {
    record.to().map_err(|error| Error::file(path, format!("is no record: {error}")))
}

fn parse(path: &Path, bytes: &[u8], bulk: bool) -> Result<Value, Error> {
    if bytes.is_empty() {
        return Err(Error::file(path, "is empty"));
    }
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let mut fields = parser
        .deserialize_map(FieldsVisitor { bulk })
        .and_then(|fields| parser.end().map(|()| fields))
        .map_err(|error| Error::file(path, format!("is not a whole JSON object: {error}")))?;
    match fields.get("schema_version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(SCHEMA_VERSION) => return Err(newer(path, version)),
        Some(_) => {}
        None => return Err(Error::file(path, "is no record: it has no schema_version")),
    }
    for field in NUMERIC_FIELDS {
        if let Some(value) = fields.get_mut(field) {
            value.restore_non_finite();
        }
    }
    Ok(Value::Object(fields))
}

/// A record as it is on disk.
#[derive(Serialize)]
pub(crate) struct WholeRecord {
    #[serde(flatten)]
    pub(crate) head: RecordHead,
    pub(crate) metrics: BTreeMap<String, Value>,
    #[serde(rename = "episode_history")]
    pub(crate) episodes: Vec<Value>,
}

impl WholeRecord {
    /// The record of a run without a result.
    pub(crate) fn without_result(head: RecordHead) -> Self {
        Self { head, metrics: BTreeMap::new(), episodes: Vec::new() }
    }

    /// Writes the record, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        write_json_atomically(path, self)
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

#[derive(Deserialize)]
struct Bulk {
    metrics: BTreeMap<String, Value>,
    episode_history: Vec<Value>,
}

pub(crate) fn read_whole(path: &Path) -> Result<WholeRecord, Error> {
    let bytes = fs::read(path).map_err(Error::cannot("read", path))?;
    let record = parse(path, &bytes, true)?;
    let head = typed(path, &record)?;
    let Bulk { metrics, episode_history } = typed(path, &record)?;
    Ok(WholeRecord { head, metrics, episodes: episode_history })
}

fn newer(path: &Path, version: u64) -> Error {
    Error::newer(path, "record", version, SCHEMA_VERSION)
}
