//! Times onto disk, beside other programs that write the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::combine::{self, Offering};
use super::hardware::{Descriptions, Renamed, current};
use super::stages::{self, Stages};
use super::{HARDWARE_FILE, LOCK_FILE, TIMINGS_FILE, Timings, file, merge};
use crate::Error;
use crate::fs::{
    FileLock, Prepared, Replaced, failpoint, link_target, prepare_file, replace_file,
    sweep_leftovers,
};

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

    /// As [`save`](Self::save), merging or not, with a wait of its own.
    ///
    /// # Errors
    /// As `save`; an exact replacement does not read the times that are there.
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<(), Error> {
        self.save_into(&file::directory_of(path.as_ref()), options)
    }

    pub(super) fn save_into(&self, dir: &Path, options: SaveOptions) -> Result<(), Error> {
        if options.merge_existing {
            return match Files::lock_or_offer(dir, options.lock_timeout, self)? {
                Some(files) => files.merge(self),
                None => Ok(()),
            };
        }
        let files = Files::lock(dir, options.lock_timeout)?;
        let mut result = Self { hardware: Descriptions::load(&files.hardware)?, ..Self::default() };
        let (renamed, grown) = result.hardware.merge(&self.hardware);
        merge::merge(&mut result.stages, renamed_stages(&self.stages, &renamed));
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
        let files = Files::lock(dir, timeout)?;
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
    // Once it is there it stays: nobody needs to be waited for.
    let (_, grows) = Descriptions::load(&dir.join(HARDWARE_FILE))?.merge(&own);
    if !grows {
        return Ok(());
    }
    let files = Files::lock(dir, TIMINGS_FILE_LOCK_TIMEOUT)?;
    let mut known = Descriptions::load(&files.hardware)?;
    let (_, grows) = known.merge(&own);
    if grows { write(&files.hardware, &known.render())?.sync() } else { Ok(()) }
}

/// The stages with the ids that their hardware has in the file.
fn renamed_stages(stages: &Stages, renamed: &Renamed) -> Stages {
    let mut stages = stages.clone();
    if !renamed.is_empty() {
        for stage in stages.values_mut() {
            for run in stage.runs_mut() {
                run.rename_hardware(renamed);
            }
        }
    }
    stages
}

/// What the files will hold.
struct Merged {
    result: Timings,
    /// Whether there is more hardware than in the file.
    hardware_grown: bool,
    /// Which of the others' times are in it.
    holds: Vec<bool>,
}

/// The files of a directory, locked.
pub(super) struct Files {
    dir: PathBuf,
    timings: PathBuf,
    hardware: PathBuf,
    locks: Vec<FileLock>,
}

impl Files {
    /// Creates the directory if need be, and waits for the lock beside the times. Where these are
    /// a link, the lock beside the file that it leads to is taken as well: others may come to
    /// that file by its own name.
    pub(super) fn lock(dir: &Path, timeout: Duration) -> Result<Self, Error> {
        create(dir)?;
        let first = FileLock::acquire(&dir.join(LOCK_FILE), timeout)?;
        Self::with(dir, first, timeout)
    }

    /// As [`lock`](Self::lock), while the holder may write these times as well: `None` once it
    /// has done so.
    fn lock_or_offer(
        dir: &Path,
        timeout: Duration,
        timings: &Timings,
    ) -> Result<Option<Self>, Error> {
        create(dir)?;
        match combine::lock_or_offer(&dir.join(LOCK_FILE), timeout, dir, timings)? {
            Some(first) => Self::with(dir, first, timeout).map(Some),
            None => Ok(None),
        }
    }

    fn with(dir: &Path, first: FileLock, timeout: Duration) -> Result<Self, Error> {
        let timings = dir.join(TIMINGS_FILE);
        sweep_leftovers(dir)?;
        let mut locks = vec![first];
        let target = link_target(&timings)?;
        if target != timings {
            if fs::metadata(&target).is_ok_and(|target| !target.is_file()) {
                let problem = format!("is a link to {}, which is no file", target.display());
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

    /// Merges `own` into the files, and with it what others offer meanwhile.
    ///
    /// # Errors
    /// Those of `own` alone: whatever comes of the others', it is tried without them.
    pub(super) fn merge(self, own: &Timings) -> Result<(), Error> {
        let others = combine::offerings(&self.dir);
        failpoint()?;
        if !others.is_empty() && self.merge_all(own, others).is_ok() {
            return Ok(());
        }
        failpoint()?;
        let merged = self.merged(own, &[])?;
        self.write(&merged.result, merged.hardware_grown)
    }

    /// Merges what others offer, then `own`, in one write.
    fn merge_all(&self, own: &Timings, mut others: Vec<Offering>) -> Result<(), Error> {
        let prepared = loop {
            let merged = self.merged(own, &others)?;
            let mut holds = merged.holds.into_iter();
            others.retain(|_| holds.next().unwrap_or(false));
            let prepared = self.prepare(&merged.result, merged.hardware_grown)?;
            failpoint()?;
            // At the last moment: until then an owner may give up, and is told the truth.
            let count = others.len();
            others.retain_mut(Offering::take);
            failpoint()?;
            if others.len() == count {
                break prepared;
            }
        };
        let replaced = prepared.put()?;
        failpoint()?;
        replaced.sync()?;
        for other in others {
            failpoint()?;
            other.accept();
        }
        failpoint()
    }

    /// The others' times, then `own`. Those of hardware that is not described yet are left to their
    /// owners: a description is written for entries that come, and these may yet be withdrawn.
    fn merged(&self, own: &Timings, others: &[Offering]) -> Result<Merged, Error> {
        let mut stages = stages::load(&self.timings)?;
        let mut hardware = Descriptions::load(&self.hardware)?;
        let (own_renamed, hardware_grown) = hardware.merge(&own.hardware);
        let holds = others.iter().map(|other| {
            let (renamed, is_new) = hardware.clone().merge(&other.hardware);
            if !is_new {
                merge::merge(&mut stages, renamed_stages(&other.stages, &renamed));
            }
            !is_new
        });
        let holds = holds.collect();
        merge::merge(&mut stages, renamed_stages(&own.stages, &own_renamed));
        Ok(Merged { result: Timings { stages, hardware }, hardware_grown, holds })
    }

    /// Writes both files, the hardware only where there is more of it.
    fn write(self, result: &Timings, hardware_grown: bool) -> Result<(), Error> {
        let replaced = self.prepare(result, hardware_grown)?.put()?;
        // The next writer need not wait for the directory: when its own is on disk, so is this.
        drop(self.locks);
        replaced.sync()
    }

    /// Writes the hardware where there is more of it, and the times beside their file.
    fn prepare(&self, result: &Timings, hardware_grown: bool) -> Result<Prepared, Error> {
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

fn create(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(|error| Error::io("create the directory", dir, error))
}

fn write(path: &Path, text: &str) -> Result<Replaced, Error> {
    replace_file(path, |writer| writer.write_all(text.as_bytes()))
}

fn lock_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}
