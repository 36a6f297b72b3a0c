//! Advisory locks on files, the `flock` that other programs use as well.
//!
//! The system releases a lock when its holder ends, however it ends. So a lock file is never
//! removed, a stale one means nothing, and the text in it is a diagnostic that nothing trusts.
//!
//! - `holder`: the process that holds a lock, where the system knows it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::Error;
use crate::machine::host;

mod holder;

/// How much of a lock file's text is worth showing.
const HOLDER_BYTES: u64 = 200;
/// Between two attempts: short at first, longer in a wait of minutes.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// An exclusive lock, held until it is dropped or its process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

/// How a wait for a lock ended.
enum Outcome {
    Acquired(FileLock),
    /// The lock is no longer needed.
    Done,
    TimedOut,
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
        match Self::poll(path, patience, || false)? {
            Outcome::Acquired(lock) => Ok(Some(lock)),
            Outcome::Done | Outcome::TimedOut => Ok(None),
        }
    }

    /// Takes the lock at `path`, waiting up to `timeout` for its holder.
    ///
    /// # Errors
    /// [`Error::Locked`] after `timeout`, with what is known of its holder; else as
    /// [`try_acquire`](Self::try_acquire).
    pub(crate) fn acquire(path: &Path, timeout: Duration) -> Result<Self, Error> {
        let lock = Self::acquire_unless(path, timeout, || false)?;
        lock.ok_or_else(|| Self::locked(path, timeout))
    }

    /// As [`acquire`](Self::acquire), but `None` as soon as `is_done` says that the lock is no
    /// longer needed; it is asked at every attempt.
    ///
    /// # Errors
    /// As `acquire`.
    pub(crate) fn acquire_unless(
        path: &Path,
        timeout: Duration,
        is_done: impl Fn() -> bool,
    ) -> Result<Option<Self>, Error> {
        match Self::poll(path, timeout, is_done)? {
            Outcome::Acquired(lock) => Ok(Some(lock)),
            Outcome::Done => Ok(None),
            Outcome::TimedOut => Err(Self::locked(path, timeout)),
        }
    }

    /// Tries again and again until `timeout`; the last attempt is at its very end.
    fn poll(path: &Path, timeout: Duration, is_done: impl Fn() -> bool) -> Result<Outcome, Error> {
        let started = Instant::now();
        loop {
            let waited = started.elapsed();
            // Opened anew each time: a file that was moved or removed meanwhile protects nothing.
            let file = open_for_holding(path)?;
            let is_acquired = try_exclusive(&file).map_err(|error| refused(path, &error))?;
            if is_done() {
                // Explicitly, as where a lock is dropped.
                let _ = fs2::FileExt::unlock(&file);
                return Ok(Outcome::Done);
            }
            if is_acquired && is_still_at(&file, path) {
                return Ok(Outcome::Acquired(Self::holding(file)));
            }
            drop(file);
            let left = timeout.saturating_sub(waited);
            if left.is_zero() {
                return Ok(Outcome::TimedOut);
            }
            thread::sleep((waited / 10).clamp(SHORTEST_PAUSE, LONGEST_PAUSE).min(left));
        }
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
        let is_acquired = is_acquired(fs2::FileExt::try_lock_shared(&file));
        is_acquired.map(|is_acquired| !is_acquired).map_err(|error| refused(path, &error))
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

/// Tries to lock an open file exclusively, without waiting; `false` where another handle holds the
/// lock. Closing the file releases it.
pub(crate) fn try_exclusive(file: &File) -> io::Result<bool> {
    is_acquired(fs2::FileExt::try_lock_exclusive(file))
}

fn is_acquired(attempt: io::Result<()>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == fs2::lock_contended_error().kind() => Ok(false),
        // A signal came between: the next attempt tells.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
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
