//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]

mod artifact;
mod canonical;
mod digest;
mod error;
mod provenance;
mod stage;
mod storage;
mod timings;
pub mod value;

pub use error::Error;
pub use stage::Stage;
