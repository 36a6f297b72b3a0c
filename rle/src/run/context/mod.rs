//! What a trainer or a prepare sees of its run.
//!
//! Never decides what runs, and writes no record.
//!
//! - `common`: what both contexts have.
//! - `prepare`: the context of a prepare.
//! - `run`: the context of a run.
//! - `test_run`: a run's context without a runner, for unit tests of algorithms.

mod common;
mod prepare;
mod run;
mod test_run;

pub(crate) use common::{Common, RecordedTiming, SuiteFacts};
pub use prepare::PrepareContext;
pub(crate) use prepare::PrepareParts;
pub use run::RunContext;
pub(crate) use run::RunParts;
pub use test_run::TestRun;
