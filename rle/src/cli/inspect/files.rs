//! The timing files below a root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::FileProblem;
use super::place::{Owner, Place, place};
use super::select::Wanted;
use super::walk::{Rules, walk};
use crate::Error;
use crate::timings::TIMINGS_FILE;

/// Where to look, and for what.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) root: PathBuf,
    /// The directory below the root to begin at, where not all of it is of interest.
    pub(crate) start: Option<PathBuf>,
    pub(crate) groups: Wanted,
    /// By slug.
    pub(crate) algorithms: Wanted,
}

/// Timing files in the order of groups and owners.
pub(super) struct TimingFiles {
    pub(super) files: Vec<(Place, PathBuf)>,
    pub(super) faults: Vec<FileProblem>,
}

/// The timing files of algorithms, and those of prepares where they are wanted.
///
/// # Errors
/// When the root is no directory, or a group or algorithm that is asked for is not there.
pub(super) fn timing_files(scope: &Scope, prepares: bool) -> Result<TimingFiles, Error> {
    let enter = |name: &str| match name.as_bytes().first() {
        Some(b'_') => prepares && name == "_prepared",
        first => first != Some(&b'.'),
    };
    let rules = Rules { enter: &enter, take: &|name| name == TIMINGS_FILE };
    let found = walk(scope.start.as_ref().unwrap_or(&scope.root), &rules)?;
    let place_of = |file: PathBuf| (place(&scope.root, &file), file);
    let mut files: Vec<(Place, PathBuf)> = found.files.into_iter().map(place_of).collect();
    let groups = files.iter().map(|(place, _)| place.group.as_str()).collect();
    if let Some(groups) = scope.groups.among(&groups, "group", TIMINGS_FILE, &scope.root)? {
        files.retain(|(place, _)| groups.contains(&place.group));
    }
    let slugs: BTreeSet<&str> = files.iter().filter_map(|(place, _)| place.owner.slug()).collect();
    if let Some(slugs) = scope.algorithms.among(&slugs, "algorithm", TIMINGS_FILE, &scope.root)? {
        files.retain(|(place, _)| place.owner.slug().is_some_and(|slug| slugs.contains(slug)));
    }
    files.sort();
    Ok(TimingFiles { files, faults: found.faults })
}

/// The stage under which the runner writes whole runs into the file of `owner`.
pub(super) fn own_stage(owner: &Owner) -> Option<String> {
    match owner {
        Owner::Algorithm(slug) => Some(format!("{slug}_run")),
        Owner::Prepare(function) => Some(format!("{function}_prepare")),
        _ => None,
    }
}

/// What an error of a timing file says, without the name of the file where it is that file.
pub(super) fn problem_of(file: &Path, error: Error) -> FileProblem {
    match error {
        Error::File { path, problem } => FileProblem::new(&path, problem),
        Error::Io { action, path, source } => {
            FileProblem::new(&path, format!("cannot {action}: {source}"))
        }
        error => FileProblem::new(file, error.to_string()),
    }
}
