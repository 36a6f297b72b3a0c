//! What a checkpoint's manifest holds, and the checkpoint that a run resumes from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::metrics::MetricState;
use crate::profile::StageTotal;
use crate::value::Value;

/// The newest manifest format that this version reads and writes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// `manifest.json`: the description of one generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) request_hash: String,
    pub(crate) run_idx: u32,
    /// Counts the saves of a slot, from 1.
    pub(crate) sequence: u64,
    /// RFC 3339, UTC.
    pub(crate) saved_at: String,
    /// Run time so far, over all attempts that led here, in seconds.
    pub(crate) seconds: f64,
    /// What the algorithm stored beside its payloads.
    pub(crate) metadata: Value,
    /// Files of this generation; paths are relative to the manifest at the top.
    pub(crate) payloads: Vec<Payload>,
    pub(crate) attempt: u32,
    /// Stage times so far, over all attempts that led here.
    #[serde(default)]
    pub(crate) stages: BTreeMap<String, StageSum>,
    /// How far the metrics had come; none where nothing was logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) logged: Option<Logged>,
}

/// The metrics that were logged before a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Logged {
    /// The highest step. A run that resumes here replaces what the files hold of later steps.
    pub(crate) step: i64,
    pub(crate) last_values: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StageSum {
    pub(crate) seconds: f64,
    pub(crate) calls: u64,
}

/// Adds the stage times of one attempt to those of the attempts before it.
pub(crate) fn add_totals(sums: &mut BTreeMap<String, StageSum>, totals: &[StageTotal]) {
    for total in totals {
        let sum = sums.entry(total.stage.to_owned()).or_default();
        sum.seconds += total.seconds;
        sum.calls += total.calls;
    }
}

/// A checkpoint to go on from: the newest one that belongs to this request and is whole.
#[derive(Clone, Debug)]
pub struct Latest {
    pub(crate) manifest: Arc<Manifest>,
    pub(super) generation: PathBuf,
}

impl Latest {
    /// What the algorithm stored with [`Checkpoint::save`](super::Checkpoint::save).
    #[must_use]
    pub fn metadata(&self) -> &Value {
        &self.manifest.metadata
    }

    /// The metadata as a type of the user's.
    ///
    /// # Errors
    /// When it does not fit, naming the key.
    pub fn metadata_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.manifest.metadata.to().map_err(|error| Error::Value(error.under_key("metadata")))
    }

    /// The path of a payload, by the name under which it was written.
    ///
    /// # Errors
    /// When the checkpoint has none of that name.
    pub fn path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        let name = name.as_ref();
        let names = || self.manifest.payloads.iter().map(|payload| payload_name(&payload.path));
        if names().any(|payload| payload == name) {
            return Ok(self.generation.join(name));
        }
        let known: Vec<String> = names().map(|payload| format!("`{payload}`")).collect();
        Err(Error::usage(format!(
            "the checkpoint has no payload `{name}`; it has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        )))
    }

    /// Counts the saves of this slot, from 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.manifest.sequence
    }

    pub(crate) fn logged(&self) -> Option<MetricState> {
        let logged = self.manifest.logged.as_ref()?;
        Some(MetricState {
            highest_step: Some(logged.step),
            last_values: logged.last_values.to().unwrap_or_default(),
        })
    }
}

/// The name under which the algorithm wrote a payload: its path without the generation.
fn payload_name(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}
