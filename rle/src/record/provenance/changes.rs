//! What differs between two source trees, and what keeps one from being exactly a commit, which
//! the mode `require_clean` refuses.

use std::collections::{BTreeMap, BTreeSet};

use super::format::Provenance;
use super::git::{Evidence, Missing};
use crate::Error;

/// How many changed files are named before the rest is counted.
const NAMED_FILES: usize = 5;

/// The difference between the sources of a record and those of now: `src/ppo.rs changed, ...`.
pub(crate) fn explain_sources(then: &Provenance, now: &Provenance) -> String {
    let (Some(then), Some(now)) = (&then.source, &now.source) else {
        return "one of them is supplied, the other captured".to_owned();
    };
    if now.tree_sha256.is_none() {
        let reason = now.reason.as_deref().unwrap_or("for an unknown reason");
        return format!("there are no sources now ({reason})");
    }
    if then.tree_sha256.is_none() {
        return "there are sources now, and were none".to_owned();
    }
    let changed = changed_files(&then.files, &now.files);
    if changed.is_empty() { "the sources changed".to_owned() } else { first_names(&changed) }
}

/// The first names, and how many more there are.
fn first_names(names: &[String]) -> String {
    let shown = &names[..names.len().min(NAMED_FILES)];
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

type Files = BTreeMap<String, String>;

/// The files that differ, by path: `src/ppo.rs changed`, `added` or `removed`.
pub(super) fn changed_files(old: &Files, new: &Files) -> Vec<String> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |path| match (old.get(path), new.get(path)) {
        (Some(then), Some(now)) => (then != now).then(|| format!("{path} changed")),
        (Some(_), None) => Some(format!("{path} removed")),
        (None, _) => Some(format!("{path} added")),
    };
    paths.into_iter().filter_map(change).collect()
}

/// Refuses a source that is not exactly a commit on a branch of an ordinary repository, with what to
/// do about each problem.
pub(super) fn check_clean(evidence: &Evidence) -> Result<(), Error> {
    let mut problems: Vec<String> = evidence.missing.iter().map(Missing::to_string).collect();
    let mut remedies: Vec<&str> = evidence.missing.iter().map(Missing::remedy).collect();
    // Without a commit everything differs from it: that is said already.
    if evidence.source.dirty == Some(true) && evidence.source.revision.is_some() {
        problems.push(format!("the tree is dirty ({})", first_names(&evidence.changed)));
        remedies.push("commit or stash the changes");
    }
    if problems.is_empty() {
        return Ok(());
    }
    remedies.dedup();
    Err(refusal(&problems.join("; "), &remedies.join(", ")))
}

/// Where there is no source tree at all.
pub(super) fn no_source(reason: &str) -> Error {
    refusal(reason, "name the sources with SuiteConfig::source_dir")
}

fn refusal(problem: &str, remedy: &str) -> Error {
    Error::usage(format!(
        "provenance mode require_clean: {problem}; to go on, {remedy}, or run with \
         --provenance-mode capture"
    ))
}
