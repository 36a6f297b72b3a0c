//! Whole-file writes: a reader sees the old file or the new one, never a part of either.
//!
//! The new content goes to a uniquely named temporary in the same directory, which its writer
//! keeps locked until the rename. A leftover of a killed writer is therefore a temporary whose
//! lock is free: no process id has to be trusted to sweep it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::lock::try_exclusive;
use crate::Error;

/// Marks a file as a temporary of ours. Not `.json`, so that no scan of records takes it for one.
const SUFFIX: &str = ".rle-tmp";
/// Marks a file as an offer to the holder of a lock, locked by its owner as a temporary is.
pub(crate) const OFFER_SUFFIX: &str = ".rle-offer";
/// Keeps a temporary's name short enough for every file system, whatever the target is called.
const NAME_BYTES: usize = 60;
/// As many links as Linux itself follows in one path.
const MAX_LINKS: usize = 40;
/// A sweep may meet a temporary between its creation and its lock; more than once is no chance.
const CREATE_ATTEMPTS: usize = 16;

/// Replaces the file at `path` by what `fill` writes, or leaves it as it was.
///
/// The content is on disk when this returns: file and directory are synced. A symbolic link
/// stays one, and the file it leads to is replaced. The file has the mode that any new file
/// gets. An error or a panic in `fill` leaves the old file and no temporary.
///
/// # Errors
/// Names `path` when the directory is missing or refuses the file, when `path` is a directory,
/// when `fill` fails, and when the disk is full.
pub(crate) fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    replace_file(path, fill)?.sync()
}

/// A file that was replaced: its content is on disk, its name in the directory may not be yet.
#[derive(Debug)]
#[must_use = "only a synced directory makes the replacement last"]
pub(crate) struct Replaced {
    path: PathBuf,
    target: PathBuf,
}

impl Replaced {
    /// Waits until the new name is on disk as well.
    ///
    /// # Errors
    /// Names the file when the system cannot promise it.
    pub(crate) fn sync(self) -> Result<(), Error> {
        sync_dir(directory_of(&self.target)).map_err(|error| Error::io("write", &self.path, error))
    }
}

/// As [`write_atomically`], but the directory is synced only by [`Replaced::sync`], which need
/// not happen under the lock that the replacement needs.
///
/// # Errors
/// As `write_atomically`.
pub(crate) fn replace_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Replaced, Error> {
    prepare_file(path, fill)?.put()
}

/// A file whose new content is on disk, beside it.
#[derive(Debug)]
#[must_use = "the file is as it was until the new content is put in its place"]
pub(crate) struct Prepared {
    path: PathBuf,
    target: PathBuf,
    temporary: Temporary,
}

impl Prepared {
    /// Puts the new content in the place of the old one.
    ///
    /// # Errors
    /// Names the file; it is as it was then.
    pub(crate) fn put(self) -> Result<Replaced, Error> {
        let Self { path, target, mut temporary } = self;
        match temporary.rename_to(&target) {
            Ok(()) => Ok(Replaced { path, target }),
            Err(error) => Err(Error::io("write", &path, error)),
        }
    }
}

/// The first part of [`replace_file`], after which the file is still as it was.
///
/// # Errors
/// As `write_atomically`.
pub(crate) fn prepare_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Prepared, Error> {
    let failed = |source| Error::io("write", path, source);
    let target = follow_links(path).map_err(failed)?;
    if target.is_dir() {
        return Err(Error::file(
            path,
            "is a directory where a file has to be written; move it away",
        ));
    }
    let mut temporary = Temporary::create(&target).map_err(failed)?;
    let mut writer = BufWriter::new(&mut temporary.file);
    fill(&mut writer).and_then(|()| writer.flush()).map_err(failed)?;
    drop(writer);
    temporary.file.sync_all().map_err(failed)?;
    Ok(Prepared { path: path.to_owned(), target, temporary })
}

/// The file that a write to `path` replaces: where its links lead, or `path` itself.
///
/// # Errors
/// Names `path` when its links form a loop or cannot be read.
pub(crate) fn link_target(path: &Path) -> Result<PathBuf, Error> {
    follow_links(path).map_err(|error| Error::io("follow the link", path, error))
}

/// Replaces the file at `path` by `value` as indented JSON with a final newline.
///
/// # Errors
/// As [`write_atomically`]; a value that does not serialise is one too, and nothing is written.
pub(crate) fn write_json_atomically(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_atomically(path, |mut writer| {
        serde_json::to_writer_pretty(&mut writer, value)?;
        writer.write_all(b"\n")
    })
}

/// Proves that a file of that size can be written in `dir`; none is left.
///
/// What a kill leaves is a temporary like any other, for [`sweep_leftovers`].
///
/// # Errors
/// Names `dir` when it is missing, refuses the file, or lies on a full disk.
pub(crate) fn probe_writing(dir: &Path, bytes: usize) -> Result<(), Error> {
    let failed = |source| Error::io("write into", dir, source);
    let mut temporary = Temporary::create(&dir.join("probe")).map_err(failed)?;
    let content = vec![b' '; bytes];
    temporary.file.write_all(&content).and_then(|()| temporary.file.sync_all()).map_err(failed)
}

/// Removes what killed writers left in `dir`, and returns how many files that were.
///
/// A temporary or an offer that is still somebody's is left alone, in this process or another, and so is
/// one whose lock cannot be tried. Only regular files directly in `dir` are looked at. A
/// directory that does not exist holds no leftovers.
///
/// # Errors
/// When `dir` cannot be listed. A leftover that cannot be removed does no harm and is none.
pub(crate) fn sweep_leftovers(dir: &Path) -> Result<usize, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("list", dir, error)),
    };
    let mut swept = 0;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("list", dir, error))?;
        let is_ours = entry.file_name().to_str().is_some_and(is_temporary_name);
        // The entry's own type: a link is not a file here, so none is ever followed.
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            swept += usize::from(remove_if_abandoned(&entry.path()));
        }
    }
    Ok(swept)
}

fn is_temporary_name(name: &str) -> bool {
    name.starts_with('.') && (name.ends_with(SUFFIX) || name.ends_with(OFFER_SUFFIX))
}

fn remove_if_abandoned(path: &Path) -> bool {
    // Opened for writing because an exclusive lock over NFS asks for it.
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return false };
    // Removed while the lock is held: a writer that comes to it now finds it taken or gone.
    matches!(try_exclusive(&file), Ok(true)) && fs::remove_file(path).is_ok()
}

/// The temporary of one write, removed unless it was renamed.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) file: File,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    pub(crate) fn create(target: &Path) -> io::Result<Self> {
        for _ in 0..CREATE_ATTEMPTS {
            let path = directory_of(target).join(unique_name(target, SUFFIX)?);
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let attempt = try_exclusive(&file);
            let temporary = Self { file, path, renamed: false };
            match attempt {
                // A sweep that took it before the lock has removed the name.
                Ok(true) if !temporary.path.exists() => {}
                Ok(false) => {}
                // Where there are no locks nothing is swept either.
                Ok(true) | Err(_) => return Ok(temporary),
            }
        }
        Err(io::Error::other("temporary files beside it are removed as soon as they are created"))
    }

    pub(crate) fn rename_to(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The write has failed already; its error is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A hidden name that belongs to `target` with that ending, and is unique.
pub(crate) fn unique_name(target: &Path, suffix: &str) -> io::Result<String> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?
        .to_string_lossy();
    let short = &name[..name.floor_char_boundary(NAME_BYTES)];
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    Ok(format!(".{short}.{}-{count}-{nanos:x}{suffix}", process::id()))
}

/// Where a write to `path` really goes. A link that leads nowhere yet leads to a new file.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                path = directory_of(&path).join(fs::read_link(&path)?);
            }
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("its symbolic links form a loop"))
}

/// The directory that a file lies in.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes renames and removals in a directory last.
///
/// # Errors
/// When the system cannot promise it, naming the directory.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), Error> {
    sync_dir(dir).map_err(|error| Error::io("sync the directory", dir, error))
}

#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some network file systems cannot sync a directory, and say so in these two ways.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(not(unix))]
fn sync_dir(_dir: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
