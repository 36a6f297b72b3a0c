//! The questions about a source tree, and what follows from the answers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::remote;
use super::session::{Git, Missing, Session, entries, path_of, path_of_line};
use crate::record::provenance::format::Source;
use crate::value::digest::{FieldHasher, hex};

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
        answer
            .map_err(|missing| {
                if !self.missing.contains(&missing) {
                    self.missing.push(missing);
                }
            })
            .ok()
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
        evidence.source.revision = evidence.note(session.revision());
        evidence.source.branch = evidence.note(session.branch());
        evidence.missing.extend(session.peculiarities(&top));
        evidence.source.remote = session.remote(evidence.source.branch.as_deref());
        let changes = session.changes(&top, sources);
        if let Some(changes) = evidence.note(changes) {
            evidence.source.dirty = Some(changes.exist());
            if changes.exist() && evidence.source.revision.is_some() {
                let diff = session.diff_sha256(&changes, sources);
                evidence.source.diff_sha256 = evidence.note(diff);
            }
            evidence.changed = changes.names();
        }
        evidence
    }
}

/// Files that differ from the commit.
struct Changes {
    /// From the top of the repository.
    tracked: Vec<PathBuf>,
    /// Sources that are not tracked, from the workspace, sorted.
    untracked: Vec<String>,
}

impl Changes {
    fn exist(&self) -> bool {
        !self.tracked.is_empty() || !self.untracked.is_empty()
    }

    fn names(&self) -> Vec<String> {
        let tracked = self.tracked.iter().map(|path| path.display().to_string());
        tracked.chain(self.untracked.iter().cloned()).collect()
    }
}

impl Session<'_> {
    fn revision(&self) -> Result<String, Missing> {
        self.ask(&["rev-parse", "--verify", "HEAD^{commit}"]).map(|line| text_of_line(&line))
    }

    fn branch(&self) -> Result<String, Missing> {
        // It fails without a word where HEAD names a commit.
        let silence = Missing::from_stderr("symbolic-ref", b"");
        self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .map(|line| text_of_line(&line))
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
        Some(remote::without_credentials(url))
    }

    fn changes(&self, top: &Path, sources: Sources<'_>) -> Result<Changes, Missing> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"];
        let answer = self.ask(&status)?;
        // Each entry is two letters, a space, and the path from the top of the repository.
        let tracked = entries(&answer)
            .filter_map(|entry| entry.get(3..).map(path_of))
            .filter(|path| !top.join(path).starts_with(sources.export_dir))
            .collect();
        let others = self.ask(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        let mut untracked: Vec<String> = entries(&others)
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| sources.files.contains_key(path))
            .collect();
        untracked.sort_unstable();
        Ok(Changes { tracked, untracked })
    }

    /// The hash of the fields `rle-diff-v1`, the text of the difference between the commit and
    /// the tracked sources, and path and content hash of each source that is not tracked.
    fn diff_sha256(&self, changes: &Changes, sources: Sources<'_>) -> Result<String, Missing> {
        let mut hasher = FieldHasher::new("rle-diff-v1");
        hasher.field(&self.ask(&diff_arguments(sources))?);
        for path in &changes.untracked {
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

fn text_of_line(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim().to_owned()
}
