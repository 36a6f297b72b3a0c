//! The plan of a start: the request resolved and checked before any file is changed, and what
//! happens to each slot.
//!
//! Reads records and checkpoints, and never writes.
//!
//! - `algorithms`: the selected algorithms, their configurations and required artifacts.
//! - `resolve`: the request, resolved, and what it logs.
//! - `decide`: what happens to each of its slots now, and why.

mod algorithms;
mod decide;
mod resolve;

pub(crate) use algorithms::{PlannedAlgorithm, required_paths, resolve_config};
pub(crate) use decide::Start;
pub(crate) use resolve::{NO_DIRECTORY, Plan, PlannedSlot};

#[cfg(test)]
mod tests;
