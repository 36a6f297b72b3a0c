//! The Rust and Cargo sources of a workspace, and one hash over them.
//!
//! Covered, anywhere below the root of the Cargo workspace: `*.rs`, `Cargo.toml`, `Cargo.lock`,
//! `.cargo/config.toml`, `rust-toolchain` and `rust-toolchain.toml`. Not covered: build
//! directories, hidden directories, export directories, what only a link to a directory leads
//! to, and path dependencies outside the workspace. What the suite's input patterns match is
//! covered too: a directory with all that it holds, but never what lies in a build directory, in an
//! export directory or in `.git`; a link to a directory leads on only where a pattern names it word
//! for word, and else counts by its target's text.
//!
//! The hash is the SHA-256 of a sequence of fields, each its length in bytes (8 bytes,
//! little-endian) and then its bytes: once `rle-source-v1`, then for each file, in the byte order
//! of the paths, the relative path and the content's hash in hexadecimal (or `unreadable: ` and
//! the reason).

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::inputs::{Inputs, is_hidden};
use crate::run::artifacts::relative_bytes;
use crate::value::digest::{FieldHasher, hash_files, hex};

/// Marks a directory whose content a program made, and no person wrote.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const MANIFEST: &str = "Cargo.toml";
/// Sources that are known by their names.
const NAMES: [&str; 4] = [MANIFEST, "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];

pub(super) struct Tree {
    /// The root, links resolved.
    pub(super) root: PathBuf,
    /// The export directory, links resolved as far as it exists.
    pub(super) export_dir: PathBuf,
    pub(super) sha256: String,
    /// Hash, or reason, by relative path.
    pub(super) files: BTreeMap<String, String>,
    /// What programs are built from, without the inputs: with the root before it.
    pub(super) sources: Vec<PathBuf>,
}

/// Reads the tree that `dir` belongs to; the error is the reason why there is none.
pub(super) fn read(dir: &Path, export_dir: &Path, inputs: &Inputs) -> Result<Tree, String> {
    let dir = fs::canonicalize(dir)
        .map_err(|error| format!("the directory {} cannot be read: {error}", dir.display()))?;
    let root = workspace_root(&dir)
        .ok_or_else(|| format!("no Cargo.toml in {} or above it", dir.display()))?;
    let export_dir = canonical_as_far_as_it_exists(export_dir);
    let mut walk = Walk {
        root: &root,
        export_dir: &export_dir,
        inputs,
        sources: Vec::new(),
        others: Vec::new(),
        notes: Vec::new(),
    };
    walk.run();
    let Walk { sources, others, notes: mut entries, .. } = walk;
    let found = [sources.clone(), others].concat();
    let hashes = hash_files(&found);
    entries.extend(found.into_iter().zip(hashes.into_iter().map(|outcome| match outcome {
        Ok(digest) => hex(&digest.sha256),
        Err(error) => unreadable(&error),
    })));
    let (sha256, files) = summarise(&root, entries);
    Ok(Tree { root, export_dir, sha256, files, sources })
}

/// What counts as source, as git's patterns.
pub(super) fn git_patterns() -> impl Iterator<Item = String> {
    let everywhere = NAMES.iter().map(|name| format!("**/{name}"));
    everywhere.chain(["**/*.rs".to_owned(), "**/.cargo/config.toml".to_owned()])
}

fn summarise(root: &Path, entries: Vec<(PathBuf, String)>) -> (String, BTreeMap<String, String>) {
    let entry = |(path, content): (PathBuf, String)| (relative_bytes(root, &path), content);
    let entries: BTreeMap<Vec<u8>, String> = entries.into_iter().map(entry).collect();
    let mut hasher = FieldHasher::new("rle-source-v1");
    for (path, content) in &entries {
        hasher.field(path);
        hasher.field(content.as_bytes());
    }
    let files = entries
        .into_iter()
        .map(|(path, content)| (String::from_utf8_lossy(&path).into_owned(), content))
        .collect();
    (hex(&hasher.finish()), files)
}

fn unreadable(error: &io::Error) -> String {
    format!("unreadable: {}", error.kind())
}

/// The nearest workspace at or above `dir`, else the nearest package.
fn workspace_root(dir: &Path) -> Option<PathBuf> {
    let manifests = || dir.ancestors().filter(|dir| dir.join(MANIFEST).is_file());
    let is_workspace = |dir: &&Path| {
        fs::read_to_string(dir.join(MANIFEST)).is_ok_and(|text| declares_workspace(&text))
    };
    manifests().find(is_workspace).or_else(|| manifests().next()).map(Path::to_owned)
}

/// Whether a manifest has a table `workspace`. By its lines: a TOML parser is not always built in,
/// and what counts as source must not depend on that.
fn declares_workspace(manifest: &str) -> bool {
    let mut before_first_table = true;
    manifest.lines().map(str::trim).any(|line| {
        let Some(header) = line.strip_prefix('[') else {
            return before_first_table && first_key(line) == "workspace";
        };
        before_first_table = false;
        first_key(header) == "workspace"
    })
}

/// The first part of a dotted key at the start of `text`, without its quotes.
fn first_key(text: &str) -> &str {
    let end = text.find(['.', ']', '=', '#']).unwrap_or(text.len());
    text[..end].trim().trim_matches(['"', '\''])
}

struct Walk<'a> {
    root: &'a Path,
    export_dir: &'a Path,
    inputs: &'a Inputs,
    sources: Vec<PathBuf>,
    others: Vec<PathBuf>,
    /// Directories that could not be listed and links that are not followed, with a note.
    notes: Vec<(PathBuf, String)>,
}

struct Pending {
    dir: PathBuf,
    /// Whether sources are looked for.
    sources: bool,
    /// Whether everything in it is an input.
    all: bool,
}

impl Walk<'_> {
    fn run(&mut self) {
        let mut pending = vec![Pending { dir: self.root.to_owned(), sources: true, all: false }];
        while let Some(next) = pending.pop() {
            let entries: Result<Vec<_>, _> = fs::read_dir(&next.dir).and_then(Iterator::collect);
            match entries {
                Ok(entries) => self.visit(&next, &entries, &mut pending),
                Err(error) => self.notes.push((next.dir, unreadable(&error))),
            }
        }
    }

    fn visit(&mut self, here: &Pending, entries: &[DirEntry], pending: &mut Vec<Pending>) {
        let holds = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        let has_manifest = holds(MANIFEST);
        let is_export = !has_manifest && holds("_logs") && holds("runs");
        if here.dir != self.root && (holds(CACHE_TAG) || is_export) {
            return;
        }
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                let is_build = has_manifest && entry.file_name() == "target";
                if !is_build {
                    pending.extend(self.directory(here, path));
                }
            } else if kind.is_symlink() && path.is_dir() {
                pending.extend(self.linked_directory(here, path));
            } else if kind.is_file() || kind.is_symlink() && !is_special(&path) {
                self.file(here, path);
            }
        }
    }

    fn file(&mut self, here: &Pending, path: PathBuf) {
        let matched = self.inputs.matches(self.relative(&path));
        if here.sources && is_source(&path) {
            self.sources.push(path);
        } else if here.all || matched {
            self.others.push(path);
        }
    }

    fn directory(&mut self, here: &Pending, path: PathBuf) -> Option<Pending> {
        let name = path.file_name().unwrap_or_default();
        if name == ".git" || path == self.export_dir {
            return None;
        }
        // Nothing else below `.cargo` is source: a whole package cache may lie there.
        let cargo = path.join("config.toml");
        if here.sources && name == ".cargo" && (cargo.is_file() || cargo.is_symlink()) {
            self.sources.push(cargo);
        }
        let sources = here.sources && !is_hidden(name);
        let relative = self.relative(&path);
        let all = here.all || self.inputs.matches(relative);
        let wanted = sources || all || self.inputs.lead_into(relative);
        wanted.then_some(Pending { dir: path, sources, all })
    }

    /// A link is never followed to sources, and to inputs only where a pattern names it, so that it
    /// cannot lead in a circle.
    fn linked_directory(&mut self, here: &Pending, path: PathBuf) -> Option<Pending> {
        let relative = self.relative(&path);
        let matched = self.inputs.matches(relative);
        if self.inputs.name(relative) {
            let inside =
                fs::canonicalize(&path).is_ok_and(|real| real.starts_with(self.export_dir));
            return (!inside).then_some(Pending { dir: path, sources: false, all: matched });
        }
        if here.all || matched {
            let target = fs::read_link(&path).unwrap_or_default();
            self.notes.push((path, format!("link to {}", target.display())));
        }
        None
    }

    fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.root).unwrap_or(path)
    }
}

/// Whether the path is something other than a file, such as a pipe, whose reading may not end.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|target| !target.is_file())
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
        || path.file_name().is_some_and(|name| NAMES.iter().any(|source| name == *source))
}

fn canonical_as_far_as_it_exists(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for existing in path.ancestors() {
        if let Ok(canonical) = fs::canonicalize(existing) {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            // Joining an empty rest would add a separator.
            return if rest.as_os_str().is_empty() { canonical } else { canonical.join(rest) };
        }
    }
    path
}

#[cfg(test)]
mod tests;
