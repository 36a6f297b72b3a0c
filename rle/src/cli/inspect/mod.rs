//! What lies below an export root, read by programs that have written none of it: times and locks.
//!
//! Everything here works on files alone, of any program that keeps the layout
//! `<root>/<group>/<slug>/timings.json` and `<root>/<group>/runs/<slug>_<run_idx>.*`. It writes
//! nothing and never asks the runner.
//!
//! - `problem`: a file that could not be read.
//! - `place`: what a file belongs to, by its path.
//! - `select`: which groups and algorithms are wanted.
//! - `walk`: all files of some name below a root.
//! - `files`: the timing files below a root.
//! - `npz`: one text of a run archive.
//! - `label`: the names under which people know algorithms.
//! - `comparable`: which times are of hardware alike.
//! - `times`: how long runs took.
//! - `stages`: stages that nobody has declared.
//! - `locks`: lock files, held or free.

mod comparable;
mod files;
mod label;
mod locks;
mod npz;
mod place;
mod problem;
mod select;
mod stages;
mod times;
mod walk;

pub(crate) use comparable::{TimeHardware, TimeWarning, ranges};
pub(crate) use files::Scope;
pub(crate) use locks::{FoundLock, LockState, LocksRequest, locks};
pub(crate) use problem::FileProblem;
pub(crate) use select::Wanted;
pub(crate) use stages::{CheckedStages, unknown_stages};
pub(crate) use times::{AlgorithmTimes, TimeEntry, TimeSet, Times, TimesRequest, algorithm_times};
