//! The names under which people know algorithms.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::npz;
use super::place::slot;
use crate::record;

/// The files of one algorithm's runs in `runs/`, the last run last.
#[derive(Debug, Default)]
struct RunFiles {
    records: BTreeMap<u32, PathBuf>,
    archives: BTreeMap<u32, PathBuf>,
}

/// The labels of a group's algorithms.
#[derive(Debug)]
pub(super) struct Labels(BTreeMap<String, RunFiles>);

impl Labels {
    /// Looks at what is in the directory `runs` of a group; there may be none.
    pub(super) fn of_group(group: &Path) -> Self {
        let mut files: BTreeMap<String, RunFiles> = BTreeMap::new();
        for entry in fs::read_dir(group.join("runs")).into_iter().flatten().flatten() {
            let path = entry.path();
            // To open anything else may wait for another program.
            if !path.is_file() {
                continue;
            }
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let extension = path.extension().and_then(|extension| extension.to_str());
            let Some((slug, run_idx)) = stem.as_deref().and_then(slot) else { continue };
            let files = files.entry(slug.to_owned()).or_default();
            match extension {
                Some("json") => files.records.insert(run_idx, path),
                Some("np") => files.archives.insert(run_idx, path),
                _ => None,
            };
        }
        Self(files)
    }

    /// The label of an algorithm: from the record of its last run, else from its last run archive,
    /// else made of its slug.
    pub(super) fn label(&self, slug: &str) -> String {
        let files = self.0.get(slug);
        let recorded = files.and_then(|files| files.records.last_key_value());
        let recorded = recorded.and_then(|(_, path)| record::read_head(path));
        let archived = || {
            let (_, path) = files?.archives.last_key_value()?;
            npz::text(path, "algo")
        };
        let recorded = recorded.map(|head| head.algorithm.name);
        recorded.or_else(archived).unwrap_or_else(|| prettified(slug))
    }
}

/// `ippo_lagrangian` as `Ippo Lagrangian`.
fn prettified(slug: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    };
    let words: Vec<String> = slug.split('_').filter(|part| !part.is_empty()).map(word).collect();
    if words.is_empty() { slug.to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_without_files_gives_its_words() {
        let labels = Labels::of_group(Path::new("/no/such/group"));
        assert_eq!(labels.label("ippo_lagrangian"), "Ippo Lagrangian");
        assert_eq!(labels.label("run-001"), "Run-001");
        assert_eq!(labels.label("__"), "__");
    }
}
