//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

mod canonical;
mod artifact;
mod canonical;
mod digest;
mod console;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod error;
mod provenance;
mod profile;
mod progress;
mod stage;
mod storage;
mod timings;
pub mod value;

pub use error::Error;
pub use progress::Progress;
pub use stage::Stage;

/// What expansions name. No part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::profile::{AsyncGuard, Guard, Site};
pub use rle_macros::{algorithm, main, prepare, stages, timed, timed_block};
pub use stage::Stage;

pub type Result<T, E = anyhow::Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub struct RunContext;
#[derive(Debug)]
pub struct PrepareContext;
#[derive(Debug, Default)]
pub struct RunResult;
impl RunResult {
    pub fn new() -> Self {
        Self
    }
}
#[derive(Debug)]
pub struct SuiteConfig;
impl SuiteConfig {
    pub fn new(_env_name: impl Into<String>) -> Self {
        Self
    }
}

pub mod prelude {
    pub use crate::{PrepareContext, RunContext, RunResult, SuiteConfig};
}
