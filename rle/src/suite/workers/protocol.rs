//! What a parent and its worker say to each other: one JSON document a line over a socket.

use serde::{Deserialize, Serialize};

use crate::provenance::Provenance;
use crate::suite::SuiteConfig;
use crate::suite::report::SlotOutcome;

/// Names the worker in its environment: its standard input is then the socket.
pub(crate) const WORKER_VARIABLE: &str = "RLE_WORKER";

/// The parent's first line: everything that the worker needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handoff {
    /// The resolved request: files and variables may have changed since the parent read them.
    pub(super) config: SuiteConfig,
    pub(super) provenance: Provenance,
    /// `ippo:1`.
    pub(super) slot: String,
    /// The worker's own result must be the same.
    pub(super) request_hash: String,
}

/// Further lines of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Save and end.
    Stop,
}

/// Lines of the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// A run or a prepare has come so far.
    Progress { position: u64, total: Option<u64>, message: String },
    /// What became of the slot; the record on disk says the same.
    Outcome(SlotOutcome),
    /// The start itself is not possible.
    Refused(String),
}
