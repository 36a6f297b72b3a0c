//! The hand-over from the training threads to the writer: one bounded queue and the names.

mod standing;

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sync::{Condvar, Mutex};

pub(crate) use standing::Standing;

/// How many points wait at most: 2 MiB.
pub(super) const CAPACITY: usize = 1 << 16;
/// A queue this full is taken before the flush interval has passed.
const WAKE_AT: usize = CAPACITY / 2;
/// How long a training thread waits for room, once for each time that the writer falls behind.
const PATIENCE: Duration = Duration::from_secs(1);
/// More names than any chart shows; a step number within a name would make millions.
const NAMES: usize = 100_000;
/// The longest name, in bytes.
const NAME_BYTES: usize = 4_096;

/// One logged value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The index of its name in [`Batch::names`].
    pub name: u32,
    /// The step it belongs to.
    pub step: i64,
    /// The value, which may be NaN or infinite.
    pub value: f64,
    /// When it was logged, in nanoseconds since the run began.
    pub nanos: u64,
}

/// Points in the order in which they were logged.
#[derive(Debug)]
pub struct Batch<'a> {
    /// All names so far; they keep their index.
    pub names: &'a [Arc<str>],
    /// The points.
    pub points: &'a [Point],
    /// When the run began.
    pub began: Began,
}

/// The beginning of a run, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Began {
    seconds: f64,
    instant: Instant,
}

impl Began {
    pub(super) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: since.as_secs_f64(), instant: Instant::now() }
    }

    /// Seconds since 1970 at the beginning.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.seconds
    }

    /// Seconds since 1970 for a point in the run: later points are never earlier, whatever the
    /// wall clock does in the meantime.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 104 days in nanoseconds")]
    pub fn at(self, nanos: u64) -> f64 {
        self.seconds + nanos as f64 / 1e9
    }

    /// Nanoseconds since the beginning; 584 years fit.
    #[must_use]
    pub fn elapsed_nanos(self) -> u64 {
        let elapsed = self.instant.elapsed();
        elapsed.as_secs().wrapping_mul(1_000_000_000).wrapping_add(elapsed.subsec_nanos().into())
    }
}

/// What training threads log to; clones log to the same run.
///
/// Logging never fails and never waits for a disk for long: where the writer cannot keep up, a
/// point that finds the queue full waits up to a second, and if that does not help, points are
/// dropped and counted until the writer has taken the queue again.
#[derive(Clone, Debug)]
pub struct MetricSink {
    queue: Arc<Queue>,
}

impl MetricSink {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// A sink of which nobody writes files: last values are kept.
    pub(crate) fn without_loggers() -> Self {
        Self::new(Arc::new(Queue::new(false)))
    }

    /// Logs one value. An empty name, or one over 4,096 bytes, is dropped and counted, with one
    /// warning; so is every new name once there are 100,000.
    pub fn log(&self, name: &str, value: f64, step: i64) {
        let nanos = self.queue.began.elapsed_nanos();
        let state = self.queue.lock();
        drop(self.queue.push(state, name, value, step, nanos));
    }

    /// Logs several values of one step.
    pub fn log_many(&self, values: &[(&str, f64)], step: i64) {
        let nanos = self.queue.began.elapsed_nanos();
        let mut state = self.queue.lock();
        for (name, value) in values {
            state = self.queue.push(state, name, *value, step, nanos);
        }
    }

    /// The step last logged, whatever its name.
    #[must_use]
    pub fn last_step(&self) -> Option<i64> {
        self.queue.lock().last_step
    }

    /// The last value of each name.
    #[must_use]
    pub fn last_values(&self) -> BTreeMap<String, f64> {
        self.standing().last_values
    }
}

/// Between the sinks and the writer.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) began: Began,
    /// Whether anybody takes what is put in.
    consumed: bool,
    state: Mutex<State>,
    filled: Condvar,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ids: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    last: Vec<f64>,
    last_step: Option<i64>,
    highest_step: Option<i64>,
    /// Last values of the earlier attempts, where there were any.
    before: Option<BTreeMap<String, f64>>,
    points: Vec<Point>,
    /// How many points have been put in so far, and how many of them are in the files.
    pushed: u64,
    written: u64,
    /// How many of them somebody waits for.
    awaited: u64,
    dropped: u64,
    refused: u64,
    warned_of_names: bool,
    /// Somebody has waited in vain since the writer took the queue last.
    behind: bool,
    closed: bool,
}

/// What the writer has taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) names: Vec<Arc<str>>,
    pub(super) points: Vec<Point>,
    /// How many points have been taken so far, with these.
    pub(super) pushed: u64,
    /// Nothing will follow.
    pub(super) closed: bool,
}

impl Queue {
    pub(super) fn new(consumed: bool) -> Self {
        let state = State {
            points: Vec::with_capacity(if consumed { CAPACITY } else { 0 }),
            ..State::default()
        };
        Self {
            began: Began::now(),
            consumed,
            state: Mutex::new(state),
            filled: Condvar::new(),
            taken: Condvar::new(),
        }
    }

    fn push<'a>(
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
        if !self.consumed {
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
            self.filled.notify_one();
        }
        state
    }

    #[cold]
    fn wait_for_room<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let since = Instant::now();
        while state.points.len() == CAPACITY && !state.behind && !state.closed {
            let left = PATIENCE.saturating_sub(since.elapsed());
            if left.is_zero() {
                state.behind = true;
            } else {
                state = self.taken.wait_timeout(state, left);
            }
        }
        state
    }

    /// Takes what has been logged, once the queue fills up, the interval has passed, or the run
    /// has ended. Names and the vector of points are filled in place.
    pub(super) fn take(&self, interval: Duration, taken: &mut Taken) {
        taken.points.clear();
        let mut state = self.lock();
        let since = Instant::now();
        while state.points.len() < WAKE_AT && !state.closed && !state.is_awaited() {
            let left = interval.saturating_sub(since.elapsed());
            if left.is_zero() {
                break;
            }
            state = self.filled.wait_timeout(state, left);
        }
        mem::swap(&mut state.points, &mut taken.points);
        let known = taken.names.len();
        taken.names.extend_from_slice(&state.names[known..]);
        taken.pushed = state.pushed;
        taken.closed = state.closed;
        state.behind = false;
        drop(state);
        self.taken.notify_all();
    }

    /// The files hold so many points.
    pub(super) fn wrote(&self, points: u64) {
        self.lock().written = points;
        self.taken.notify_all();
    }

    /// Ends the run: later points are ignored.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.taken.notify_all();
    }

    /// Points that found no room, and points whose name is not accepted.
    pub(super) fn lost(&self) -> (u64, u64) {
        let state = self.lock();
        (state.dropped, state.refused)
    }

    /// What has not been taken yet.
    pub(super) fn waiting(&self) -> u64 {
        self.lock().points.len() as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here runs foreign code: the state is whole whatever panicked.
        self.state.lock()
    }
}

impl State {
    /// Whether somebody waits for a point that has not been taken.
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
        } else if name.len() > NAME_BYTES {
            format!("is over {NAME_BYTES} bytes")
        } else if self.names.len() == NAMES {
            format!("would be one more than {NAMES}; keep steps and indices out of names")
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    pub(super) fn queue() -> (Arc<Queue>, MetricSink) {
        let queue = Arc::new(Queue::new(true));
        (Arc::clone(&queue), MetricSink::new(queue))
    }

    #[test]
    fn names_are_kept_once_and_refused_ones_counted() {
        let (queue, sink) = queue();
        let long = "x".repeat(NAME_BYTES + 1);
        for step in 0..10 {
            sink.log_many(&[("loss", 1.0), ("return", 2.0), ("", 3.0), (&long, 4.0)], step);
        }
        let mut taken = Taken::default();
        queue.take(Duration::ZERO, &mut taken);
        assert_eq!(taken.names.iter().map(|name| &**name).collect::<Vec<_>>(), ["loss", "return"]);
        assert_eq!(taken.points.len(), 20);
        assert_eq!(queue.lost(), (0, 20));
        assert_eq!(sink.last_step(), Some(9));
        assert_eq!(
            sink.last_values(),
            BTreeMap::from([("loss".into(), 1.0), ("return".into(), 2.0)])
        );
    }

    #[test]
    fn names_without_end_do_not_fill_the_memory() {
        let (queue, sink) = queue();
        let mut taken = Taken::default();
        for step in 0..NAMES + 5 {
            sink.log(&format!("step_{step}"), 0.0, 0);
            if step % 1_000 == 0 {
                queue.take(Duration::ZERO, &mut taken);
            }
        }
        assert_eq!(queue.lost(), (0, 5));
    }

    #[test]
    fn a_writer_that_stands_still_costs_its_patience_once_and_the_loss_is_counted() {
        let (queue, sink) = queue();
        let start = Instant::now();
        for step in 0..CAPACITY.cast_signed() as i64 + 1_000 {
            sink.log("loss", 0.0, step);
        }
        assert!(start.elapsed() >= PATIENCE);
        assert_eq!(queue.lost(), (1_000, 0));
        assert_eq!(queue.waiting(), CAPACITY as u64);
        let mut taken = Taken::default();
        queue.take(Duration::ZERO, &mut taken);
        sink.log("loss", 0.0, -1);
        queue.take(Duration::ZERO, &mut taken);
        assert_eq!(taken.points.len(), 1);
        assert_eq!(queue.lost(), (1_000, 0));
    }

    #[test]
    fn a_burst_beyond_the_queue_arrives_in_order_and_what_does_not_is_counted() {
        let (queue, sink) = queue();
        let burst = 4 * CAPACITY.cast_signed() as i64;
        let writer = thread::spawn(move || {
            let mut taken = Taken::default();
            let mut steps = Vec::new();
            while !taken.closed {
                queue.take(Duration::from_mins(1), &mut taken);
                steps.extend(taken.points.iter().map(|point| point.step));
            }
            (steps, queue.lost())
        });
        for step in 0..burst {
            sink.log("loss", 0.0, step);
        }
        sink.queue.close();
        sink.log("loss", 0.0, -1);
        let (steps, (dropped, _)) = writer.join().unwrap();
        assert!(steps.is_sorted_by(|one, next| one < next));
        assert_eq!(steps.len() as u64 + dropped, burst.cast_unsigned());
        assert!(steps.len() > 2 * CAPACITY, "the training thread did not wait for room");
    }

    #[test]
    fn points_of_many_threads_all_arrive() {
        let (queue, sink) = queue();
        thread::scope(|scope| {
            for thread in 0..8 {
                let sink = sink.clone();
                scope.spawn(move || {
                    (0..1_000).for_each(|step| sink.log(&format!("t{thread}"), 0.0, step));
                });
            }
        });
        let mut taken = Taken::default();
        queue.take(Duration::ZERO, &mut taken);
        assert_eq!((taken.points.len(), taken.names.len()), (8_000, 8));
    }
}
