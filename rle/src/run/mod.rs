//! One run: what a trainer is given, and what it gives back.
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
pub(crate) mod context;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod seeds;
pub(crate) mod stop;
