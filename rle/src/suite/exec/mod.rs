//! Carries a plan out: which slot runs when, and one slot from its lock to its final record.
//!
//! Knows nothing of workers; a slot runs in this process.
//!
//! - `lock`: one suite at a time in a process, and one process at a time at a slot.
//! - `isolate`: an algorithm's panics and errors, confined to its slot.
//! - `results`: the summary of a complete record, and its tracked outputs.
//! - `timing`: the times of runs and prepares in the timing files.
//! - `logging`: the metrics of a run, and sending them.
//! - `attempt`: the record of an attempt, as it begins and as it ends.
//! - `prepare`: prepare steps and their stored results.
//! - `schedule`: the order of slots, retries, and busy slots once more at the end.
//! - `slot`: one slot from its lock to its final record.

pub(crate) mod attempt;
pub(crate) mod isolate;
pub(crate) mod lock;
pub(crate) mod logging;
pub(crate) mod prepare;
mod results;
pub(crate) mod schedule;
pub(crate) mod slot;
pub(crate) mod timing;

use isolate::{Failure, Isolation};
pub(crate) use lock::SLOT_PATIENCE;
pub(super) use lock::SuiteGuard;
use logging::Sending;
pub(crate) use logging::Unsent;
use prepare::Prepares;
pub(crate) use slot::SlotRunner;
