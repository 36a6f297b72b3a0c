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

pub(crate) use algorithms::{
    PlannedAlgorithm, changes_of, required_paths, resolve_config, resolve_configs,
};
pub(crate) use decide::Start;
pub(crate) use resolve::{NO_DIRECTORY, Plan, PlannedSlot, check};

#[cfg(test)]
mod tests;
