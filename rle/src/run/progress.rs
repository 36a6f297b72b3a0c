//! How far a slot has come: the handle that an algorithm updates and a console reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Mutex;

/// Marks a total that nobody has set.
const NO_TOTAL: u64 = u64::MAX;
/// Marks the origin before the first change.
const NOT_MOVED: u64 = u64::MAX;

/// The progress of one run, in units of the algorithm's choice. Clones share it.
///
/// ```
/// let progress = rle::Progress::new();
/// progress.set_total(100);
/// progress.inc(40);
/// progress.set_message("return 12.5");
/// assert_eq!((progress.position(), progress.total()), (40, Some(100)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    position: AtomicU64,
    /// Where this attempt began; known from the first change on.
    origin: AtomicU64,
    total: AtomicU64,
    message: Mutex<Arc<str>>,
}

/// What a console shows of a [`Progress`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressSnapshot {
    pub(crate) position: u64,
    /// Where this attempt began: 0, or what a checkpoint brought.
    pub(crate) origin: u64,
    pub(crate) total: Option<u64>,
    pub(crate) message: Arc<str>,
}

impl Progress {
    /// At position 0, without a total and a message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many units the run has. `u64::MAX` means unknown, as before the first call.
    pub fn set_total(&self, total: u64) {
        self.shared.total.store(total, Ordering::Relaxed);
    }

    /// Moves on by `units`; stays at `u64::MAX` where that would overflow.
    pub fn inc(&self, units: u64) {
        self.set_origin(0);
        let before = self.shared.position.fetch_add(units, Ordering::Relaxed);
        if before.checked_add(units).is_none() {
            self.shared.position.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Sets the units done, also backwards. Called before the first [`inc`](Self::inc), after a
    /// resume, it tells where this attempt goes on from, and the estimate counts from there.
    pub fn set_position(&self, position: u64) {
        self.set_origin(position);
        self.shared.position.store(position, Ordering::Relaxed);
    }

    fn set_origin(&self, origin: u64) {
        let known = &self.shared.origin;
        // Every change but the first only reads.
        if known.load(Ordering::Relaxed) == NOT_MOVED {
            let (one, other) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = known.compare_exchange(NOT_MOVED, origin, one, other);
        }
    }

    /// Sets what is shown beside the position: the current return, say. Control characters are
    /// shown escaped.
    pub fn set_message(&self, message: impl Into<String>) {
        let mut message: Arc<str> = message.into().into();
        let mut shown = self.shared.message.lock();
        // The old text is freed after the lock.
        std::mem::swap(&mut *shown, &mut message);
    }

    /// The units done.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.shared.position.load(Ordering::Relaxed)
    }

    /// The units of the whole run, when known.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        match self.shared.total.load(Ordering::Relaxed) {
            NO_TOTAL => None,
            total => Some(total),
        }
    }

    /// Shows the progress of another process.
    pub(crate) fn follow(&self, other: &ProgressSnapshot) {
        self.shared.origin.store(other.origin, Ordering::Relaxed);
        self.shared.total.store(other.total.unwrap_or(NO_TOTAL), Ordering::Relaxed);
        self.shared.position.store(other.position, Ordering::Relaxed);
        self.set_message(other.message.as_ref());
    }

    pub(crate) fn snapshot(&self) -> ProgressSnapshot {
        let message = self.shared.message.lock().clone();
        let origin = match self.shared.origin.load(Ordering::Relaxed) {
            NOT_MOVED => 0,
            origin => origin,
        };
        ProgressSnapshot { position: self.position(), origin, total: self.total(), message }
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            position: AtomicU64::new(0),
            origin: AtomicU64::new(NOT_MOVED),
            total: AtomicU64::new(NO_TOTAL),
            message: Mutex::new(Arc::from("")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_progress() {
        let progress = Progress::new();
        let other = progress.clone();
        other.set_total(10);
        other.inc(3);
        other.inc(1);
        other.set_message("return 1.5");
        assert_eq!(
            progress.snapshot(),
            ProgressSnapshot {
                position: 4,
                origin: 0,
                total: Some(10),
                message: "return 1.5".into()
            }
        );
    }

    #[test]
    fn no_unit_is_lost_between_threads() {
        let progress = Progress::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| progress.inc(1)));
            }
        });
        assert_eq!(progress.position(), 4000);
    }

    #[test]
    fn a_new_progress_has_no_total() {
        let progress = Progress::new();
        assert_eq!(progress.total(), None);
        progress.set_total(0);
        assert_eq!(progress.total(), Some(0));
    }

    #[test]
    fn the_position_stays_at_its_limit() {
        let progress = Progress::new();
        progress.set_position(u64::MAX - 1);
        progress.inc(5);
        assert_eq!(progress.position(), u64::MAX);
    }

    #[test]
    fn the_position_may_go_back() {
        let progress = Progress::new();
        progress.inc(10);
        progress.set_position(4);
        assert_eq!(progress.position(), 4);
    }

    #[test]
    fn the_first_move_tells_where_an_attempt_began() {
        let origin = |progress: &Progress| progress.snapshot().origin;
        let resumed = Progress::new();
        assert_eq!(origin(&resumed), 0);
        resumed.set_position(40);
        resumed.set_position(50);
        assert_eq!(origin(&resumed), 40);
        let fresh = Progress::new();
        fresh.inc(1);
        fresh.set_position(50);
        assert_eq!(origin(&fresh), 0);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_follower_shows_what_it_is_told() {
        let (told, follower) = (Progress::new(), Progress::new());
        follower.follow(&told.snapshot());
        told.set_position(40);
        told.set_total(90);
        told.set_message("return 1");
        follower.follow(&told.snapshot());
        assert_eq!(follower.snapshot(), told.snapshot());
    }

    #[test]
    fn the_handle_can_be_sent_and_shared() {
        fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
        shared(&Progress::new());
    }
}
