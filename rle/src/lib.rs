//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![forbid(unsafe_code)]

mod canonical;
mod artifact;
mod canonical;
mod digest;
mod console;
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
}
