//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
//!
//! See the README for a tour; [`algorithm`], [`prepare`], [`timed`], [`stages!`] and [`main`] are
//! the attributes, [`Suite`] is the same machinery for a program with its own `main`.
#![forbid(unsafe_code)]

mod algorithm;
mod archive;
mod artifact;
mod canonical;
mod checkpoint;
#[cfg(feature = "cli")]
mod cli;
mod console;
mod context;
mod digest;
mod error;
mod host;
#[doc(hidden)]
pub mod private;
mod profile;
mod progress;
mod provenance;
mod record;
mod registry;
mod request;
mod resume;
mod run_result;
mod seeds;
mod slot;
mod stage;
mod stop;
mod storage;
mod stub;
mod suggest;
mod suite;
mod timings;
mod typed;
pub mod value;
#[cfg(feature = "cli")]
mod verify;

pub use algorithm::AlgorithmSpec;
pub use artifact::PathKind;
pub use checkpoint::{Checkpoint, Latest};
pub use context::{PrepareContext, RunContext, TestRun};
pub use error::Error;
pub use progress::Progress;
pub use provenance::ProvenanceMode;
pub use record::{
    Accepted, Attempt, RecordHead, RecordedAlgorithm, RecordedEnvironment, RecordedRequirement,
    RequestTag, RunRecord, RunStatus, TrackedPath, load_records,
};
pub use resume::{Reason, SlotAction};
pub use rle_macros::{algorithm, main, prepare, stages, timed, timed_block};
pub use run_result::{Episode, RunResult};
pub use slot::{SlotId, Slug};
pub use stage::Stage;
pub use stub::stub_algorithms;
pub use suite::{
    IntoSuiteConfig, OnBusy, SlotOutcome, SlotPlan, SlotReport, Suite, SuiteConfig, SuitePlan,
    SuiteReport,
};

#[doc(hidden)]
pub use private as __private;

/// The result of a trainer: any error fits, `?` takes everything.
pub type Result<T, E = anyhow::Error> = std::result::Result<T, E>;

/// What a program with `#[rle::main]` usually needs.
pub mod prelude {
    pub use serde::{Deserialize, Serialize};

    pub use crate::{
        AlgorithmSpec, Episode, PrepareContext, Progress, ProvenanceMode, RunContext, RunResult,
        Suite, SuiteConfig,
    };
}
