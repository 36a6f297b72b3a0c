//! Writes times to disk, beside other programs that write the same files.

use std::path::Path;
use std::time::Duration;

use super::hardware::{Descriptions, current};
use super::locked::{LockedFiles, write};
use super::merge::{merge, renamed_stages};
use super::store::Timings;
use super::{HARDWARE_FILE, file, group_commit};
use crate::Error;

/// How long a save waits for another program that is writing, unless
/// [`SaveOptions::lock_timeout`] says otherwise: 15 minutes.
pub const TIMINGS_FILE_LOCK_TIMEOUT: Duration = Duration::from_mins(15);

/// How times are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct SaveOptions {
    merge_existing: bool,
    lock_timeout: Duration,
}

impl Default for SaveOptions {
    /// Merged into the file, after a wait of up to [`TIMINGS_FILE_LOCK_TIMEOUT`].
    fn default() -> Self {
        Self { merge_existing: true, lock_timeout: TIMINGS_FILE_LOCK_TIMEOUT }
    }
}

impl SaveOptions {
    /// Whether what the file holds is kept and merged with what is saved; otherwise the file is
    /// replaced exactly, whatever it held.
    pub fn merge_existing(self, merge_existing: bool) -> Self {
        Self { merge_existing, ..self }
    }

    /// How long another program that is writing is waited for.
    pub fn lock_timeout(self, lock_timeout: Duration) -> Self {
        Self { lock_timeout, ..self }
    }
}

impl Timings {
    /// Merges these times into the files of a directory, which is created if need be.
    ///
    /// Entries are the same when run index and label are equal; without a run index, when the
    /// label is; without either, when their whole content is. The entry that is saved wins. The
    /// file is on disk when this returns, and every reader has seen the old one or the new one.
    /// Where another process holds the lock, that one may write these times together with its own.
    ///
    /// # Errors
    /// As [`load`](Self::load) for what is there; names the file that cannot be written, or
    /// [`Error::Locked`] after the wait. The files are as they were then, unless another process
    /// was stopped in the very moment of writing these times together with its own.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, SaveOptions::default())
    }

    /// As [`save`](Self::save), with options: whether to merge, and how long to wait.
    ///
    /// # Errors
    /// As `save`; an exact replacement does not read the times that are there.
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<(), Error> {
        self.save_into(&file::directory_of(path.as_ref()), options)
    }

    pub(super) fn save_into(&self, dir: &Path, options: SaveOptions) -> Result<(), Error> {
        if options.merge_existing {
            return group_commit::save(dir, options.lock_timeout, self);
        }
        let files = LockedFiles::lock(dir, options.lock_timeout)?;
        let mut result = Self { hardware: Descriptions::load(&files.hardware)?, ..Self::default() };
        let (renamed, grown) = result.hardware.merge(&self.hardware);
        merge(&mut result.stages, renamed_stages(&self.stages, &renamed));
        files.write(&result, grown)
    }

    /// Runs a closure on what a directory's files hold now, and writes what it made of it, all
    /// under the lock. Returns the times that were written.
    ///
    /// ```
    /// use rle::timings::{RunKey, Timings};
    ///
    /// # let dir = std::env::temp_dir().join(format!("rle-doc-update-{}", std::process::id()));
    /// let timings = Timings::update(&dir, |timings| {
    ///     timings.record("ippo_train", 1.25, RunKey::run(0))
    /// })?;
    /// # std::fs::remove_dir_all(&dir).ok();
    /// # assert!(timings.stage("ippo_train").is_some());
    /// # Ok::<(), rle::Error>(())
    /// ```
    ///
    /// # Errors
    /// The closure's, and those of [`save`](Self::save). After any of them, and after a panic in
    /// the closure, the files are as they were.
    pub fn update<E: From<Error>>(
        path: impl AsRef<Path>,
        change: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Self, E> {
        Self::update_with(path, SaveOptions::default(), change)
    }

    /// As [`update`](Self::update), with a wait of its own.
    ///
    /// # Errors
    /// As `update`.
    pub fn update_with<E: From<Error>>(
        path: impl AsRef<Path>,
        options: SaveOptions,
        change: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Self, E> {
        Self::update_in(&file::directory_of(path.as_ref()), options.lock_timeout, change)
    }

    pub(super) fn update_in<E: From<Error>>(
        dir: &Path,
        timeout: Duration,
        change: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Self, E> {
        let files = LockedFiles::lock(dir, timeout)?;
        let mut timings = Self::load_from(dir)?;
        let mut hardware = timings.hardware.clone();
        change(&mut timings)?;
        let (renamed, grown) = hardware.merge(&timings.hardware);
        timings.stages = renamed_stages(&timings.stages, &renamed);
        timings.hardware = hardware;
        files.write(&timings, grown)?;
        Ok(timings)
    }
}

/// Adds the description of this process's hardware to the files of `dir`, without any time.
///
/// # Errors
/// When the file is not valid or cannot be written, or [`Error::Locked`] after 15 minutes.
pub(crate) fn describe_hardware(dir: &Path) -> Result<(), Error> {
    let current = current();
    let mut own = Descriptions::default();
    own.add(&current.id, &current.description);
    // A description that is there stays, so this needs no lock.
    let (_, grows) = Descriptions::load(&dir.join(HARDWARE_FILE))?.merge(&own);
    if !grows {
        return Ok(());
    }
    let files = LockedFiles::lock(dir, TIMINGS_FILE_LOCK_TIMEOUT)?;
    let mut known = Descriptions::load(&files.hardware)?;
    let (_, grows) = known.merge(&own);
    if grows { write(&files.hardware, &known.render())?.sync() } else { Ok(()) }
}
