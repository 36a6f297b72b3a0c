//! Advisory locks on files, the `flock` that other programs use as well.
//!
//! The system releases a lock when its holder ends, however it ends. So a lock file is never
//! removed, a stale one means nothing, and the text in it is a diagnostic that nothing trusts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::Error;
use crate::machine::host;

mod holder;
mod wait;

/// How much of a lock file's text is worth showing.
const HOLDER_BYTES: u64 = 200;
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// An exclusive lock, held until it is dropped or its process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock at `path` unless another holds it for all of `patience`.
    ///
    /// `None` is a lock that is held. The patience (200 ms serve well) keeps a process that
    /// merely probes the lock, see [`is_held`](Self::is_held), from making it look busy.
    ///
    /// # Errors
    /// When the lock file cannot be opened or created, and when its file system has no `flock`.
    pub(crate) fn try_acquire(path: &Path, patience: Duration) -> Result<Option<Self>, Error> {
        let started = Instant::now();
        loop {
            let file = open_for_holding(path)?;
            match try_exclusive(&file) {
                // A file that was moved or removed meanwhile protects nothing: open it again.
                Ok(Attempt::Acquired) if !is_still_at(&file, path) => {}
                Ok(Attempt::Acquired) => return Ok(Some(Self::holding(file))),
                Ok(Attempt::Contended) => {}
                Err(error) => return Err(refused(path, &error)),
            }
            let waited = started.elapsed();
            let left = patience.saturating_sub(waited);
            if left.is_zero() {
                return Ok(None);
            }
            // Often at first, to get between two probes; rarely in a wait of minutes.
            thread::sleep((waited / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE).min(left));
        }
    }

    /// Takes the lock at `path`, waiting up to `timeout` for its holder. The system wakes this
    /// wait as soon as the lock is free.
    ///
    /// # Errors
    /// [`Error::Locked`] after `timeout`, with what is known of its holder; else as
    /// [`try_acquire`](Self::try_acquire).
    pub(crate) fn acquire(path: &Path, timeout: Duration) -> Result<Self, Error> {
        match Self::acquire_unless(path, timeout, None)? {
            Some(lock) => Ok(lock),
            None => Err(Self::locked(path, timeout)),
        }
    }

    /// As [`acquire`](Self::acquire), as long as the lock is needed: `None` once `is_done`, which
    /// is asked now and then, and whenever the lock is free.
    ///
    /// # Errors
    /// As `acquire`.
    pub(crate) fn acquire_unless(
        path: &Path,
        timeout: Duration,
        is_done: Option<&dyn Fn() -> bool>,
    ) -> Result<Option<Self>, Error> {
        let started = Instant::now();
        loop {
            let file = open_for_holding(path)?;
            let left = timeout.saturating_sub(started.elapsed());
            let granted = match try_exclusive(&file) {
                Ok(Attempt::Acquired) => Ok(Some(file)),
                Ok(Attempt::Contended) => wait::exclusive(file, left, is_done),
                Err(error) => Err(error),
            };
            let granted = granted.map_err(|error| refused(path, &error))?;
            if is_done.is_some_and(|is_done| is_done()) {
                if let Some(file) = granted {
                    // Explicitly, as where a lock is dropped.
                    let _ = fs2::FileExt::unlock(&file);
                }
                return Ok(None);
            }
            match granted {
                Some(file) if is_still_at(&file, path) => return Ok(Some(Self::holding(file))),
                // It was moved or removed meanwhile, and protects nothing: open it again.
                _ if started.elapsed() < timeout => {}
                _ => break,
            }
        }
        Err(Self::locked(path, timeout))
    }

    fn locked(path: &Path, timeout: Duration) -> Error {
        Error::Locked {
            path: path.to_owned(),
            waited_seconds: timeout.as_secs_f64(),
            holder: Self::holder(path),
        }
    }

    /// Whether some process, this one included, holds the lock at `path` now.
    ///
    /// Disturbs no holder and no other probe, and creates nothing: no file is no lock.
    ///
    /// # Errors
    /// When the file exists but cannot be opened, and when its file system has no `flock`.
    pub(crate) fn is_held(path: &Path) -> Result<bool, Error> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io("open the lock", path, error)),
        };
        match attempt(fs2::FileExt::try_lock_shared(&file)) {
            Ok(Attempt::Acquired) => Ok(false),
            Ok(Attempt::Contended) => Ok(true),
            Err(error) => Err(refused(path, &error)),
        }
    }

    /// Whether `path` is this lock's file, under whatever name.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        is_still_at(&self.file, path)
    }

    /// What is known of the holder of the lock at `path`: a diagnostic, possibly of a holder long
    /// gone. The file's text, unless the system knows that it is another's.
    pub(crate) fn holder(path: &Path) -> Option<String> {
        let text = Self::text_of(path);
        let Some(pid) = holder::pid(path) else { return text };
        let pid = format!("pid={pid}");
        let is_of_it = |text: &String| text.split(' ').next() == Some(&pid);
        Some(text.filter(is_of_it).unwrap_or(pid))
    }

    fn text_of(path: &Path) -> Option<String> {
        let mut text = Vec::new();
        File::open(path).ok()?.take(HOLDER_BYTES).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next().unwrap_or_default();
        let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
        (!line.is_empty()).then_some(line)
    }

    fn holding(mut file: File) -> Self {
        let since = humantime::format_rfc3339_seconds(SystemTime::now());
        let text = format!("pid={} host={} since={since}\n", process::id(), host::name());
        // The lock holds whether or not its text could be written, on a full disk for instance.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()));
        Self { file }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Before the release: after it the text is the next holder's.
        let _ = self.file.set_len(0);
        // Explicitly, because a child that is being started may hold a copy of the descriptor.
        let _ = fs2::FileExt::unlock(&self.file);
    }
}

/// The outcome of an attempt that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The lock is this file handle's.
    Acquired,
    /// Another handle has it.
    Contended,
}

/// Tries to lock an open file exclusively, without waiting. Closing the file releases it.
pub(super) fn try_exclusive(file: &File) -> io::Result<Attempt> {
    attempt(fs2::FileExt::try_lock_exclusive(file))
}

fn attempt(outcome: io::Result<()>) -> io::Result<Attempt> {
    match outcome {
        Ok(()) => Ok(Attempt::Acquired),
        Err(error) if error.kind() == fs2::lock_contended_error().kind() => Ok(Attempt::Contended),
        // A signal came between: the next attempt tells.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Attempt::Contended),
        Err(error) => Err(error),
    }
}

fn open_for_holding(path: &Path) -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| Error::io("open the lock", path, error))
}

fn refused(path: &Path, error: &io::Error) -> Error {
    Error::file(
        path,
        format!(
            "its file system does not give locks (flock: {error}); put the directory on one that \
             does, or have locks turned on in its mount options"
        ),
    )
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests;
