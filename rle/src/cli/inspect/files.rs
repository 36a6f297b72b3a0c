//! The files below a root that belong to the wanted groups and algorithms. What a file belongs to is
//! said by its path alone.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::walk::{FileProblem, Found, Rules, walk};
use crate::timings::{TIMINGS_FILE, Timings};
use crate::{Error, near_match};

/// The group of files that lie directly below the root.
const ROOT_GROUP: &str = ".";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Path of the suite's directory from the root, with `/`; `.` is the root itself.
    pub(super) group: String,
    pub(super) owner: Owner,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// `<group>/<slug>/..`
    Algorithm(String),
    /// `<group>/runs/<slug>_<run_idx>..`
    Slot(String, u32),
    /// `<group>/_prepared/<function>/..`
    Prepare(String),
    /// Anything else of the group.
    Group,
}

impl Owner {
    /// The algorithm's slug, where the file is one's.
    pub(super) fn slug(&self) -> Option<&str> {
        match self {
            Self::Algorithm(slug) | Self::Slot(slug, _) => Some(slug),
            _ => None,
        }
    }
}

fn place(root: &Path, file: &Path) -> Place {
    let directories = file.parent().and_then(|parent| parent.strip_prefix(root).ok());
    let names: Vec<String> = directories
        .into_iter()
        .flat_map(Path::components)
        .filter(|component| matches!(component, Component::Normal(_)))
        .map(|component| component.as_os_str().to_string_lossy().into_owned())
        .collect();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    // The framework's own directories, `_prepared` and those in `runs`, end the group's name.
    let own = names.iter().position(|name| name.starts_with('_')).unwrap_or(names.len());
    let (above, below) = names.split_at(own);
    let (group, owner) = match (above, below, slot(&stem)) {
        ([group @ .., runs], [], Some((slug, run_idx))) if runs == "runs" => {
            (group, Owner::Slot(slug.to_owned(), run_idx))
        }
        ([group @ .., slug], [], _) => (group, Owner::Algorithm(slug.clone())),
        (group, [prepared, function, ..], _) if prepared == "_prepared" => {
            (group, Owner::Prepare(function.clone()))
        }
        ([group @ .., runs], [_, ..], _) if runs == "runs" => (group, Owner::Group),
        // The root may be the directory of one algorithm.
        ([], [], _) => (above, root_owner(root)),
        (group, [_, ..], _) => (group, Owner::Group),
    };
    let group = if group.is_empty() { ROOT_GROUP.to_owned() } else { group.join("/") };
    Place { group, owner }
}

/// Slug and run index of a file's stem in `runs`: `ippo_0`.
pub(super) fn slot(stem: &str) -> Option<(&str, u32)> {
    let (slug, run_idx) = stem.rsplit_once('_')?;
    let digits = !run_idx.is_empty() && run_idx.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !slug.is_empty()).then_some(())?;
    Some((slug, run_idx.parse().ok()?))
}

fn root_owner(root: &Path) -> Owner {
    let name = std::path::absolute(root).ok();
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    name.map_or(Owner::Group, |name| Owner::Algorithm(name.into_owned()))
}

const ALL: &str = "all";

/// A choice among names: all of them, or those that are named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted(Option<String>);

impl Wanted {
    /// The choice that the text of an option makes: `all`, or names with commas between them.
    pub(crate) fn of(text: Option<&str>) -> Self {
        Self(text.filter(|text| *text != ALL).map(ToOwned::to_owned))
    }

    /// The wanted ones of the `known` names; none where all are wanted.
    ///
    /// A name that holds a comma is not split where it is the whole text.
    pub(super) fn among(
        &self,
        known: &BTreeSet<&str>,
        kind: &str,
        file: &str,
        root: &Path,
    ) -> Result<Option<BTreeSet<String>>, Error> {
        let Some(text) = &self.0 else { return Ok(None) };
        if known.contains(text.as_str()) {
            return Ok(Some([text.clone()].into()));
        }
        let names: BTreeSet<String> = text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Err(Error::usage(format!(
                "--{kind}s names no {kind}; give names with commas between them, or `{ALL}`"
            )));
        }
        match names.iter().find(|name| !known.contains(name.as_str())) {
            None => Ok(Some(names)),
            Some(name) => Err(Error::usage(format!(
                "no {file} below {} is of the {kind} `{name}`{}",
                root.display(),
                near_match::hint_or_list(name, known.iter().copied())
            ))),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) root: PathBuf,
    /// The directory below the root to begin at, where not all of it is of interest.
    pub(crate) start: Option<PathBuf>,
    pub(crate) groups: Wanted,
    /// By slug.
    pub(crate) algorithms: Wanted,
}

impl Scope {
    /// The files that `rules` select, by groups and owners; `kind` is what messages call one.
    /// A group or algorithm that is asked for and not there is an error.
    pub(super) fn files(
        &self,
        rules: &Rules<'_>,
        kind: &str,
    ) -> Result<Found<(Place, PathBuf)>, Error> {
        let Self { root, start, groups, algorithms } = self;
        let found = walk(start.as_ref().unwrap_or(root), rules)?;
        let place_of = |file: PathBuf| (place(root, &file), file);
        let mut files: Vec<(Place, PathBuf)> = found.files.into_iter().map(place_of).collect();
        let known = files.iter().map(|(place, _)| place.group.as_str()).collect();
        if let Some(groups) = groups.among(&known, "group", kind, root)? {
            files.retain(|(place, _)| groups.contains(&place.group));
        }
        let known = files.iter().filter_map(|(place, _)| place.owner.slug()).collect();
        if let Some(slugs) = algorithms.among(&known, "algorithm", kind, root)? {
            files.retain(|(place, _)| place.owner.slug().is_some_and(|slug| slugs.contains(slug)));
        }
        files.sort();
        Ok(Found { files, faults: found.faults })
    }

    /// Reads the timing files of algorithms, and those of prepares where they are wanted, with
    /// each of which `read` is called; returns what could not be read.
    pub(super) fn read_timings(
        &self,
        prepares: bool,
        mut read: impl FnMut(&Place, PathBuf, &Timings),
    ) -> Result<Vec<FileProblem>, Error> {
        let enter = |name: &str| match name.as_bytes().first() {
            Some(b'_') => prepares && name == "_prepared",
            first => first != Some(&b'.'),
        };
        let rules = Rules { enter: &enter, take: &|name| name == TIMINGS_FILE };
        let Found { files, mut faults } = self.files(&rules, TIMINGS_FILE)?;
        for (place, file) in files {
            match Timings::load(&file) {
                Ok(timings) => read(&place, file, &timings),
                Err(error) => faults.push(problem_of(&file, error)),
            }
        }
        Ok(faults)
    }
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
fn problem_of(file: &Path, error: Error) -> FileProblem {
    match error {
        Error::File { path, problem } => FileProblem::new(&path, problem),
        Error::Io { action, path, source } => {
            FileProblem::new(&path, format!("cannot {action}: {source}"))
        }
        error => FileProblem::new(file, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(text: &str, known: &[&str]) -> Result<Option<Vec<String>>, String> {
        Wanted::of(Some(text))
            .among(&known.iter().copied().collect(), "group", "lock", Path::new("exports"))
            .map(|names| names.map(|names| names.into_iter().collect()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn all_names_and_lists_of_them_are_understood() {
        let known = ["env/main", "a,b", "c"];
        assert_eq!(among("all", &known), Ok(None));
        assert_eq!(among("a,b", &known), Ok(Some(vec!["a,b".to_owned()])));
        let both = Ok(Some(vec!["c".to_owned(), "env/main".to_owned()]));
        assert_eq!(among("c, env/main,", &known), both);
    }

    #[test]
    fn a_name_that_is_not_there_is_refused_with_what_is() {
        let error = among("env/mian", &["env/main", "c"]).unwrap_err();
        assert_eq!(
            error,
            "no lock below exports is of the group `env/mian`; did you mean `env/main`?"
        );
        let error = among("x", &["env/main", "c"]).unwrap_err();
        assert_eq!(error, "no lock below exports is of the group `x`; there are `c`, `env/main`");
        assert!(among(" ,", &["c"]).unwrap_err().contains("names no group"));
        assert!(among("c", &[]).unwrap_err().ends_with("; there is none"));
    }

    #[test]
    fn a_path_says_whose_a_file_is() {
        let algorithm = |slug: &str| Owner::Algorithm(slug.to_owned());
        for (path, group, owner) in [
            ("env/ippo/timings.json", "env", algorithm("ippo")),
            ("a/b c/日本/ippo/timings.json.lock", "a/b c/日本", algorithm("ippo")),
            ("run-001/timings.json", ".", algorithm("run-001")),
            ("timings.json", ".", algorithm("root")),
            ("env/runs/ippo_2_10.lock", "env", Owner::Slot("ippo_2".to_owned(), 10)),
            ("runs/ippo_0.lock", ".", Owner::Slot("ippo".to_owned(), 0)),
            ("runs/env/runs/ippo_0.lock", "runs/env", Owner::Slot("ippo".to_owned(), 0)),
            ("runs/ippo/timings.json", "runs", algorithm("ippo")),
            ("env/_prepared/shield/0f.lock", "env", Owner::Prepare("shield".to_owned())),
            ("env/runs/_superseded/ippo_0_T/transfer.lock", "env", Owner::Group),
        ] {
            let root = Path::new("/some/root");
            let found = place(root, &root.join(path));
            assert_eq!(found, Place { group: group.to_owned(), owner }, "{path}");
        }
    }
}
