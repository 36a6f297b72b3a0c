//! What a file below an export root belongs to, by its path alone.

use std::path::{Component, Path};

/// The group of files that lie directly below the root.
pub(super) const ROOT_GROUP: &str = ".";

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

pub(super) fn place(root: &Path, file: &Path) -> Place {
    let directories = file.parent().and_then(|parent| parent.strip_prefix(root).ok());
    let names: Vec<String> = directories
        .into_iter()
        .flat_map(Path::components)
        .filter(|component| matches!(component, Component::Normal(_)))
        .map(|component| component.as_os_str().to_string_lossy().into_owned())
        .collect();
    let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let of_group = |names: &[String], owner| Place { group: group(names), owner };
    // The framework's own directories, `_prepared` and those in `runs`, end the group's name.
    let own = names.iter().position(|name| name.starts_with('_')).unwrap_or(names.len());
    let (above, below) = names.split_at(own);
    match (above, below) {
        ([group @ .., runs], []) if runs == "runs" && slot(&stem).is_some() => {
            let (slug, run_idx) = slot(&stem).unwrap_or_default();
            of_group(group, Owner::Slot(slug.to_owned(), run_idx))
        }
        ([group @ .., slug], []) => of_group(group, Owner::Algorithm(slug.clone())),
        (group, [prepared, function, ..]) if prepared == "_prepared" => {
            of_group(group, Owner::Prepare(function.clone()))
        }
        ([group @ .., runs], [_, ..]) if runs == "runs" => of_group(group, Owner::Group),
        // The root may be the directory of one algorithm.
        ([], []) => of_group(&[], root_owner(root)),
        (group, [_, ..]) => of_group(group, Owner::Group),
    }
}

/// Slug and run index of a file's stem in `runs`: `ippo_0`.
pub(super) fn slot(stem: &str) -> Option<(&str, u32)> {
    let (slug, run_idx) = stem.rsplit_once('_')?;
    let digits = !run_idx.is_empty() && run_idx.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !slug.is_empty()).then_some(())?;
    Some((slug, run_idx.parse().ok()?))
}

fn group(names: &[String]) -> String {
    if names.is_empty() { ROOT_GROUP.to_owned() } else { names.join("/") }
}

fn root_owner(root: &Path) -> Owner {
    let name = std::path::absolute(root).ok();
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    name.map_or(Owner::Group, |name| Owner::Algorithm(name.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
