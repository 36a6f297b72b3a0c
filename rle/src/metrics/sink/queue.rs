//! The bounded queue of points, with the metric names and their last values.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use super::point::{Point, RunClock};
use crate::sync::{Condvar, Mutex};

/// How many points wait at most: 2 MiB.
pub(super) const CAPACITY: usize = 1 << 16;
/// A queue this full is drained before the flush interval has passed.
const WAKE_AT: usize = CAPACITY / 2;
/// How long a training thread waits for room, once for each time that the writer falls behind.
pub(super) const ROOM_TIMEOUT: Duration = Duration::from_secs(1);
/// More names than any chart shows; a step number within a name would make millions.
pub(super) const MAX_NAMES: usize = 100_000;
/// The longest name, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 4_096;

/// Between the training threads and the writer thread of a run.
#[derive(Debug)]
pub(in crate::metrics) struct Queue {
    pub(in crate::metrics) clock: RunClock,
    /// Whether a writer drains it; without one only last values are kept.
    has_writer: bool,
    state: Mutex<State>,
    /// The writer has a reason to drain the queue.
    wake_writer: Condvar,
    /// The writer has drained the queue or written what it drained.
    progress: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    ids: HashMap<Arc<str>, u32>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) last: Vec<f64>,
    pub(super) last_step: Option<i64>,
    pub(super) highest_step: Option<i64>,
    /// Last values of earlier attempts, where there were any.
    pub(super) earlier_values: Option<BTreeMap<String, f64>>,
    points: Vec<Point>,
    /// How many points have been pushed so far.
    pushed: u64,
    /// How many of them are in the files.
    written: u64,
    /// How many of them a flush waits for.
    awaited: u64,
    dropped: u64,
    refused: u64,
    warned_of_names: bool,
    /// A thread has waited in vain since the writer last drained the queue.
    behind: bool,
    closed: bool,
}

/// What the writer has drained from the queue.
#[derive(Debug, Default)]
pub(in crate::metrics) struct Drained {
    pub(in crate::metrics) names: Vec<Arc<str>>,
    pub(in crate::metrics) points: Vec<Point>,
    /// How many points have been drained so far, with these.
    pub(in crate::metrics) pushed: u64,
    /// No points follow.
    pub(in crate::metrics) closed: bool,
}

impl Queue {
    pub(in crate::metrics) fn new(has_writer: bool) -> Self {
        let state = State {
            points: Vec::with_capacity(if has_writer { CAPACITY } else { 0 }),
            ..State::default()
        };
        Self {
            clock: RunClock::start(),
            has_writer,
            state: Mutex::new(state),
            wake_writer: Condvar::new(),
            progress: Condvar::new(),
        }
    }

    pub(super) fn push<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        name: &str,
        value: f64,
        step: i64,
        nanos: u64,
    ) -> MutexGuard<'a, State> {
        if state.closed {
            return state;
        }
        let Some(id) = state.intern(name) else { return state };
        state.last[id as usize] = value;
        state.last_step = Some(step);
        state.highest_step = state.highest_step.max(Some(step));
        if !self.has_writer {
            return state;
        }
        if state.points.len() == CAPACITY {
            state = self.wait_for_room(state);
            if state.points.len() == CAPACITY || state.closed {
                state.dropped += 1;
                return state;
            }
        }
        state.points.push(Point { name: id, step, value, nanos });
        state.pushed += 1;
        if state.points.len() == WAKE_AT {
            self.wake_writer.notify_one();
        }
        state
    }

    #[cold]
    fn wait_for_room<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let since = Instant::now();
        while state.points.len() == CAPACITY && !state.behind && !state.closed {
            let left = ROOM_TIMEOUT.saturating_sub(since.elapsed());
            if left.is_zero() {
                state.behind = true;
            } else {
                state = self.progress.wait_timeout(state, left);
            }
        }
        state
    }

    /// Drains what has been logged, once the queue fills up, the interval has passed, a flush
    /// waits, or the run has ended. Reuses the memory of `drained`.
    pub(in crate::metrics) fn drain(&self, interval: Duration, drained: &mut Drained) {
        drained.points.clear();
        let mut state = self.lock();
        let since = Instant::now();
        while state.points.len() < WAKE_AT && !state.closed && !state.is_awaited() {
            let left = interval.saturating_sub(since.elapsed());
            if left.is_zero() {
                break;
            }
            state = self.wake_writer.wait_timeout(state, left);
        }
        mem::swap(&mut state.points, &mut drained.points);
        let known = drained.names.len();
        drained.names.extend_from_slice(&state.names[known..]);
        drained.pushed = state.pushed;
        drained.closed = state.closed;
        state.behind = false;
        drop(state);
        self.progress.notify_all();
    }

    /// Notes that the files hold so many points.
    pub(in crate::metrics) fn set_written(&self, points: u64) {
        self.lock().written = points;
        self.progress.notify_all();
    }

    /// Ends the run: later points are ignored.
    pub(in crate::metrics) fn close(&self) {
        self.lock().closed = true;
        self.wake_writer.notify_one();
        self.progress.notify_all();
    }

    /// Points that found no room, and points whose name is not accepted.
    pub(in crate::metrics) fn lost(&self) -> (u64, u64) {
        let state = self.lock();
        (state.dropped, state.refused)
    }

    /// Points that have not been drained yet.
    pub(in crate::metrics) fn waiting(&self) -> u64 {
        self.lock().points.len() as u64
    }

    /// Waits until all points are in the files, once for each time that the writer falls behind;
    /// returns whether they are.
    pub(super) fn flush_within(&self, timeout: Duration) -> bool {
        let mut state = self.lock();
        let (begun, target) = (Instant::now(), state.pushed);
        while self.has_writer && state.written < target && !state.behind && !state.closed {
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                state.behind = true;
                break;
            }
            state.awaited = state.awaited.max(target);
            self.wake_writer.notify_one();
            state = self.progress.wait_timeout(state, left);
        }
        !self.has_writer || state.written >= target
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Whether somebody waits for a point that has not been drained.
    fn is_awaited(&self) -> bool {
        self.awaited > self.pushed - self.points.len() as u64
    }

    fn intern(&mut self, name: &str) -> Option<u32> {
        match self.ids.get(name) {
            Some(id) => Some(*id),
            None => self.first_use(name),
        }
    }

    #[cold]
    fn first_use(&mut self, name: &str) -> Option<u32> {
        let problem = if name.is_empty() {
            "is empty".to_owned()
        } else if name.len() > MAX_NAME_BYTES {
            format!("is over {MAX_NAME_BYTES} bytes")
        } else if self.names.len() == MAX_NAMES {
            format!("would be one more than {MAX_NAMES}; keep steps and indices out of names")
        } else {
            let id = u32::try_from(self.names.len()).expect("the number of names is bounded");
            let name: Arc<str> = name.into();
            self.names.push(Arc::clone(&name));
            self.last.push(f64::NAN);
            self.ids.insert(name, id);
            return Some(id);
        };
        self.refused += 1;
        if !mem::replace(&mut self.warned_of_names, true) {
            let start = &name[..name.floor_char_boundary(40)];
            tracing::warn!("a metric is not logged: its name `{start}` {problem}");
        }
        None
    }
}
