//! The mode `require_clean`: only an exact commit may run.

use super::git::Evidence;
use crate::Error;

/// How many changed files are named before the rest is counted.
const NAMED_FILES: usize = 5;

const OR_CAPTURE: &str = "or run with --provenance-mode capture";

/// # Errors
/// Everything that keeps the source from being exactly a commit on a branch of an ordinary
/// repository, with what to do about each.
pub(super) fn check(evidence: &Evidence) -> Result<(), Error> {
    let mut problems: Vec<String> = Vec::new();
    let mut remedies: Vec<&str> = Vec::new();
    for missing in &evidence.missing {
        problems.push(missing.to_string());
        remedies.push(missing.remedy());
    }
    // Without a commit everything differs from it: that is said already.
    if evidence.dirty == Some(true) && evidence.revision.is_some() {
        problems.push(format!("the tree is dirty ({})", named(&evidence.changed)));
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
        "provenance mode require_clean: {problem}; to go on, {remedy}, {OR_CAPTURE}"
    ))
}

fn named(changed: &[String]) -> String {
    let shown = &changed[..changed.len().min(NAMED_FILES)];
    match changed.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
