//! One run: what a trainer is given, and what it gives back.
//!
//! Never reads a record, and knows nothing of suites.
//!
//! - `context`: the handle that trainers and prepares get.
//! - `result`: what a trainer returns.
//! - `progress`: how far a run is.
//! - `seeds`: the seeds of a run and the streams derived from them.
//! - `artifacts`: paths and hashes of what a run leaves behind.
//! - `checkpoint`: whole generations of saved state, bound to their slot and request.
//! - `stop`: signals, and how a run is asked to stop.

pub(crate) mod artifacts;
pub(crate) mod checkpoint;
pub(crate) mod context;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod seeds;
pub(crate) mod stop;
