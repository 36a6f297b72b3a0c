//! What lies below an export root, read by programs that have written none of it: times and locks.
//!
//! Everything here works on files alone, of any program that keeps the layout
//! `<root>/<group>/<slug>/timings.json` and `<root>/<group>/runs/<slug>_<run_idx>.*`. It writes
//! nothing and never asks the runner.
//!
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
mod select;
mod stages;
mod times;
mod walk;

pub(crate) use comparable::{TimeHardware, TimeWarning, ranges};
pub(crate) use files::Scope;
pub(crate) use locks::{FoundLock, LockState, LocksRequest, locks};
pub(crate) use select::Wanted;
pub(crate) use stages::{CheckedStages, unknown_stages};
pub(crate) use times::{AlgorithmTimes, TimeEntry, TimeSet, Times, TimesRequest, algorithm_times};

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// A file or directory that could not be read; the others are shown all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileProblem {
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) problem: String,
}

impl FileProblem {
    fn new(file: &Path, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), problem: problem.into() }
    }
}

/// A path as text; what is no Unicode in it shows as a replacement character.
fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
