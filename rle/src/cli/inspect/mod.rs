//! What lies below an export root, read by programs that have written none of it: times and locks.
//!
//! Everything here works on files alone, of any program that keeps the layout
//! `<root>/<group>/<slug>/timings.json` and `<root>/<group>/runs/<slug>_<run_idx>.*`. It writes
//! nothing and never asks the runner.
//!
//! - `walk`: all files of some name below a root, and what could not be read.
//! - `files`: what a file belongs to, and the files of the wanted groups and algorithms.
//! - `label`: the names under which people know algorithms.
//! - `comparable`: which times are of hardware alike.
//! - `times`: how long runs took, and stages that nobody has declared.
//! - `locks`: lock files, held or free.

mod comparable;
mod files;
mod label;
mod locks;
mod times;
mod walk;

pub(crate) use comparable::{TimeHardware, TimeWarning, ranges};
pub(crate) use files::{Scope, Wanted};
pub(crate) use locks::{FoundLock, LockState, locks};
pub(crate) use times::{
    AlgorithmTimes, CheckedStages, TimeEntry, TimeSet, Times, TimesRequest, algorithm_times,
    unknown_stages,
};
pub(crate) use walk::FileProblem;
