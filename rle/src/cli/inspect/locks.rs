//! All lock files below a root, and which of them are held.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use glob::Pattern;
use serde::Serialize;

use super::files::{Owner, Place, Scope};
use super::walk::{FileProblem, Found, Rules, serialize_path};
use crate::Error;
use crate::fs::FileLock;

/// The state of a lock at the moment when it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LockState {
    Held,
    Free,
    /// It could not be tried.
    Unknown,
}

impl fmt::Display for LockState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FoundLock {
    pub(crate) group: String,
    pub(crate) algorithm: Option<String>,
    pub(crate) run_idx: Option<u32>,
    /// The function of a prepare's lock.
    pub(crate) prepare: Option<String>,
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) state: LockState,
    /// The text in the file of a held lock, which nothing has checked.
    pub(crate) holder: Option<String>,
    pub(crate) problem: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FoundLocks {
    /// In the order of groups and paths.
    pub(crate) locks: Vec<FoundLock>,
    pub(crate) faults: Vec<FileProblem>,
}

/// The lock files whose names match the pattern, or those of them that are not free.
pub(crate) fn locks(scope: &Scope, pattern: &str, only_locked: bool) -> Result<FoundLocks, Error> {
    let pattern = Pattern::new(pattern).map_err(|error| {
        Error::usage(format!("--pattern: `{pattern}` is not a pattern: {error}"))
    })?;
    let rules =
        Rules { enter: &|name| !name.starts_with('.'), take: &|name| pattern.matches(name) };
    let Found { files, faults } = scope.files(&rules, "lock")?;
    let mut locks: Vec<FoundLock> =
        files.into_iter().filter_map(|(place, file)| looked_at(place, file)).collect();
    if only_locked {
        locks.retain(|lock| lock.state != LockState::Free);
    }
    Ok(FoundLocks { locks, faults })
}

/// The state of one lock; none where the file is gone, or is a directory.
fn looked_at(place: Place, file: PathBuf) -> Option<FoundLock> {
    if file.is_dir() {
        return None;
    }
    let (state, problem) = match state(&file) {
        Ok(state) => (state, None),
        Err(problem) => (LockState::Unknown, Some(problem)),
    };
    let holder = (state == LockState::Held).then(|| FileLock::holder(&file)).flatten();
    let (algorithm, run_idx, prepare) = match place.owner {
        Owner::Algorithm(slug) => (Some(slug), None, None),
        Owner::Slot(slug, run_idx) => (Some(slug), Some(run_idx), None),
        Owner::Prepare(function) => (None, None, Some(function)),
        Owner::Group => (None, None, None),
    };
    let group = place.group;
    Some(FoundLock { group, algorithm, run_idx, prepare, file, state, holder, problem })
}

fn state(file: &Path) -> Result<LockState, String> {
    // To open anything else may wait for another program.
    if fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        return Err("is not a regular file".to_owned());
    }
    match FileLock::is_held(file) {
        Ok(true) => Ok(LockState::Held),
        Ok(false) => Ok(LockState::Free),
        Err(Error::Io { source, .. }) => Err(format!("cannot be opened: {source}")),
        Err(Error::File { problem, .. }) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}
