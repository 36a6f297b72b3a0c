//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![cfg_attr(feature = "suite", doc = "")]
#![cfg_attr(feature = "suite", doc = include_str!("suite.md"))]
#![cfg_attr(not(feature = "suite"), doc = "")]
#![cfg_attr(not(feature = "suite"), doc = include_str!("timings.md"))]
#![forbid(unsafe_code)]
// What the suite alone asks of the modules that both have; with the suite it is reported.
#![cfg_attr(not(feature = "suite"), allow(dead_code, unused_imports))]

mod canonical;
mod error;
pub mod hardware;
mod host;
#[cfg(feature = "suite")]
pub mod metrics;
mod stage;
mod storage;
mod suggest;
pub mod timings;
pub mod value;

#[cfg(feature = "suite")]
mod algorithm;
#[cfg(feature = "suite")]
mod archive;
#[cfg(feature = "suite")]
mod artifact;
#[cfg(feature = "suite")]
mod checkpoint;
#[cfg(feature = "suite")]
mod config_override;
#[cfg(feature = "suite")]
mod console;
#[cfg(feature = "suite")]
mod context;
#[cfg(feature = "suite")]
mod digest;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod private;
#[cfg(feature = "suite")]
pub mod profile;
#[cfg(feature = "suite")]
mod progress;
#[cfg(feature = "suite")]
mod provenance;
#[cfg(feature = "suite")]
mod record;
#[cfg(feature = "suite")]
mod registry;
#[cfg(feature = "suite")]
mod request;
#[cfg(feature = "suite")]
mod resume;
#[cfg(feature = "suite")]
mod run_result;
#[cfg(feature = "suite")]
mod scheduler;
#[cfg(feature = "suite")]
mod seeds;
#[cfg(feature = "suite")]
mod slot;
#[cfg(feature = "suite")]
mod stop;
#[cfg(feature = "suite")]
mod stub;
#[cfg(feature = "suite")]
mod suite;
#[cfg(feature = "suite")]
mod typed;

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod looking;
#[cfg(feature = "cli")]
mod verify;

pub use error::Error;
pub use stage::Stage;

#[cfg(feature = "suite")]
pub use crate::{
    algorithm::AlgorithmSpec,
    artifact::PathKind,
    checkpoint::{Checkpoint, Latest},
    context::{PrepareContext, RunContext, TestRun},
    metrics::log_metric,
    progress::Progress,
    provenance::ProvenanceMode,
    record::{
        Accepted, Attempt, RecordHead, RecordedAlgorithm, RecordedEnvironment, RecordedRequirement,
        RequestTag, RunRecord, RunStatus, TrackedPath, load_records,
    },
    resume::{Reason, SlotAction},
    run_result::{Episode, RunResult},
    scheduler::SchedulerJob,
    slot::{SlotId, Slug},
    stub::stub_algorithms,
    suite::{
        IntoSuiteConfig, OnBusy, SlotOutcome, SlotPlan, SlotReport, Suite, SuiteConfig, SuitePlan,
        SuiteReport,
    },
};
#[cfg(feature = "suite")]
pub use rle_macros::{algorithm, main, prepare, stages, timed, timed_block};

#[cfg(feature = "suite")]
#[doc(hidden)]
pub use private as __private;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use cli::standalone as __standalone;

/// The result of a trainer: any error fits, `?` takes everything.
#[cfg(feature = "suite")]
pub type Result<T, E = anyhow::Error> = std::result::Result<T, E>;

/// What a program with `#[rle::main]` usually needs.
#[cfg(feature = "suite")]
pub mod prelude {
    pub use serde::{Deserialize, Serialize};

    pub use crate::{
        AlgorithmSpec, Episode, PrepareContext, Progress, ProvenanceMode, RunContext, RunResult,
        Suite, SuiteConfig,
    };
}
