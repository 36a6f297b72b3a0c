//! What a checkpoint's manifest holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// The newest manifest format that this version reads and writes.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// `manifest.json`: the description of one generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    /// Identity of the request that it belongs to.
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
    /// The attempt that saved it.
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
    /// The highest step: what the files hold of later ones is superseded by a run that goes on.
    pub(crate) step: i64,
    /// The last value of each name.
    pub(crate) last_values: Value,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// A stage's time so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StageSum {
    pub(crate) seconds: f64,
    pub(crate) calls: u64,
}
