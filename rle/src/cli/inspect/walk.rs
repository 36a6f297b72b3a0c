//! All files of some name below a root, however deep, each once.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::Error;

/// A file or directory that could not be read; the others are shown all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileProblem {
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) problem: String,
}

impl FileProblem {
    pub(super) fn new(file: &Path, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), problem: problem.into() }
    }
}

/// A path as text; what is no Unicode in it shows as a replacement character.
pub(super) fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Files in order, and what could not be read.
#[derive(Debug)]
pub(super) struct Found<F> {
    pub(super) files: Vec<F>,
    pub(super) faults: Vec<FileProblem>,
}

/// Which entries a walk is about, by their names.
pub(super) struct Rules<'a> {
    pub(super) enter: &'a dyn Fn(&str) -> bool,
    pub(super) take: &'a dyn Fn(&str) -> bool,
}

/// Walks the directory `start`, with which the paths that are found begin.
///
/// Links to directories are followed once all else is seen: so a directory that has two ways to
/// it is met under its own name, and one that leads back to itself ends.
pub(super) fn walk(start: &Path, rules: &Rules<'_>) -> Result<Found<PathBuf>, Error> {
    let refused = |problem| Err(Error::file(start, problem));
    match Error::unless_missing("look at", start, fs::metadata(start))? {
        Some(metadata) if metadata.is_dir() => {}
        Some(_) => return refused("is no directory; --export-root names the one of the groups"),
        None => return refused("does not exist; --export-root names the directory of the groups"),
    }
    let found = Found { files: Vec::new(), faults: Vec::new() };
    let mut walk = Walk { rules, seen: BTreeSet::new(), links: Vec::new(), found };
    walk.directory(start);
    while let Some(link) = walk.links.pop() {
        walk.directory(&link);
    }
    walk.found.files.sort();
    Ok(walk.found)
}

struct Walk<'a> {
    rules: &'a Rules<'a>,
    /// Device and inode of every directory that was listed.
    seen: BTreeSet<(u64, u64)>,
    /// Links to directories that are still to be followed.
    links: Vec<PathBuf>,
    found: Found<PathBuf>,
}

impl Walk<'_> {
    fn directory(&mut self, start: &Path) {
        let mut pending = vec![start.to_owned()];
        while let Some(directory) = pending.pop() {
            if let Err(error) = self.list(&directory, &mut pending) {
                // What was removed meanwhile is not missing.
                if error.kind() != io::ErrorKind::NotFound {
                    let problem = format!("cannot be listed: {error}");
                    self.found.faults.push(FileProblem::new(&directory, problem));
                }
            }
        }
    }

    fn list(&mut self, directory: &Path, pending: &mut Vec<PathBuf>) -> io::Result<()> {
        let metadata = fs::metadata(directory)?;
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            return Ok(());
        }
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, kind, name) = (entry.path(), entry.file_type()?, entry.file_name());
            let name = name.to_string_lossy();
            if (self.rules.take)(&name) {
                self.found.files.push(path);
            } else if (self.rules.enter)(&name) && !is_output(&path) {
                if kind.is_dir() {
                    pending.push(path);
                } else if kind.is_symlink() && path.is_dir() {
                    self.links.push(path);
                }
            }
        }
        Ok(())
    }
}

/// Whether a directory holds one run's outputs or checkpoints: `artifacts/run_3`. What a trainer
/// puts there is its own, whatever its name.
fn is_output(path: &Path) -> bool {
    let mut names = path.iter().rev().map(OsStr::to_string_lossy);
    let index = names.next().and_then(|name| name.strip_prefix("run_").map(str::to_owned));
    index.is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
        && names.next().is_some_and(|parent| ["artifacts", "checkpoints"].contains(&&*parent))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(root: &Path) -> Vec<String> {
        let rules =
            Rules { enter: &|name| !name.starts_with('_'), take: &|name| name == "timings.json" };
        let found = walk(root, &rules).unwrap();
        assert_eq!(found.faults, []);
        let relative = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        found.files.iter().map(relative).collect()
    }

    fn file(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }

    #[test]
    fn files_are_found_at_any_depth_and_not_in_what_trainers_have_written() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "g/ippo/timings.json",
            "a/b c/日本/ppo/timings.json",
            "timings.json",
            "g/_prepared/shield/timings.json",
            "g/ippo/artifacts/run_0/timings.json",
            "g/ippo/checkpoints/run_12/timings.json",
            "artifacts/main/timings.json",
        ] {
            file(root.path(), path);
        }
        assert_eq!(
            found(root.path()),
            [
                "a/b c/日本/ppo/timings.json",
                "artifacts/main/timings.json",
                "g/ippo/timings.json",
                "timings.json"
            ]
        );
    }

    #[test]
    fn a_directory_with_two_ways_to_it_is_met_once_and_under_its_own_name() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        file(root.path(), "m/ippo/timings.json");
        file(elsewhere.path(), "ppo/timings.json");
        symlink(root.path().join("m"), root.path().join("a")).unwrap();
        symlink("..", root.path().join("m/back")).unwrap();
        symlink(elsewhere.path(), root.path().join("far")).unwrap();
        symlink("nowhere", root.path().join("broken")).unwrap();
        assert_eq!(found(root.path()), ["far/ppo/timings.json", "m/ippo/timings.json"]);
    }

    #[test]
    fn a_root_that_is_missing_or_a_file_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        file(root.path(), "file");
        let rules = Rules { enter: &|_| true, take: &|_| true };
        for (name, part) in [("none", "does not exist"), ("file", "is no directory")] {
            let error = walk(&root.path().join(name), &rules).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
