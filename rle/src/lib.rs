//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]

mod canonical;
mod artifact;
mod digest;
mod error;
mod provenance;
mod stage;
mod storage;
pub mod value;

pub use error::Error;
pub use stage::Stage;
