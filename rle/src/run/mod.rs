//! One run: what a trainer is given, and what it returns.
//!
//! Never reads a record, and knows nothing of suites.
//!
//! - `artifacts`: paths and hashes of what a run leaves behind.
//! - `progress`: how far a run is.
//! - `result`: what a trainer returns.
//! - `seeds`: the seeds of a run and the streams derived from them.
//! - `stop`: signals, and how a run is asked to stop.
//! - `checkpoint`: generations of saved state, bound to their slot and request.
//! - `context`: the handle that trainers and prepares get.

pub(crate) mod artifacts;
pub(crate) mod checkpoint;
mod context;
mod progress;
mod result;
mod seeds;
pub(crate) mod stop;

pub(crate) use artifacts::PathIdentity;
pub use artifacts::PathKind;
pub(crate) use checkpoint::StageSum;
pub use checkpoint::{Checkpoint, Latest};
pub(crate) use context::{Common, PrepareParts, RecordedTiming, RunParts, SuiteFacts};
pub use context::{PrepareContext, RunContext, TestRun};
pub use progress::Progress;
pub(crate) use progress::ProgressSnapshot;
pub(crate) use result::DURATIONS;
pub use result::{Episode, RunResult};
pub(crate) use seeds::Seeds;
pub(crate) use stop::{Listener, Running, Stop};
