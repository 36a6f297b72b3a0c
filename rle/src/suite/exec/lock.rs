//! Waiting for a lock that another process holds.

use std::path::Path;
use std::time::Duration;

use crate::Error;
use crate::fs::FileLock;

/// How long a slot's lock is tried before the slot counts as busy: a process that only asks
/// whether a lock is held holds it for an instant.
pub(crate) const SLOT_PATIENCE: Duration = Duration::from_millis(200);

/// Tries a lock, `patience` at a time, until it is free or `gives_up` says so; `tell` is called
/// once with a description of the holder.
pub(in crate::suite) fn acquire(
    path: &Path,
    patience: Duration,
    gives_up: impl Fn() -> bool,
    tell: impl FnOnce(&str),
) -> Result<Option<FileLock>, Error> {
    let mut tell = Some(tell);
    loop {
        let lock = FileLock::try_acquire(path, patience)?;
        if lock.is_some() || gives_up() {
            return Ok(lock);
        }
        if let Some(tell) = tell.take() {
            tell(&FileLock::holder(path).unwrap_or_default());
        }
    }
}
