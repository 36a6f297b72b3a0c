//! The slots that run now, and when each is due for a plain line. Time comes in from outside.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::tally::SlotOutcome;
use super::text::{count_text, duration_text, escape_controls};
use crate::progress::{Progress, ProgressSnapshot};

/// One running slot.
#[derive(Debug)]
pub(super) struct RunningSlot {
    pub(super) label: String,
    pub(super) progress: Progress,
    pub(super) begun: Instant,
    /// When it was last looked at for a plain line, and what it showed.
    looked: Instant,
    shown: ProgressSnapshot,
}

impl RunningSlot {
    pub(super) fn new(label: &str, progress: Progress, now: Instant) -> Self {
        let shown = progress.snapshot();
        let label = escape_controls(label).into_owned();
        Self { label, progress, begun: now, looked: now, shown }
    }

    /// The line for a slot that has moved since the last one, at most one an `interval`.
    pub(super) fn due_line(&mut self, now: Instant, interval: Duration) -> Option<String> {
        if now < self.next_look(interval) {
            return None;
        }
        self.looked = now;
        let snapshot = self.progress.snapshot();
        if snapshot == self.shown {
            return None;
        }
        self.shown = snapshot;
        Some(format!("{}: {}", self.label, self.progress_text(now)))
    }

    pub(super) fn next_look(&self, interval: Duration) -> Instant {
        // An interval beyond the clock's range is as good as a day.
        self.looked.checked_add(interval).unwrap_or(self.looked + Duration::from_hours(24))
    }

    pub(super) fn end_text(&self, outcome: SlotOutcome, now: Instant) -> String {
        format!("{} {} in {}", self.label, outcome.word(), duration_text(self.elapsed(now)))
    }

    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    /// The share done, from 0 to 1; 0 where the total is unknown.
    pub(super) fn share(&self) -> f64 {
        share(self.progress.position(), self.progress.total())
    }

    fn progress_text(&self, now: Instant) -> String {
        let ProgressSnapshot { position, total, ref message } = self.shown;
        let mut text = count_text(position);
        if let Some(total) = total {
            let percent = (share(position, Some(total)) * 100.0).floor();
            let _ = write!(text, "/{} ({percent}%)", count_text(total));
        }
        let _ = write!(text, ", {}", duration_text(self.elapsed(now)));
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
        progress.set_position(1999);
        progress.set_message("return 12.5\x1b[2K\nx");
        assert_eq!(
            slot.due_line(at(63), EVERY).unwrap(),
            "IPPO run 1: 1,999/2,000 (99%), 1m 03s, return 12.5\\u{1b}[2K\\nx"
        );
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
        assert_eq!(slot.end_text(SlotOutcome::Failed, at(63)), "IPPO run 1 failed in 1m 03s");
    }

    #[test]
    fn a_share_stays_between_nothing_and_all() {
        let percent = |total| (share(5, total) * 100.0).to_string();
        assert_eq!([None, Some(0), Some(4), Some(10)].map(percent), ["0", "0", "100", "50"]);
    }

    #[test]
    fn the_longest_interval_does_not_overflow() {
        let (slot, ..) = slot();
        assert!(slot.next_look(Duration::MAX) > slot.begun);
    }
}
