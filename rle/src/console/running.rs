//! The slots that run now, and when each is due for a plain line. Time comes in from outside.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::tally::{Share, word};
use super::text::{count_text, duration_text, escape_controls};
use crate::record::SlotOutcome;
use crate::run::{Progress, ProgressSnapshot};

#[derive(Debug)]
pub(super) struct RunningSlot {
    pub(super) label: String,
    pub(super) progress: Progress,
    pub(super) begun: Instant,
    /// When a plain line was last due, and the progress then.
    last_due: Instant,
    last_progress: ProgressSnapshot,
}

impl RunningSlot {
    pub(super) fn new(label: &str, progress: Progress, now: Instant) -> Self {
        let last_progress = progress.snapshot();
        let label = escape_controls(label).into_owned();
        Self { label, progress, begun: now, last_due: now, last_progress }
    }

    /// The line for a slot that has moved since the last one, at most one an `interval`.
    pub(super) fn due_line(&mut self, now: Instant, interval: Duration) -> Option<String> {
        if now < self.next_due(interval) {
            return None;
        }
        self.last_due = now;
        let snapshot = self.progress.snapshot();
        if snapshot == self.last_progress {
            return None;
        }
        self.last_progress = snapshot;
        Some(format!("{}: {}", self.label, self.progress_text(now)))
    }

    pub(super) fn next_due(&self, interval: Duration) -> Instant {
        // An interval beyond the clock's range is as good as a day.
        self.last_due.checked_add(interval).unwrap_or(self.last_due + Duration::from_hours(24))
    }

    pub(super) fn end_text(&self, outcome: &SlotOutcome, now: Instant) -> String {
        format!("{} {} in {}", self.label, word(outcome), duration_text(self.elapsed(now)))
    }

    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    /// What the tally of the suite needs of it.
    pub(super) fn share(&self) -> Share {
        let progress = self.progress.snapshot();
        Share {
            reached: share(progress.position, progress.total),
            computed: share(progress.position.saturating_sub(progress.origin), progress.total),
        }
    }

    /// How long the rest takes at the pace of this attempt; nothing before there is a pace.
    #[expect(clippy::cast_precision_loss, reason = "an estimate to look at")]
    pub(super) fn estimate(&self, progress: &ProgressSnapshot, now: Instant) -> Option<Duration> {
        let left = progress.total?.checked_sub(progress.position).filter(|&left| left > 0)?;
        let done = progress.position.checked_sub(progress.origin).filter(|&done| done > 0)?;
        let seconds = self.elapsed(now).as_secs_f64() * (left as f64 / done as f64);
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn progress_text(&self, now: Instant) -> String {
        let ProgressSnapshot { position, total, ref message, .. } = self.last_progress;
        let mut text = count_text(position);
        if let Some(total) = total {
            let percent = (share(position, Some(total)) * 100.0).floor();
            let _ = write!(text, "/{} ({percent}%)", count_text(total));
        }
        let _ = write!(text, ", {}", duration_text(self.elapsed(now)));
        if let Some(left) = self.estimate(&self.last_progress, now) {
            let _ = write!(text, ", about {} to go", duration_text(left));
        }
        if !message.is_empty() {
            let _ = write!(text, ", {}", escape_controls(message));
        }
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share to look at")]
fn share(position: u64, total: Option<u64>) -> f64 {
    match total {
        None | Some(0) => 0.0,
        Some(total) => (position as f64 / total as f64).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(30);

    fn slot() -> (RunningSlot, Progress, impl Fn(u64) -> Instant) {
        let now = Instant::now();
        let progress = Progress::new();
        let slot = RunningSlot::new("IPPO run 1", progress.clone(), now);
        (slot, progress, move |seconds| now + Duration::from_secs(seconds))
    }

    #[test]
    fn a_slot_has_at_most_one_line_an_interval() {
        let (mut slot, progress, at) = slot();
        progress.set_total(2000);
        let lines: Vec<u64> = (0..100)
            .filter(|&second| {
                progress.inc(1);
                slot.due_line(at(second), EVERY).is_some()
            })
            .collect();
        assert_eq!(lines, [30, 60, 90]);
    }

    #[test]
    fn a_line_says_how_far_the_slot_is() {
        let (mut slot, progress, at) = slot();
        progress.set_total(2000);
        progress.inc(1999);
        progress.set_message("return 12.5\x1b[2K\nx");
        assert_eq!(
            slot.due_line(at(63), EVERY).unwrap(),
            "IPPO run 1: 1,999/2,000 (99%), 1m 03s, about 0.0s to go, return 12.5\\u{1b}[2K\\nx"
        );
    }

    #[test]
    fn an_estimate_counts_from_where_the_attempt_began() {
        let (slot, progress, at) = slot();
        let estimate = |seconds| slot.estimate(&progress.snapshot(), at(seconds));
        progress.set_total(100);
        assert_eq!(estimate(10), None);
        progress.set_position(60);
        assert_eq!(estimate(10), None);
        progress.inc(10);
        assert_eq!(estimate(10), Some(Duration::from_secs(30)));
        assert_eq!(slot.share(), Share { reached: 0.7, computed: 0.1 });
        progress.set_position(20);
        assert_eq!(estimate(10), None);
        progress.set_position(100);
        assert_eq!(estimate(10), None);
    }

    #[test]
    fn a_slot_without_total_shows_its_position() {
        let (mut slot, progress, at) = slot();
        progress.inc(7);
        assert_eq!(slot.due_line(at(30), EVERY).unwrap(), "IPPO run 1: 7, 30.0s");
    }

    #[test]
    fn a_slot_that_does_not_move_is_quiet() {
        let (mut slot, progress, at) = slot();
        assert_eq!(slot.due_line(at(30), EVERY), None);
        progress.inc(1);
        assert_eq!(slot.due_line(at(31), EVERY), None);
        assert!(slot.due_line(at(60), EVERY).is_some());
        assert_eq!(slot.due_line(at(90), EVERY), None);
    }

    #[test]
    fn the_end_says_how_and_after_how_long() {
        let (slot, _, at) = slot();
        assert_eq!(
            slot.end_text(&SlotOutcome::Interrupted, at(63)),
            "IPPO run 1 interrupted in 1m 03s"
        );
    }

    #[test]
    fn a_share_stays_between_nothing_and_all() {
        let percent = |total| (share(5, total) * 100.0).to_string();
        assert_eq!([None, Some(0), Some(4), Some(10)].map(percent), ["0", "0", "100", "50"]);
    }

    #[test]
    fn the_longest_interval_does_not_overflow() {
        let (slot, ..) = slot();
        assert!(slot.next_due(Duration::MAX) > slot.begun);
    }
}
