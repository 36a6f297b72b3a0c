//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod error;
mod stage;
pub mod value;

pub use error::Error;
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
