//! How long stages took, on which hardware: a durable record for later loading, summary and
//! comparison. Usable alone, without a suite.
//!
//! ```no_run
//! use rle::timings::{RunKey, SaveOptions, Timer, Timings};
//!
//! # fn train() {}
//! let mut timings = Timings::load("exports/run-001")?;
//! timings.record("checkpoint_save", 0.42, RunKey::run(0))?;
//! timings.timed("alpharank", RunKey::none(), || train());
//! let mut timer = Timer::new("ippo_train", RunKey::run(0));
//! timer.start()?;
//! train();
//! timer.stop(&mut timings)?;
//! timings.save("exports/run-001")?; // merges
//! timings.save_with("exports/run-001", SaveOptions::default().merge_existing(false))?;
//! Timings::update("exports/run-001", |t| t.record("ippo_train", 1.25, RunKey::run(0)))?;
//! # Ok::<(), rle::Error>(())
//! ```
//!
//! The files are `timings.json` and `timings_hardware.json`. Other programs write them too, under
//! the same lock (`flock` on `timings.json.lock`), so everything found in them that is not ours
//! to change is kept, byte for byte.
//!
//! Knows nothing of suites and records.
//!
//! - `scan`: a strict reader of JSON text that gives the place of each value.
//! - `raw`: pieces of a file's text, which are written back as they were.
//! - `file`: where the files of a directory are, and how they are read.
//! - `entry`: one measured time.
//! - `summary`: number, mean and spread of the entries of a stage.
//! - `stages`: `timings.json`, stages by name.
//! - `hardware`: `timings_hardware.json`, descriptions by id.
//! - `merge`: merges new entries into those of a file.
//! - `store`: times in memory.
//! - `timer`: a guard for a block, and a timer that is started and stopped by hand.
//! - `locked`: the files of a directory while their locks are held.
//! - `group_commit`: saves of several processes in one write.
//! - `save`: times onto disk.
//! - `set`: the entries of a set of runs, and those that a suite adds.

mod entry;
mod file;
mod group_commit;
mod hardware;
mod locked;
mod merge;
mod raw;
mod save;
mod scan;
mod set;
mod stages;
mod store;
mod summary;
mod timer;

pub use entry::{RunEntry, RunKey, Segment};
pub use save::{SaveOptions, TIMINGS_FILE_LOCK_TIMEOUT};
pub use stages::Stage;
pub use store::Timings;
pub use summary::Summary;
pub use timer::{Guard, Timer};

pub(crate) use hardware::hardware_id;
pub(crate) use save::describe_hardware;
pub(crate) use set::{NewEntry, copy_runs, drop_runs, merge_entries, restore_runs};

/// The file of stages.
pub(crate) const TIMINGS_FILE: &str = "timings.json";
/// The file of hardware descriptions beside it.
pub(crate) const HARDWARE_FILE: &str = "timings_hardware.json";
/// The lock for both.
pub(crate) const LOCK_FILE: &str = "timings.json.lock";

#[cfg(test)]
mod tests;
