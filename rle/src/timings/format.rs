//! `timings.json`, read strictly and written back with everything that was in it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::Error;
use crate::value::Value;

/// Memory as earlier versions of this format put it into each run: coarse, and never compared.
const RETIRED_KEYS: [&str; 8] = [
    "ram_gb",
    "ram_gib",
    "total_ram_gb",
    "total_ram_gib",
    "memory_gb",
    "memory_gib",
    "ram_total_gb",
    "ram_total_gib",
];
const OWN_KEYS: [&str; 4] = ["hardware_id", "seconds", "run_idx", "label"];

/// The whole file: each stage by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stages(pub(crate) BTreeMap<String, StageEntry>);

/// One stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StageEntry {
    pub(crate) runs: Vec<RunEntry>,
    /// The sum over the runs.
    pub(crate) total_seconds: f64,
    /// Keys that others have put beside these.
    pub(crate) extra: BTreeMap<String, Value>,
}

/// One measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunEntry {
    pub(crate) hardware_id: String,
    /// Finite, not negative.
    pub(crate) seconds: f64,
    pub(crate) run_idx: Option<u32>,
    pub(crate) label: Option<String>,
    /// Keys beside these, as they came.
    pub(crate) extra: BTreeMap<String, Value>,
}

impl Stages {
    /// Reads `path`; a file that does not exist holds no stages.
    ///
    /// # Errors
    /// Names the file and, where there is one, stage and entry: a file that is empty, half
    /// written or not of this format, a stage without `runs`, a run without `hardware_id`, a
    /// time that is negative or not finite, a retired key.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        parse(&text).map(Self).map_err(|problem| Error::file(path, problem))
    }
}

impl RunEntry {
    /// Checks what a caller made, and says what is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        check_seconds(self.seconds)?;
        check_retired(&self.extra)?;
        match self.extra.keys().find(|key| OWN_KEYS.contains(&key.as_str())) {
            Some(key) => Err(format!("the extra key `{key}` is one of the entry's own")),
            None => Ok(()),
        }
    }
}

/// The top level of a JSON file, or what is wrong with it.
pub(super) fn parse_object(text: &[u8]) -> Result<BTreeMap<String, Value>, String> {
    const WAY_OUT: &str = "put back an earlier copy, or move the file away to start a new one";
    if text.trim_ascii().is_empty() {
        return Err(format!("is empty, which no finished write leaves; {WAY_OUT}"));
    }
    match Value::parse_json(text) {
        Ok(Value::Object(entries)) => Ok(entries),
        Ok(other) => Err(format!("holds {} where a table is expected", other.kind())),
        Err(error) => Err(format!("is not whole JSON: {error}; {WAY_OUT}")),
    }
}

fn parse(text: &[u8]) -> Result<BTreeMap<String, StageEntry>, String> {
    let mut stages = BTreeMap::new();
    for (name, value) in parse_object(text)? {
        let stage = parse_stage(value).map_err(|problem| format!("stage `{name}` {problem}"))?;
        stages.insert(name, stage);
    }
    Ok(stages)
}

fn parse_stage(value: Value) -> Result<StageEntry, String> {
    let Value::Object(mut extra) = value else {
        return Err(format!("is {} where a table with a list `runs` is expected", value.kind()));
    };
    let Some(Value::Array(items)) = extra.remove("runs") else {
        return Err("has no list `runs`".to_owned());
    };
    let mut runs = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        runs.push(parse_run(item).map_err(|problem| format!("run entry {index} {problem}"))?);
    }
    let total_seconds = extra.remove("total_seconds").and_then(|total| total.as_f64());
    let total_seconds = total_seconds.unwrap_or_else(|| total(&runs));
    Ok(StageEntry { runs, total_seconds, extra })
}

fn parse_run(value: Value) -> Result<RunEntry, String> {
    let Value::Object(mut extra) = value else {
        return Err(format!("is {} where a table is expected", value.kind()));
    };
    check_retired(&extra)?;
    let Some(Value::String(hardware_id)) = extra.remove("hardware_id") else {
        return Err("has no text `hardware_id`".to_owned());
    };
    let Some(seconds) = extra.remove("seconds").and_then(|seconds| seconds.as_f64()) else {
        return Err("has no number `seconds`".to_owned());
    };
    check_seconds(seconds)?;
    // What another program means by another type of these stays as it came.
    let run_idx = extra.get("run_idx").and_then(Value::as_u64).and_then(|idx| idx.try_into().ok());
    if run_idx.is_some() {
        extra.remove("run_idx");
    }
    let label = extra.get("label").and_then(Value::as_str).map(str::to_owned);
    if label.is_some() {
        extra.remove("label");
    }
    Ok(RunEntry { hardware_id, seconds, run_idx, label, extra })
}

fn check_seconds(seconds: f64) -> Result<(), String> {
    if seconds.is_finite() && seconds >= 0.0 {
        return Ok(());
    }
    Err(format!("has `seconds` {seconds} where a finite number from 0 up is expected"))
}

fn check_retired(keys: &BTreeMap<String, Value>) -> Result<(), String> {
    match RETIRED_KEYS.iter().find(|key| keys.contains_key(**key)) {
        Some(key) => Err(format!("has the retired key `{key}`; memory belongs to the hardware")),
        None => Ok(()),
    }
}

pub(super) fn total(runs: &[RunEntry]) -> f64 {
    runs.iter().map(|run| run.seconds).sum()
}

impl From<&RunEntry> for Value {
    fn from(run: &RunEntry) -> Self {
        let mut entries = run.extra.clone();
        entries.insert("hardware_id".to_owned(), run.hardware_id.as_str().into());
        entries.insert("seconds".to_owned(), run.seconds.into());
        if let Some(run_idx) = run.run_idx {
            entries.insert("run_idx".to_owned(), run_idx.into());
        }
        if let Some(label) = &run.label {
            entries.insert("label".to_owned(), label.as_str().into());
        }
        entries.into()
    }
}

impl From<&StageEntry> for Value {
    fn from(stage: &StageEntry) -> Self {
        let mut entries = stage.extra.clone();
        let runs: Vec<Self> = stage.runs.iter().map(Self::from).collect();
        entries.insert("runs".to_owned(), runs.into());
        entries.insert("total_seconds".to_owned(), stage.total_seconds.into());
        entries.into()
    }
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, stage)| (name, Value::from(stage))))
    }
}
