//! What keeps starts apart: one suite at a time in a process, whose signals, panics and stage times
//! are the process's own, and one process at a time at a slot or a prepare.

use std::cell::Cell;
use std::path::Path;
use std::sync::MutexGuard;
use std::time::Duration;

use crate::Error;
use crate::fs::FileLock;
use crate::sync::Mutex;

static RUNNING: Mutex<()> = Mutex::new(());

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The right to run a suite, until it is dropped.
#[derive(Debug)]
pub(in crate::suite) struct SuiteGuard {
    _guard: MutexGuard<'static, ()>,
}

impl SuiteGuard {
    /// Waits until no other thread runs a suite. Inside a suite that is an error.
    pub(in crate::suite) fn acquire() -> Result<Self, Error> {
        if INSIDE.get() {
            return Err(Error::usage(
                "a suite cannot be run from inside an algorithm or prepare of another suite; run \
                 it before or after, or in a process of its own",
            ));
        }
        let guard = RUNNING.lock();
        INSIDE.set(true);
        Ok(Self { _guard: guard })
    }
}

impl Drop for SuiteGuard {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// How long a slot's lock is tried before the slot counts as busy: to test a lock is to hold it for
/// an instant.
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::suite::{SlotOutcome, Suite, SuiteConfig};
    use crate::{AlgorithmSpec, RunContext, RunResult};

    #[test]
    fn a_second_suite_waits_for_the_first() {
        let first = SuiteGuard::acquire().unwrap();
        let (sender, receiver) = mpsc::channel();
        let second = thread::spawn(move || {
            sender.send(RUNNING.try_lock().is_none()).unwrap();
            drop(SuiteGuard::acquire().unwrap());
        });
        assert!(receiver.recv().unwrap(), "it does not have to wait");
        drop(first);
        second.join().unwrap();
        drop(SuiteGuard::acquire().unwrap());
    }

    #[test]
    fn a_suite_inside_an_algorithm_is_an_error_of_that_slot() {
        let dir = tempfile::tempdir().unwrap();
        let export_dir = dir.path().to_owned();
        let inner = move |_: &RunContext| -> crate::Result<RunResult> {
            let config = SuiteConfig::new("inner").export_dir(export_dir.join("inner"));
            let spec = AlgorithmSpec::new("Inner", |_: &RunContext| -> crate::Result<RunResult> {
                Ok(RunResult::new())
            });
            Suite::new(config).algorithm(spec).run()?;
            Ok(RunResult::new())
        };
        let config = SuiteConfig::new("outer").export_dir(dir.path().join("outer"));
        let report =
            Suite::new(config).algorithm(AlgorithmSpec::new("Outer", inner)).run().unwrap();
        let SlotOutcome::Failed { message } = &report.slots[0].outcome else {
            panic!("{report:?}")
        };
        assert!(message.contains("from inside an algorithm"), "{message}");
        assert!(!dir.path().join("inner").exists());
    }
}
