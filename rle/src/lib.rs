//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]

mod canonical;
mod error;
mod stage;
mod typed;
pub mod value;

pub use error::Error;
pub use stage::Stage;
