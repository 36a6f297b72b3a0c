//! How long stages took, on which hardware: `timings.json` and `timings_hardware.json`.
//!
//! Other programs write the same files under the same lock, so everything found in them that is
//! not ours to change is kept.

mod format;
mod hardware;
mod merge;
mod set;

pub(crate) use format::RunEntry;
pub(crate) use hardware::unknown_hardware_id;
pub(crate) use merge::merge_entries;
pub(crate) use set::{copy_runs, drop_runs, restore_runs};

/// The file of stages.
pub(crate) const TIMINGS_FILE: &str = "timings.json";
/// The file of hardware descriptions beside it.
pub(crate) const HARDWARE_FILE: &str = "timings_hardware.json";
/// The lock for both.
pub(crate) const LOCK_FILE: &str = "timings.json.lock";

#[cfg(test)]
mod tests;
