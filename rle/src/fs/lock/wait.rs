//! Waiting for a lock without asking again and again: a thread that the system wakes.
//!
//! No call waits for a lock with a bound, so a thread waits without one, and the caller for the
//! thread. One that nobody waits for any more stays until the lock is free and gives it back at
//! once; or the next caller that wants the same lock takes it over, so a process has no more such
//! threads than it ever had waits at once.

use std::fs::File;
use std::io;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

/// A thread that waits needs hardly any.
const STACK_BYTES: usize = 64 << 10;
/// Between two looks at whether a wait is needed still: often at first, rarely in one of minutes.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(20);

struct Waiter {
    identity: Option<(u64, u64)>,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    /// Somebody waits for the thread.
    Wanted,
    /// Nobody does, and it is still waiting for the lock.
    Abandoned,
    /// The lock is this file's, or the system refused it.
    Ended(io::Result<File>),
    /// The outcome is taken, or the lock given back.
    Over,
}

static ABANDONED: Mutex<Vec<Arc<Waiter>>> = Mutex::new(Vec::new());

/// Waits up to `patience` for an exclusive lock on the file. `None`: it was not to be had, most
/// likely for all of that time, or nobody needs it since `is_done`.
///
/// The file that holds it may be another handle of the same file.
pub(super) fn exclusive(
    file: File,
    patience: Duration,
    is_done: Option<&dyn Fn() -> bool>,
) -> io::Result<Option<File>> {
    if patience.is_zero() {
        return Ok(None);
    }
    let Some(waiter) = taken_over(&file).or_else(|| begun(file)) else {
        // The system allows no more threads: the caller comes back.
        thread::sleep(patience.min(PAUSE));
        return Ok(None);
    };
    // No sum of an instant and a very long wait: such a wait has no end.
    let started = Instant::now();
    let deadline = started.checked_add(patience);
    let mut state = waiter.state.lock();
    while matches!(*state, State::Wanted) {
        let left = match deadline {
            Some(deadline) => deadline.saturating_duration_since(Instant::now()),
            None => Duration::MAX,
        };
        if left.is_zero() || is_done.is_some_and(|is_done| is_done()) {
            *state = State::Abandoned;
            drop(state);
            let mut abandoned = ABANDONED.lock();
            abandoned.retain(|waiter| matches!(*waiter.state.lock(), State::Abandoned));
            abandoned.push(waiter);
            return Ok(None);
        }
        let look = match is_done {
            Some(_) => (started.elapsed() / 8).clamp(SHORTEST_LOOK, LONGEST_LOOK),
            None => Duration::MAX,
        };
        state = waiter.changed.wait_timeout(state, left.min(look));
    }
    match mem::replace(&mut *state, State::Over) {
        State::Ended(outcome) => outcome.map(Some),
        _ => Ok(None),
    }
}

/// The waiter for that file that somebody has given up on, if there is one.
fn taken_over(file: &File) -> Option<Arc<Waiter>> {
    let identity = identity(file)?;
    let mut abandoned = ABANDONED.lock();
    while let Some(place) = abandoned.iter().position(|waiter| waiter.identity == Some(identity)) {
        let waiter = abandoned.swap_remove(place);
        let mut state = waiter.state.lock();
        if matches!(*state, State::Abandoned) {
            *state = State::Wanted;
            drop(state);
            return Some(waiter);
        }
    }
    None
}

fn begun(file: File) -> Option<Arc<Waiter>> {
    let identity = identity(&file);
    let waiter =
        Arc::new(Waiter { identity, state: Mutex::new(State::Wanted), changed: Condvar::new() });
    let theirs = Arc::clone(&waiter);
    let thread = thread::Builder::new().name("rle-lock".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(move || wait(file, &theirs)).ok()?;
    Some(waiter)
}

fn wait(file: File, waiter: &Waiter) {
    let outcome = loop {
        match fs2::FileExt::lock_exclusive(&file) {
            // A signal came between.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => break outcome.map(|()| file),
        }
    };
    let mut state = waiter.state.lock();
    *state = match *state {
        State::Wanted => State::Ended(outcome),
        // Closing the file gives the lock back.
        _ => State::Over,
    };
    drop(state);
    waiter.changed.notify_one();
}

#[cfg(unix)]
fn identity(file: &File) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_file: &File) -> Option<(u64, u64)> {
    None
}

/// How many threads that nobody waits for still wait for the lock at `path`.
#[cfg(test)]
pub(super) fn abandoned_for(path: &std::path::Path) -> usize {
    let identity = File::open(path).ok().and_then(|file| identity(&file));
    let abandoned = ABANDONED.lock();
    let is_it = |waiter: &&Arc<Waiter>| {
        waiter.identity == identity && matches!(*waiter.state.lock(), State::Abandoned)
    };
    abandoned.iter().filter(is_it).count()
}
