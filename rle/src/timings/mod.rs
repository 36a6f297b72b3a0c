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

mod entry;
mod file;
mod hardware;
mod merge;
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
