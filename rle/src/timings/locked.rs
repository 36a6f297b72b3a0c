//! The files of a directory while their locks are held: what is written, and in which order.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::store::Timings;
use super::{HARDWARE_FILE, LOCK_FILE, TIMINGS_FILE, file, stages};
use crate::Error;
use crate::fs::{
    FileLock, Prepared, Replaced, link_target, prepare_file, replace_file, sweep_leftovers,
};

/// The files of a directory, locked.
pub(super) struct LockedFiles {
    pub(super) dir: PathBuf,
    pub(super) timings: PathBuf,
    pub(super) hardware: PathBuf,
    locks: Vec<FileLock>,
}

impl LockedFiles {
    /// Creates the directory if need be, and waits for the lock beside the times. Where these are
    /// a link, the lock beside the file that it leads to is taken as well: others may come to
    /// that file by its own name.
    pub(super) fn lock(dir: &Path, timeout: Duration) -> Result<Self, Error> {
        create(dir)?;
        let first = FileLock::acquire(&dir.join(LOCK_FILE), timeout)?;
        Self::with_lock(dir, first, timeout)
    }

    /// As [`lock`](Self::lock), with the lock beside the times at hand.
    pub(super) fn with_lock(dir: &Path, first: FileLock, timeout: Duration) -> Result<Self, Error> {
        let timings = dir.join(TIMINGS_FILE);
        sweep_leftovers(dir)?;
        let mut locks = vec![first];
        let target = link_target(&timings)?;
        if target != timings {
            if fs::metadata(&target).is_ok_and(|target| !target.is_file()) {
                let problem = format!("is a link to {}, which is not a file", target.display());
                return Err(Error::file(&timings, problem));
            }
            let beside = lock_beside(&target);
            if !locks[0].is_of(&beside) {
                locks.push(FileLock::acquire(&beside, timeout)?);
            }
            if let Some(dir) = target.parent().filter(|dir| !dir.as_os_str().is_empty()) {
                sweep_leftovers(dir)?;
            }
        }
        let (dir, hardware) = (dir.to_owned(), dir.join(HARDWARE_FILE));
        Ok(Self { dir, timings, hardware, locks })
    }

    /// Writes both files, the hardware only where there is more of it.
    pub(super) fn write(self, result: &Timings, hardware_grown: bool) -> Result<(), Error> {
        let replaced = self.prepare(result, hardware_grown)?.put()?;
        // The next writer need not wait for the directory's sync: its own covers this write too.
        drop(self.locks);
        replaced.sync()
    }

    /// Writes the hardware where there is more of it, and the times beside their file.
    pub(super) fn prepare(
        &self,
        result: &Timings,
        hardware_grown: bool,
    ) -> Result<Prepared, Error> {
        let text = stages::render(&result.stages);
        let bytes = text.len() as u64;
        if bytes > file::MAX_FILE_BYTES {
            return Err(file::too_long(&self.timings, bytes));
        }
        // First, so that no entry ever names a description that is not there.
        if hardware_grown {
            write(&self.hardware, &result.hardware.render())?.sync()?;
        }
        prepare_file(&self.timings, |writer| writer.write_all(text.as_bytes()))
    }
}

/// Creates the directory unless it is there.
pub(super) fn create(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|error| Error::io("create the directory", dir, error))
}

/// Replaces a file by a text; its directory is still to be synced.
pub(super) fn write(path: &Path, text: &str) -> Result<Replaced, Error> {
    replace_file(path, |writer| writer.write_all(text.as_bytes()))
}

fn lock_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}
