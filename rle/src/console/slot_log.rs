//! The log file of a slot, `_logs/<slug>_<idx>.log`. Losing it is a warning, never a failed run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::text::escape_log_text;
use crate::sync::{Mutex, RwLock};

/// What is logged now goes here too.
static CURRENT: RwLock<Option<SlotLog>> = RwLock::new(None);

/// An open slot log. Clones write to the same file.
#[derive(Clone)]
pub(crate) struct SlotLog {
    path: Arc<Path>,
    /// Nothing once a write has failed.
    file: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
}

impl SlotLog {
    /// Opens the log, and continues it where it exists: a slot may have several attempts.
    pub(crate) fn open(path: impl Into<PathBuf>) -> Self {
        let log = Self { path: path.into().into(), file: Arc::new(Mutex::new(None)) };
        let directory = log.path.parent().map_or(Ok(()), fs::create_dir_all);
        let open = |()| File::options().create(true).append(true).open(&log.path);
        match directory.and_then(open) {
            Ok(file) => log.set_file(Box::new(file)),
            Err(error) => log.warn(&error),
        }
        log
    }

    /// Adds a line with the time. Further lines in `text` follow as they are.
    pub(crate) fn line(&self, text: impl fmt::Display) {
        let line = format!("{} {text}\n", timestamp());
        if let Err(error) = self.append(escape_log_text(&line).as_bytes()) {
            self.warn(&error);
        }
    }

    /// Adds bytes that are whole lines. After an error, which is returned once, this does nothing.
    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.file.lock();
        let Some(open) = file.as_mut() else { return Ok(()) };
        let written = open.write_all(bytes);
        if written.is_err() {
            *file = None;
        }
        written
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn set_file(&self, file: Box<dyn Write + Send>) {
        *self.file.lock() = Some(file);
    }

    fn warn(&self, error: &io::Error) {
        tracing::warn!("{}", failure_text(&self.path, error));
    }
}

/// From now on what the program logs, on any thread, goes to this file too; `None` ends that.
pub(crate) fn set_slot_log(log: Option<&SlotLog>) {
    // Bound to a name, so that the file is closed after the lock.
    let _replaced = std::mem::replace(&mut *CURRENT.write(), log.cloned());
}

pub(super) fn current() -> Option<SlotLog> {
    CURRENT.read().clone()
}

pub(super) fn failure_text(path: &Path, error: &io::Error) -> String {
    format!("cannot write the slot's log {}: {error}; it ends here", path.display())
}

pub(super) fn timestamp() -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_micros(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_and_no_control_characters() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("_logs/ippo_0.log");
        let log = SlotLog::open(&path);
        log.line("failed: \x1b[31mno map\r\n  caused by: x");
        let text = fs::read_to_string(&path).unwrap();
        let (time, rest) = text.split_once(' ').unwrap();
        assert_eq!(time.len(), "2026-01-01T00:00:00.000000Z".len());
        humantime::parse_rfc3339(time).unwrap();
        assert_eq!(rest, "failed: \\u{1b}[31mno map\\r\n  caused by: x\n");
    }

    #[test]
    fn a_second_attempt_continues_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ippo_0.log");
        SlotLog::open(&path).line("first");
        SlotLog::open(&path).line("second");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_written_to_in_vain() {
        let directory = tempfile::tempdir().unwrap();
        let log = SlotLog::open(directory.path());
        log.line("nowhere");
        assert!(log.append(b"nowhere\n").is_ok());
        assert!(directory.path().is_dir());
    }

    #[test]
    fn a_write_failure_is_told_once() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let log = SlotLog::open(directory.path().join("x.log"));
        log.set_file(Box::new(Full));
        assert_eq!(log.append(b"a\n").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(log.append(b"b\n").is_ok());
    }
}
