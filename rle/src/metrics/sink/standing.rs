//! How far the metrics of a run have come, in memory and in the files: what checkpoints note.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{MetricSink, Queue};

/// How long a flush waits for the disk, once for each time that the writer falls behind.
const FLUSH_PATIENCE: Duration = Duration::from_secs(10);

/// How far the metrics of a run have come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// None where nothing was logged.
    pub(crate) highest_step: Option<i64>,
    pub(crate) last_values: BTreeMap<String, f64>,
}

impl MetricSink {
    /// Logs a value that has no step of its own, at the step last logged; before the first one of
    /// a run at 0.
    ///
    /// A run that goes on has logged such values of its checkpoint's step already: they are left
    /// out until it logs a step.
    pub fn log_at_last_step(&self, name: &str, value: f64) {
        let nanos = self.queue.began.elapsed_nanos();
        let state = self.queue.lock();
        let unlogged = if state.before.is_some() { None } else { Some(0) };
        if let Some(step) = state.last_step.or(unlogged) {
            drop(self.queue.push(state, name, value, step, nanos));
        }
    }

    /// Waits until the files hold what has been logged so far, so that a kill of the process
    /// cannot lose it. A disk that hangs is waited for for ten seconds; whether it was done.
    pub fn flush(&self) -> bool {
        self.queue.flush_within(FLUSH_PATIENCE)
    }

    /// What a later attempt goes on from.
    pub(crate) fn standing(&self) -> Standing {
        let state = self.queue.lock();
        let mut last_values = state.before.clone().unwrap_or_default();
        let names = state.names.iter().map(ToString::to_string);
        last_values.extend(names.zip(state.last.iter().copied()));
        Standing { highest_step: state.highest_step, last_values }
    }

    /// Goes on from where an earlier attempt stood.
    pub(crate) fn go_on_from(&self, standing: Standing) {
        let mut state = self.queue.lock();
        state.highest_step = standing.highest_step;
        state.before = Some(standing.last_values);
    }
}

impl Queue {
    /// Waits for the writer, once for each time that it falls behind.
    fn flush_within(&self, patience: Duration) -> bool {
        let mut state = self.lock();
        let (begun, target) = (Instant::now(), state.pushed);
        while self.consumed && state.written < target && !state.behind && !state.closed {
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                state.behind = true;
                break;
            }
            state.awaited = state.awaited.max(target);
            self.filled.notify_one();
            state = self.taken.wait_timeout(state, left);
        }
        !self.consumed || state.written >= target
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::super::Taken;
    use super::super::tests::queue;
    use super::*;

    #[test]
    fn a_flush_waits_for_the_writer_and_gives_up_once() {
        let (queue, sink) = queue();
        assert!(sink.flush(), "there is nothing to wait for");
        sink.log("loss", 0.5, 7);
        let writer = thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                let mut taken = Taken::default();
                queue.take(Duration::from_hours(1), &mut taken);
                queue.wrote(taken.pushed);
                taken.points.len()
            }
        });
        assert!(sink.flush());
        assert_eq!(writer.join().unwrap(), 1);
        sink.log("loss", 0.5, 8);
        assert!(!queue.flush_within(Duration::from_millis(1)));
        let again = Instant::now();
        assert!(!sink.flush());
        assert!(again.elapsed() < FLUSH_PATIENCE);
    }

    #[test]
    fn a_later_attempt_knows_what_an_earlier_one_logged() {
        let (_, sink) = queue();
        sink.log("warm_up", 1.0, 4);
        sink.log("loss", 2.0, 9);
        sink.log("loss", f64::NAN, 5);
        let standing = sink.standing();
        assert_eq!(standing.highest_step, Some(9));
        let (queue, sink) = queue();
        sink.go_on_from(standing);
        sink.log_at_last_step("time_profile/train", 0.1);
        assert_eq!(queue.waiting(), 0, "it was logged at that step before");
        sink.log("loss", 3.0, 6);
        sink.log_at_last_step("time_profile/train", 0.2);
        assert_eq!(sink.standing().highest_step, Some(9));
        let last = [("loss", 3.0), ("time_profile/train", 0.2), ("warm_up", 1.0)];
        assert_eq!(sink.last_values(), last.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(sink.last_step(), Some(6));
    }
}
