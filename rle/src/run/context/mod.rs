//! What a trainer or a prepare sees of its run.
//!
//! Never decides what runs, and writes no record.
//!
//! - `common`: what both contexts have.
//! - `contexts`: the contexts of a run and of a prepare.
//! - `test_run`: a run's context without a runner, for unit tests of algorithms.

mod common;
mod contexts;
mod test_run;

pub(crate) use common::{Common, RecordedTiming, SuiteFacts};
pub use contexts::{PrepareContext, RunContext};
pub(crate) use contexts::{PrepareParts, RunParts};
pub use test_run::TestRun;
