//! What a start does with records and checkpoints that are there.

use serde::{Deserialize, Serialize};

use crate::suite::config::SuiteConfig;
use crate::suite::config::field::Field;
use crate::suite::config::setting::{NO_CHILD, Setting, boolean, repeated};

/// What a start does with records and checkpoints that are there.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordOptions {
    pub(crate) resume_completed_runs: bool,
    pub(crate) rerun: Vec<String>,
    pub(crate) restart_completed_runs: bool,
    pub(crate) checkpoint_enabled: bool,
    pub(crate) resume_checkpoints: bool,
    pub(crate) accept: Vec<String>,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            resume_completed_runs: true,
            rerun: Vec::new(),
            restart_completed_runs: false,
            checkpoint_enabled: false,
            resume_checkpoints: true,
            accept: Vec::new(),
        }
    }
}

pub(in crate::suite::config) const SETTINGS: &[Setting] = &[
    boolean("resume_completed_runs", "reuse matching complete records [default: true]", |config| {
        Field::Bool(&mut config.records.resume_completed_runs)
    }),
    repeated(
        "rerun",
        "SLOT",
        "compute a slot such as ippo:1 again whatever its record says",
        |config| Field::Slots(&mut config.records.rerun),
    ),
    boolean(
        "restart_completed_runs",
        "archive an algorithm's set when all of it is complete, and start afresh",
        |config| Field::Bool(&mut config.records.restart_completed_runs),
    )
    .inherited_by(NO_CHILD),
    boolean("checkpoint_enabled", "let runs save checkpoints", |config| {
        Field::Bool(&mut config.records.checkpoint_enabled)
    }),
    boolean(
        "resume_checkpoints",
        "let unfinished runs go on from their checkpoints [default: true]",
        |config| Field::Bool(&mut config.records.resume_checkpoints),
    ),
    repeated(
        "accept",
        "PATH",
        "reuse records across differences in this field, such as provenance.source",
        |config| Field::RequestPaths(&mut config.records.accept),
    ),
];

impl SuiteConfig {
    /// Whether matching complete records are reused (they are).
    pub fn resume_completed_runs(mut self, resume: bool) -> Self {
        self.records.resume_completed_runs = resume;
        self
    }

    /// Computes a slot (`ippo:1`) again whatever its record says.
    pub fn rerun(mut self, slot: impl Into<String>) -> Self {
        self.records.rerun.push(slot.into());
        self
    }

    /// Whether a complete set is archived and computed afresh (it is not).
    pub fn restart_completed_runs(mut self, restart: bool) -> Self {
        self.records.restart_completed_runs = restart;
        self
    }

    /// Whether runs save checkpoints (they do not), as `--checkpoint-enabled` says: see
    /// [`Checkpoint`](crate::Checkpoint). Those that are there are resumed from in any case.
    pub fn checkpoints(mut self, enabled: bool) -> Self {
        self.records.checkpoint_enabled = enabled;
        self
    }

    /// Whether unfinished runs go on from their checkpoints (they do).
    pub fn resume_checkpoints(mut self, resume: bool) -> Self {
        self.records.resume_checkpoints = resume;
        self
    }

    /// Reuses records across differences in this field of the request: a path as `status` shows
    /// it, such as `provenance.source`. The record says that it was done.
    pub fn accept(mut self, path: impl Into<String>) -> Self {
        self.records.accept.push(path.into());
        self
    }
}
