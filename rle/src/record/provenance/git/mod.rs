//! What git says about the source, or why it says nothing: the questions, and what follows from the
//! answers.
//!
//! Never fails: what git does not tell is named as missing.
//!
//! - `session`: asks git, within a time limit, or says why there is no answer.

mod session;

#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::format::Source;
use crate::value::digest::{FieldHasher, hex};

pub(super) use session::{Git, Missing};
use session::{Session, entries, path_of, path_of_line};

/// What was learnt; `missing` tells why the rest was not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Without the tree and its files.
    pub(crate) source: Source,
    pub(crate) missing: Vec<Missing>,
    /// The files that make the tree dirty, from the top of the repository or from the workspace.
    pub(crate) changed: Vec<String>,
}

#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// The workspace, links resolved.
    pub(crate) root: &'a Path,
    /// Files that make the tree dirty when they are not tracked, with their hashes.
    pub(crate) files: &'a BTreeMap<String, String>,
    /// Never makes the tree dirty; links resolved.
    pub(crate) export_dir: &'a Path,
    /// What counts as source, as git's own patterns below the workspace.
    pub(crate) patterns: &'a [String],
}

impl Evidence {
    pub(crate) fn reason(&self) -> Option<String> {
        let reasons: Vec<String> = self.missing.iter().map(Missing::to_string).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn note<T>(&mut self, answer: Result<T, Missing>) -> Option<T> {
        let note = |missing| {
            if !self.missing.contains(&missing) {
                self.missing.push(missing);
            }
        };
        answer.map_err(note).ok()
    }
}

impl Git {
    pub(crate) fn evidence(&self, sources: Sources<'_>) -> Evidence {
        let deadline = Instant::now() + self.patience;
        let session = Session { git: self, root: sources.root, deadline };
        let mut evidence = Evidence::default();
        let top = session.ask(&["rev-parse", "--show-toplevel"]).map(|top| path_of_line(&top));
        let Some(top) = evidence.note(top) else { return evidence };
        evidence.source.vcs = Some("git".to_owned());
        evidence.source.revision =
            evidence.note(session.ask_line(&["rev-parse", "--verify", "HEAD^{commit}"]));
        evidence.source.branch = evidence.note(session.branch());
        evidence.missing.extend(session.peculiarities(&top));
        evidence.source.remote = session.remote(evidence.source.branch.as_deref());
        let changes = session.changes(&top, sources);
        if let Some((tracked, untracked)) = evidence.note(changes) {
            evidence.changed = [tracked, untracked.clone()].concat();
            let is_dirty = !evidence.changed.is_empty();
            evidence.source.dirty = Some(is_dirty);
            if is_dirty && evidence.source.revision.is_some() {
                let diff = session.diff_sha256(&untracked, sources);
                evidence.source.diff_sha256 = evidence.note(diff);
            }
        }
        evidence
    }
}

impl Session<'_> {
    fn ask_line(&self, arguments: &[&str]) -> Result<String, Missing> {
        self.ask(arguments).map(|line| String::from_utf8_lossy(&line).trim().to_owned())
    }

    fn branch(&self) -> Result<String, Missing> {
        // It fails without a word where HEAD names a commit.
        let silence = Missing::from_stderr("symbolic-ref", b"");
        self.ask_line(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .map_err(|missing| if missing == silence { Missing::Detached } else { missing })
    }

    /// What is unusual about the checkout, as far as git tells.
    fn peculiarities(&self, top: &Path) -> Vec<Missing> {
        let question = [
            "rev-parse",
            "--is-shallow-repository",
            "--git-dir",
            "--git-common-dir",
            "--show-superproject-working-tree",
        ];
        let answer = self.ask(&question).unwrap_or_default();
        let mut lines = answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut found = Vec::new();
        if lines.next() == Some(b"true") {
            found.push(Missing::Shallow);
        }
        let mut directory =
            || lines.next().and_then(|line| fs::canonicalize(self.root.join(path_of(line))).ok());
        if let (Some(own), Some(common)) = (directory(), directory())
            && own != common
        {
            found.push(Missing::Worktree);
        }
        if lines.next().is_some() {
            found.push(Missing::InSubmodule);
        }
        if top.join(".gitmodules").is_file() {
            found.push(Missing::HasSubmodules);
        }
        found
    }

    /// The address of the branch's remote, of `origin`, or of the first remote, without credentials
    /// and without the machine's rewriting rules, which may hold a token.
    fn remote(&self, branch: Option<&str>) -> Option<String> {
        let wanted = r"^(remote\..*\.url|branch\..*\.remote)$";
        // Without any remote it fails without a word; then there is none.
        let answer = self.ask(&["config", "--null", "--get-regexp", wanted]).ok()?;
        let values: Vec<(String, String)> = entries(&answer)
            .map(String::from_utf8_lossy)
            .filter_map(|entry| {
                let (key, value) = entry.split_once('\n')?;
                Some((key.to_owned(), value.to_owned()))
            })
            .collect();
        let find = |key: String| values.iter().find(|(known, _)| *known == key);
        let upstream = branch
            .and_then(|branch| find(format!("branch.{branch}.remote")))
            .map_or("origin", |(_, name)| name.as_str());
        let (_, url) = find(format!("remote.{upstream}.url"))
            .or_else(|| find("remote.origin.url".to_owned()))
            .or_else(|| values.iter().find(|(key, _)| key.starts_with("remote.")))?;
        Some(without_credentials(url))
    }

    /// The files that differ from the commit, from the top of the repository, and the sources that are
    /// not tracked, from the workspace and sorted.
    fn changes(
        &self,
        top: &Path,
        sources: Sources<'_>,
    ) -> Result<(Vec<String>, Vec<String>), Missing> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"];
        let answer = self.ask(&status)?;
        // Each entry is two letters, a space, and the path from the top of the repository.
        let tracked = entries(&answer)
            .filter_map(|entry| entry.get(3..).map(path_of))
            .filter(|path| !top.join(path).starts_with(sources.export_dir))
            .map(|path| path.display().to_string())
            .collect();
        let others = self.ask(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        let mut untracked: Vec<String> = entries(&others)
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| sources.files.contains_key(path))
            .collect();
        untracked.sort_unstable();
        Ok((tracked, untracked))
    }

    /// The hash of the fields `rle-diff-v1`, the text of the difference between the commit and
    /// the tracked sources, and path and content hash of each source that is not tracked.
    fn diff_sha256(&self, untracked: &[String], sources: Sources<'_>) -> Result<String, Missing> {
        let mut hasher = FieldHasher::new("rle-diff-v1");
        hasher.field(&self.ask(&diff_arguments(sources))?);
        for path in untracked {
            hasher.field(path.as_bytes());
            hasher.field(sources.files.get(path).map_or("", String::as_str).as_bytes());
        }
        Ok(hex(&hasher.finish()))
    }
}

/// The arguments for a difference that does not depend on git's configuration.
fn diff_arguments(sources: Sources<'_>) -> Vec<OsString> {
    let fixed = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-renames",
        "--full-index",
        "--unified=3",
        "--inter-hunk-context=0",
        "--diff-algorithm=myers",
        "--indent-heuristic",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--submodule=short",
        "-O/dev/null",
        "HEAD",
        "--",
    ];
    let mut arguments: Vec<OsString> = fixed.map(OsString::from).into();
    arguments.extend(sources.patterns.iter().map(|pattern| format!(":(glob){pattern}").into()));
    if let Ok(below) = sources.export_dir.strip_prefix(sources.root)
        && below != OsStr::new("")
    {
        let mut exclude = OsString::from(":(exclude,literal)");
        exclude.push(below);
        arguments.push(exclude);
    }
    arguments
}

/// The address with neither user, token nor password, query nor fragment. Where it can be read in
/// two ways, more of it is left out rather than less.
fn without_credentials(address: &str) -> String {
    if let Some((scheme, rest)) = address.split_once("://")
        && is_word(scheme)
    {
        return format!("{scheme}://{}", host_and_path(rest));
    }
    if let Some((helper, rest)) = address.split_once("::")
        && is_word(helper)
    {
        // The address of `ext` is a command line, which may say anything.
        return if helper == "ext" {
            "ext::".to_owned()
        } else {
            format!("{helper}::{}", without_credentials(rest))
        };
    }
    let (before_path, _) = address.split_once('/').unwrap_or((address, ""));
    // Without a colon before the first slash it is a path of this machine.
    if !before_path.contains(':') {
        return address.to_owned();
    }
    match before_path.rfind('@') {
        Some(at) => address[at + 1..].to_owned(),
        None => address.to_owned(),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

fn host_and_path(rest: &str) -> &str {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host_starts = rest[..end].rfind('@').map_or(0, |at| at + 1);
    let host = &rest[host_starts..end];
    // A password with an unescaped separator makes a host of its first half.
    let is_cut_password = !host.ends_with(']')
        && host.rsplit_once(':').is_some_and(|(_, port)| !port.bytes().all(|c| c.is_ascii_digit()));
    let start = match rest.rfind('@') {
        Some(at) if is_cut_password => at + 1,
        _ => host_starts,
    };
    let kept = &rest[start..];
    &kept[..kept.find(['?', '#']).unwrap_or(kept.len())]
}
