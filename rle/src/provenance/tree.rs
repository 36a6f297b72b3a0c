//! The Rust and Cargo sources of a workspace, and one hash over them.
//!
//! Covered, anywhere below the root of the Cargo workspace: `*.rs`, `Cargo.toml`, `Cargo.lock`,
//! `.cargo/config.toml`, `rust-toolchain` and `rust-toolchain.toml`. Not covered: build
//! directories, hidden directories, the export directory, what only a link to a directory leads
//! to, and path dependencies outside the workspace.
//!
//! The hash is the SHA-256 of a sequence of fields, each its length in bytes (8 bytes,
//! little-endian) and then its bytes: once `rle-source-v1`, then for each file, in the byte order
//! of the paths, the relative path and the content's hash in hexadecimal (or `unreadable: ` and
//! the reason).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::{FieldHasher, hash_files, hex};

/// What stands in such a directory is made, not written.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const MANIFEST: &str = "Cargo.toml";

/// The sources of one workspace.
pub(super) struct Tree {
    /// The root, links resolved.
    pub(super) root: PathBuf,
    /// The export directory, links resolved as far as it exists.
    pub(super) export_dir: PathBuf,
    pub(super) sha256: String,
    /// Hash, or reason, by relative path.
    pub(super) files: BTreeMap<String, String>,
}

/// Reads the tree that `dir` belongs to; the error is the reason why there is none.
pub(super) fn read(dir: &Path, export_dir: &Path) -> Result<Tree, String> {
    let dir = fs::canonicalize(dir)
        .map_err(|error| format!("the directory {} cannot be read: {error}", dir.display()))?;
    let root = workspace_root(&dir)
        .ok_or_else(|| format!("no Cargo.toml in {} or above it", dir.display()))?;
    let export_dir = canonical_as_far_as_it_exists(export_dir);
    let mut walk = Walk { root: &root, export_dir: &export_dir, found: Vec::new(), faults: vec![] };
    walk.run();
    let Walk { found, faults: mut entries, .. } = walk;
    let hashes = hash_files(&found);
    entries.extend(found.into_iter().zip(hashes.into_iter().map(|outcome| match outcome {
        Ok(digest) => hex(&digest.sha256),
        Err(error) => unreadable(&error),
    })));
    let (sha256, files) = summarise(&root, entries);
    Ok(Tree { root, export_dir, sha256, files })
}

fn summarise(root: &Path, entries: Vec<(PathBuf, String)>) -> (String, BTreeMap<String, String>) {
    let relative = |path: &Path| {
        let below = path.strip_prefix(root).unwrap_or(path);
        below.iter().map(OsStr::as_encoded_bytes).collect::<Vec<_>>().join(&b'/')
    };
    // By the bytes: two names that are not UTF-8 may look alike as text.
    let entries: BTreeMap<Vec<u8>, String> =
        entries.into_iter().map(|(path, content)| (relative(&path), content)).collect();
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

/// In words that do not depend on the system's language.
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
    found: Vec<PathBuf>,
    /// Directories that could not be listed, with the reason: what they hold is unknown.
    faults: Vec<(PathBuf, String)>,
}

impl Walk<'_> {
    fn run(&mut self) {
        let mut pending = vec![self.root.to_owned()];
        while let Some(dir) = pending.pop() {
            let entries: Result<Vec<_>, _> = fs::read_dir(&dir).and_then(Iterator::collect);
            match entries {
                Ok(entries) => self.visit(&dir, &entries, &mut pending),
                Err(error) => self.faults.push((dir, unreadable(&error))),
            }
        }
    }

    fn visit(&mut self, dir: &Path, entries: &[DirEntry], pending: &mut Vec<PathBuf>) {
        let holds = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        if dir != self.root && holds(CACHE_TAG) {
            return;
        }
        let has_manifest = holds(MANIFEST);
        for entry in entries {
            let (name, path) = (entry.file_name(), entry.path());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let is_build = has_manifest && name == "target";
                if name == ".cargo" {
                    self.cargo_configuration(&path);
                } else if !is_build && !is_hidden(&name) && path != self.export_dir {
                    pending.push(path);
                }
            // A link to a file stands for its content, one to a directory for nothing.
            } else if is_source(&path) && (kind.is_file() || kind.is_symlink() && !path.is_dir()) {
                self.found.push(path);
            }
        }
    }

    /// Nothing else below `.cargo` is source: a whole package cache may lie there.
    fn cargo_configuration(&mut self, dir: &Path) {
        let path = dir.join("config.toml");
        if path.is_file() || path.is_symlink() {
            self.found.push(path);
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn is_source(path: &Path) -> bool {
    const NAMES: [&str; 4] = [MANIFEST, "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];
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
