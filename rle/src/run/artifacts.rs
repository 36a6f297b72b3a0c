//! Files and directories that runs leave or need: their identity, and where they may lie.
//!
//! A file's identity is the SHA-256 of its content. A directory's is the SHA-256 of its
//! manifest, a sequence of fields of which each is its length in bytes (8 bytes, little-endian)
//! and then its bytes:
//!
//! 1. once, the word `rle-directory-v1`;
//! 2. for each entry below the directory, in the byte order of the relative paths: the relative
//!    path with `/` between its parts; the kind, `file`, `directory` or `symlink`; and the
//!    32 bytes of the file's SHA-256, nothing, or the link's target.
//!
//! Links below the directory are never followed, empty directories count, times and modes do
//! not. A path that is itself a link stands for what it leads to.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use crate::fs::{failpoint, sync_directory};
use crate::value::digest::{FieldHasher, hash_file, hash_files, hex};
use crate::{Error, SlotId};

/// Which of the two a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathKind {
    /// A file.
    File,
    /// A directory with everything below it.
    Directory,
}

impl fmt::Display for PathKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// Where the outputs of a run lie: `<export_dir>/<slug>/artifacts/run_<run_idx>`.
pub(crate) fn run_directory(export_dir: &Path, slot: &SlotId) -> PathBuf {
    let run = format!("run_{}", slot.run_idx());
    export_dir.join(slot.slug().as_str()).join("artifacts").join(run)
}

/// What a path holds: equal identities, equal content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathIdentity {
    pub(crate) kind: PathKind,
    /// The size of the file, or of all files below the directory.
    pub(crate) bytes: u64,
    /// In lower-case hexadecimal.
    pub(crate) sha256: String,
}

/// The identity of the file or directory at `path`; the files of a directory are hashed on all
/// cores. Anything that is neither file, directory nor link (a socket, say), here or below, is an
/// error.
pub(crate) fn hash_path(path: &Path) -> Result<PathIdentity, Error> {
    let metadata = fs::metadata(path).map_err(Error::cannot("read", path))?;
    if metadata.is_dir() {
        return hash_directory(path);
    }
    if !metadata.is_file() {
        return Err(special_file(path));
    }
    let digest = hash_file(path).map_err(Error::cannot("read", path))?;
    let sha256 = hex(&digest.sha256);
    Ok(PathIdentity { kind: PathKind::File, bytes: digest.bytes, sha256 })
}

/// Entries of a directory's manifest: path, kind and content of each.
type Manifest = BTreeMap<Vec<u8>, (&'static str, Vec<u8>)>;

fn hash_directory(root: &Path) -> Result<PathIdentity, Error> {
    let (files, mut manifest) = list(root)?;
    let mut bytes = 0;
    for (path, digest) in files.iter().zip(hash_files(&files)) {
        let digest = digest.map_err(Error::cannot("read", path))?;
        bytes += digest.bytes;
        manifest.insert(relative_bytes(root, path), ("file", digest.sha256.to_vec()));
    }
    let mut hasher = FieldHasher::new("rle-directory-v1");
    for (path, (kind, content)) in &manifest {
        hasher.field(path);
        hasher.field(kind.as_bytes());
        hasher.field(content);
    }
    Ok(PathIdentity { kind: PathKind::Directory, bytes, sha256: hex(&hasher.finish()) })
}

/// The files below a directory, and the manifest's entries for all else.
fn list(root: &Path) -> Result<(Vec<PathBuf>, Manifest), Error> {
    let (mut files, mut others) = (Vec::new(), Manifest::new());
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        let failed = Error::cannot("list", &dir);
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(Error::cannot("read", &path))?;
            if kind.is_file() {
                files.push(path);
            } else if kind.is_dir() {
                others.insert(relative_bytes(root, &path), ("directory", Vec::new()));
                pending.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(Error::cannot("read", &path))?;
                let target = target.into_os_string().into_encoded_bytes();
                others.insert(relative_bytes(root, &path), ("symlink", target));
            } else {
                return Err(special_file(&path));
            }
        }
    }
    Ok((files, others))
}

/// The path from `root`, with `/` between its parts. In bytes: two names that are not UTF-8 may look
/// alike as text.
pub(crate) fn relative_bytes(root: &Path, path: &Path) -> Vec<u8> {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.iter().map(OsStr::as_encoded_bytes).collect::<Vec<_>>().join(&b'/')
}

fn special_file(path: &Path) -> Error {
    let problem =
        "is neither a file nor a directory (a pipe, socket or device has no content to keep)";
    Error::file(path, problem)
}

/// The path of the artifact `name` below `root`, with its parent directories created.
///
/// A name that is absolute, empty or has an empty part, `.`, `..` or a NUL, and one that leads out
/// of `root` through a symbolic link, is an error before anything is created.
pub(crate) fn contained_path(root: &Path, name: &str) -> Result<PathBuf, Error> {
    let refused = |problem: &str| {
        Error::usage(format!(
            "the artifact name `{}` {problem}; a relative path that stays below {} is accepted",
            name.escape_debug(),
            root.display()
        ))
    };
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    let normal = |part| matches!(part, Component::Normal(_));
    let is_plain = name.split('/').all(plain) && Path::new(name).components().all(normal);
    for (is_wrong, problem) in [
        (name.is_empty(), "is empty"),
        (name.contains('\0'), "holds a NUL"),
        (Path::new(name).is_absolute(), "is absolute"),
        (!is_plain, "has a part that is empty, `.` or `..`"),
    ] {
        if is_wrong {
            return Err(refused(problem));
        }
    }
    let path = root.join(name);
    if let Some(link) = leaving_link(root, &path)? {
        return Err(refused(&format!("leaves through the symbolic link {}", link.display())));
    }
    create_parents(&path)?;
    Ok(path)
}

/// The first link between `root` and `path` that leads out of `root`, or nowhere.
fn leaving_link(root: &Path, path: &Path) -> Result<Option<PathBuf>, Error> {
    let root_itself = Error::unless_missing("read", root, fs::canonicalize(root))?;
    let Some(root_itself) = root_itself else { return Ok(None) };
    let mut reached = root.to_owned();
    for part in path.strip_prefix(root).unwrap_or(path) {
        reached.push(part);
        let Ok(metadata) = fs::symlink_metadata(&reached) else { return Ok(None) };
        let leaves = || fs::canonicalize(&reached).map_or(true, |to| !to.starts_with(&root_itself));
        if metadata.is_symlink() && leaves() {
            return Ok(Some(reached));
        }
    }
    Ok(None)
}

/// How a record names the existing `path`: relative to the export directory where it is below it,
/// so that the whole tree can be moved, else absolute. Links to directories are resolved; a link
/// that is the last part keeps its name. A name that is not UTF-8 is an error.
pub(crate) fn relative_to_export(export_dir: &Path, path: &Path) -> Result<String, Error> {
    let real = |path: &Path| fs::canonicalize(path).map_err(Error::cannot("read", path));
    let export_dir = real(export_dir)?;
    let located = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            real(parent)?.join(name)
        }
        _ => real(path)?,
    };
    let stored = located.strip_prefix(&export_dir).unwrap_or(&located);
    let stored = if stored.as_os_str().is_empty() { Path::new(".") } else { stored };
    let text = stored.to_str().ok_or_else(|| {
        Error::file(path, "has a name that is not UTF-8, which a record cannot hold")
    })?;
    Ok(text.to_owned())
}

/// Whether a path as [`relative_to_export`] gave it holds what belongs to the runner or to several
/// slots: setting one slot aside would take it from the others.
pub(crate) fn is_shared(export_dir: &Path, stored: &str) -> bool {
    let stored = Path::new(stored);
    if stored.is_absolute() {
        return fs::canonicalize(export_dir).is_ok_and(|export_dir| export_dir.starts_with(stored));
    }
    let parts: Vec<&str> = stored.iter().filter_map(OsStr::to_str).collect();
    match parts.as_slice() {
        [] | ["." | "runs", ..] => true,
        [first, ..] if first.starts_with('_') => true,
        [slug] | [slug, "artifacts" | "checkpoints"] => {
            let holds = |kind| holds_runs(&export_dir.join(slug).join(kind));
            holds("artifacts") || holds("checkpoints")
        }
        _ => false,
    }
}

fn holds_runs(directory: &Path) -> bool {
    let is_run = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("run_");
    fs::read_dir(directory).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(is_run)))
}

/// Where a path as [`relative_to_export`] gave it lies now.
pub(crate) fn resolve_stored(export_dir: &Path, stored: &str) -> PathBuf {
    // Joining an absolute path gives that path.
    export_dir.join(stored)
}

/// Copies a file or a directory with everything below it; links stay links. The directories that
/// `to` lies in are made; `to` itself appears only when the copy is whole.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), Error> {
    create_parents(to)?;
    let mut name = to.file_name().unwrap_or_default().to_os_string();
    name.push(".copying");
    let unfinished = to.with_file_name(name);
    if unfinished.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_dir_all(&unfinished)
            .map_err(Error::cannot("clear the unfinished copy", &unfinished))?;
    }
    let source = fs::canonicalize(from).map_err(Error::cannot("read", from))?;
    if let Err(error) = copy_entry(&source, &unfinished) {
        // The first error is the one to report.
        let _ = fs::remove_file(&unfinished).or_else(|_| fs::remove_dir_all(&unfinished));
        return Err(error);
    }
    failpoint()?;
    fs::rename(&unfinished, to).map_err(Error::cannot("rename", &unfinished))
}

fn copy_entry(from: &Path, to: &Path) -> Result<(), Error> {
    let metadata = from.symlink_metadata().map_err(Error::cannot("read", from))?;
    if metadata.is_symlink() {
        let target = fs::read_link(from).map_err(Error::cannot("read", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(Error::cannot("copy a link to", to));
    }
    if !metadata.is_dir() {
        // On disk before anyone removes the original.
        return fs::copy(from, to)
            .and_then(|_| fs::File::open(to)?.sync_all())
            .map_err(Error::cannot("copy to", to));
    }
    fs::create_dir(to).map_err(Error::cannot("create the directory", to))?;
    for path in list_directory(from)? {
        copy_entry(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    sync_directory(to)
}

/// The paths directly in a directory; none where it does not exist.
pub(crate) fn list_directory(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = Error::unless_missing("list", directory, fs::read_dir(directory))?;
    let path = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.path());
    let paths: io::Result<_> = entries.into_iter().flatten().map(path).collect();
    paths.map_err(Error::cannot("list", directory))
}

/// Removes a file, if it is there.
pub(crate) fn remove_file(path: &Path) -> Result<(), Error> {
    Error::unless_missing("remove", path, fs::remove_file(path)).map(drop)
}

/// Makes a directory; false where there is something of that name already.
pub(crate) fn create_new_directory(path: &Path) -> Result<bool, Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|()| true).map_err(Error::cannot("create the directory", path)),
    }
}

/// Makes the directories that a path lies in.
pub(crate) fn create_parents(path: &Path) -> Result<(), Error> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(Error::cannot("create the directory", parent))
}

/// Whether the directory is missing or holds nothing.
pub(crate) fn is_empty_dir(path: &Path) -> bool {
    fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests;
