//! Moves that survive a kill at any instant.
//!
//! A transaction collects copies in a directory `<name>.partial` beside a journal of what is still
//! to be moved and removed. Renaming it to `<name>` commits. Before that, recovery removes the
//! directory, which holds copies only; after it, recovery carries out the steps of the journal, each
//! of which may be repeated. The lock file in the directory tells a transaction that is under way
//! from one that a dead process left.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::fs::{FileLock, failpoint, sync_directory, write_json_atomically};
use crate::run::artifacts;
use crate::value::Value;
use crate::{Error, timings};

const PARTIAL: &str = ".partial";
pub(super) const JOURNAL: &str = "journal.json";
pub(super) const LOCK: &str = "transfer.lock";

/// How long another process's transaction is waited for: renames, and at most a copy.
const PATIENCE: Duration = Duration::from_mins(5);

/// What is still to be done when the directory has its final name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(super) enum Step {
    /// Both paths are relative to the export directory.
    Move { from: String, to: String },
    /// A file or a directory, relative to the export directory.
    Remove { path: String },
    /// Removes this directory itself: the last step.
    Discard,
    /// Drops the runs' entries from an algorithm's live timings.
    DropTimings { slug: String, run_indices: Vec<u32> },
    /// Puts entries from a timings file in this directory back into the live one.
    RestoreTimings { slug: String, from: String },
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    schema_version: u32,
    steps: Vec<Step>,
}

/// A directory that is being filled, by this process alone.
pub(super) struct Transaction<'a> {
    pub(super) export_dir: &'a Path,
    /// Where copies are collected.
    pub(super) directory: PathBuf,
    /// Where they will lie.
    pub(super) destination: PathBuf,
    lock: FileLock,
}

impl<'a> Transaction<'a> {
    /// Claims `<parent>/<stem>`, with a suffix when it is taken.
    pub(super) fn begin(export_dir: &'a Path, parent: &Path, stem: &str) -> Result<Self, Error> {
        failpoint()?;
        fs::create_dir_all(parent).map_err(Error::cannot("create the directory", parent))?;
        let mut suffix = 0_u32;
        loop {
            failpoint()?;
            let name = if suffix == 0 { stem.to_owned() } else { format!("{stem}_{suffix}") };
            let destination = parent.join(&name);
            let directory = parent.join(format!("{name}{PARTIAL}"));
            if destination.symlink_metadata().is_ok()
                || !artifacts::create_new_directory(&directory)?
            {
                suffix += 1;
                continue;
            }
            failpoint()?;
            // Another start's recovery may take the new, empty directory for a dead one.
            match FileLock::try_acquire(&directory.join(LOCK), Duration::ZERO) {
                Ok(Some(lock)) => return Ok(Self { export_dir, directory, destination, lock }),
                Ok(None) => suffix += 1,
                Err(_) if !directory.exists() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Commits what `collect` puts into the directory, and carries out the steps that it returns. An
    /// error before the commit leaves everything as it was.
    pub(super) fn commit(
        self,
        collect: impl FnOnce(&Self) -> Result<Vec<Step>, Error>,
    ) -> Result<PathBuf, Error> {
        let publish = || {
            let journal = Journal { schema_version: 1, steps: collect(&self)? };
            failpoint()?;
            write_json_atomically(&self.directory.join(JOURNAL), &journal)?;
            failpoint()?;
            fs::rename(&self.directory, &self.destination)
                .map_err(Error::cannot("rename", &self.directory))?;
            Ok(journal)
        };
        let journal = publish().inspect_err(|_: &Error| {
            if failpoint().is_ok() {
                // Recovery of the next start does it where this cannot.
                let _ = fs::remove_dir_all(&self.directory);
            }
        })?;
        failpoint()?;
        if let Some(parent) = self.destination.parent() {
            sync_directory(parent)?;
        }
        finish(self.export_dir, &self.destination, &journal)?;
        drop(self.lock);
        Ok(self.destination)
    }
}

/// Writes a journal into an existing directory, which commits, and carries it out.
pub(super) fn carry_out(
    export_dir: &Path,
    directory: &Path,
    steps: Vec<Step>,
) -> Result<(), Error> {
    let _lock = FileLock::acquire(&directory.join(LOCK), PATIENCE)?;
    let journal = Journal { schema_version: 1, steps };
    failpoint()?;
    write_json_atomically(&directory.join(JOURNAL), &journal)?;
    finish(export_dir, directory, &journal)
}

/// Removes an archive, so that no reader takes a part of it for whole. It is an error where another
/// process holds its lock.
pub(crate) fn prune(directory: &Path) -> Result<(), Error> {
    let _lock = FileLock::acquire(&directory.join(LOCK), PATIENCE)?;
    discard(directory)
}

/// Under its unfinished name first, so that what a kill leaves of it is never taken for whole.
fn discard(directory: &Path) -> Result<(), Error> {
    let mut name = directory.file_name().unwrap_or_default().to_os_string();
    name.push(PARTIAL);
    let partial = directory.with_file_name(name);
    if partial.symlink_metadata().is_ok() {
        discard_unfinished(&partial)?;
    }
    failpoint()?;
    fs::rename(directory, &partial).map_err(Error::cannot("rename", directory))?;
    if let Some(parent) = directory.parent() {
        sync_directory(parent)?;
    }
    failpoint()?;
    fs::remove_dir_all(&partial).map_err(Error::cannot("remove", &partial))
}

/// Finishes or removes what dead processes left below `parent` under names that begin with
/// `prefix`. Returns whether there was anything.
pub(super) fn recover(export_dir: &Path, parent: &Path, prefix: &str) -> Result<bool, Error> {
    let mut any = false;
    for directory in artifacts::list_directory(parent)? {
        let name = directory.file_name().and_then(OsStr::to_str);
        let Some(name) = name.filter(|name| name.starts_with(prefix)) else { continue };
        if name.ends_with(PARTIAL) {
            discard_unfinished(&directory)?;
        } else if directory.join(JOURNAL).symlink_metadata().is_ok() {
            resume(export_dir, &directory)?;
        } else if directory.join(LOCK).symlink_metadata().is_ok() {
            drop_lock(&directory)?;
        } else {
            continue;
        }
        any = true;
    }
    Ok(any)
}

/// The lock of a directory; none where another process holds it, or the directory is gone.
fn lock_of(directory: &Path) -> Result<Option<FileLock>, Error> {
    match FileLock::try_acquire(&directory.join(LOCK), Duration::ZERO) {
        Err(_) if !directory.exists() => Ok(None),
        lock => lock,
    }
}

fn discard_unfinished(partial: &Path) -> Result<(), Error> {
    // A process that holds the lock still works on it, and holds the locks of its slots.
    let Some(_lock) = lock_of(partial)? else { return Ok(()) };
    failpoint()?;
    match fs::remove_dir_all(partial) {
        // A start that had just made it has taken it over.
        Err(_) if FileLock::is_held(&partial.join(LOCK))? => Ok(()),
        removed => removed.map_err(Error::cannot("clear the unfinished directory", partial)),
    }
}

/// Removes the lock of a transaction that was killed between its last two steps.
fn drop_lock(directory: &Path) -> Result<(), Error> {
    match lock_of(directory)? {
        Some(_lock) if directory.join(JOURNAL).symlink_metadata().is_err() => {
            artifacts::remove_file(&directory.join(LOCK))
        }
        _ => Ok(()),
    }
}

fn resume(export_dir: &Path, directory: &Path) -> Result<(), Error> {
    let _lock = match FileLock::acquire(&directory.join(LOCK), PATIENCE) {
        Err(_) if !directory.exists() => return Ok(()),
        lock => lock?,
    };
    let path = directory.join(JOURNAL);
    let Some(bytes) = Error::unless_missing("read", &path, fs::read(&path))? else {
        // Its own process finished while we waited.
        return artifacts::remove_file(&directory.join(LOCK));
    };
    let journal: Journal = Value::parse_json(&bytes)
        .and_then(|value| value.to())
        .map_err(|error| Error::file(&path, format!("is not a valid journal: {error}")))?;
    tracing::info!(
        "finishing the move to {} that another start left half done",
        directory.display()
    );
    finish(export_dir, directory, &journal)
}

fn finish(export_dir: &Path, directory: &Path, journal: &Journal) -> Result<(), Error> {
    for step in &journal.steps {
        failpoint()?;
        apply(export_dir, directory, step)?;
    }
    failpoint()?;
    if directory.exists() {
        artifacts::remove_file(&directory.join(JOURNAL))?;
        failpoint()?;
        artifacts::remove_file(&directory.join(LOCK))?;
        sync_directory(directory)?;
    }
    Ok(())
}

fn apply(export_dir: &Path, directory: &Path, step: &Step) -> Result<(), Error> {
    match step {
        Step::Move { from, to } => rename(&export_dir.join(from), &export_dir.join(to)),
        Step::Remove { path } => remove(&export_dir.join(path)),
        Step::Discard => discard(directory),
        Step::DropTimings { slug, run_indices } => {
            timings::drop_runs(&export_dir.join(slug), run_indices)
        }
        Step::RestoreTimings { slug, from } => {
            timings::restore_runs(&export_dir.join(slug), &directory.join(from))
        }
    }
}

/// Moves a path; nothing happens where that was done before.
fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    if from.symlink_metadata().is_err() {
        return Ok(());
    }
    artifacts::create_parents(to)?;
    failpoint()?;
    match fs::rename(from, to) {
        // A directory of the export tree may be a link to another disk.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            // A copy that is there is whole; of its source a kill may have left a part.
            if !is_there(to) {
                remove(to)?;
                artifacts::copy_tree(from, to)?;
            }
            failpoint()?;
            remove(from)?;
        }
        renamed => renamed.map_err(Error::cannot("move", from))?,
    }
    for parent in [from.parent(), to.parent()].into_iter().flatten() {
        sync_directory(parent)?;
    }
    Ok(())
}

/// Whether there is anything but an empty directory.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| !metadata.is_dir() || !artifacts::is_empty_dir(path))
}

fn remove(path: &Path) -> Result<(), Error> {
    let metadata = Error::unless_missing("read", path, path.symlink_metadata())?;
    let Some(metadata) = metadata else { return Ok(()) };
    let removed = if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(Error::cannot("remove", path))?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// A path below the export directory, relative to it.
pub(super) fn relative(export_dir: &Path, path: &Path) -> String {
    path.strip_prefix(export_dir).unwrap_or(path).to_string_lossy().into_owned()
}
