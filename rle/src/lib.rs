//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
//!
//! ```no_run
//! use rle::prelude::*;
//!
//! rle::stages! { train }
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Ppo {
//!     lr: f64,
//! }
//!
//! impl Default for Ppo {
//!     fn default() -> Self {
//!         Ppo { lr: 3e-4 }
//!     }
//! }
//!
//! /// Proximal policy optimisation.
//! #[rle::algorithm(name = "PPO", flag = "run_ppo")]
//! fn ppo(ctx: &RunContext, config: Ppo) -> rle::Result<RunResult> {
//!     let loss = train_step(ctx.algorithm_stream("policy"), config.lr);
//!     Ok(RunResult::new().metric("loss", loss))
//! }
//!
//! #[rle::timed("train")]
//! fn train_step(seed: u64, lr: f64) -> f64 {
//!     seed as f64 * lr
//! }
//!
//! #[rle::main]
//! fn main() -> SuiteConfig {
//!     SuiteConfig::new("pursuit").num_runs(3).flag("run_ppo", true)
//! }
//! ```
//!
//! Where to look:
//!
//! - What a trainer is given: [`RunContext`], with its [`Checkpoint`]s and its [`Progress`]. What it
//!   hands back: [`RunResult`], with [`Episode`]s. What comes before it: [`macro@prepare`] and
//!   [`PrepareContext`].
//! - What is run: [`SuiteConfig`]. The program's command line can change all of it.
//! - The same without attributes: [`AlgorithmSpec`], [`Suite`] and its [`SuiteReport`].
//! - Tests of a trainer: [`RunContext::for_test`]. Analysis: [`load_records`] and [`RunRecord`].
//!
//! Times are in seconds and sizes in bytes, unless a name or a type says otherwise.
#![forbid(unsafe_code)]

mod algorithm;
mod archive;
mod artifact;
mod canonical;
mod checkpoint;
#[cfg(feature = "cli")]
mod cli;
mod config_override;
mod console;
mod context;
mod digest;
mod error;
mod host;
pub mod metrics;
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
