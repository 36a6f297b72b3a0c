//! The machine: what it is made of, and what started this process.
//!
//! Knows nothing of timings, runs or records.
//!
//! - `hardware`: a description of CPU, memory and GPUs, and its id.
//! - `host`: the machine's name.
//! - `scheduler`: the job of Slurm or PBS that this process belongs to.

pub mod hardware;
pub(crate) mod host;
#[cfg(feature = "suite")]
pub(crate) mod scheduler;
