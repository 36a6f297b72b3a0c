//! The slots of a suite as they are shown: how many ended and how long the rest takes, and those that
//! run now. Time comes in from outside.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::text::{count_text, duration_text, escape_controls};
use crate::record::SlotOutcome;
use crate::run::{Progress, ProgressSnapshot};

/// As good as no end of a wait, and within the clock's range.
pub(super) const LONG: Duration = Duration::from_hours(24);

/// The word for an outcome. A slot that was not begun counts as interrupted.
pub(super) const fn word(outcome: &SlotOutcome) -> &'static str {
    match outcome {
        SlotOutcome::Reused => "reused",
        SlotOutcome::Complete { .. } => "complete",
        SlotOutcome::Failed { .. } => "failed",
        SlotOutcome::Interrupted | SlotOutcome::NotRun => "interrupted",
        SlotOutcome::Busy => "busy",
    }
}

/// Shares of a run, from 0 to 1; 0 where its total is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) reached: f64,
    /// What of that this attempt has computed.
    pub(super) computed: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Tally {
    begun: Instant,
    total: usize,
    reused: usize,
    complete: usize,
    failed: usize,
    /// Interrupted and busy ones.
    unfinished: usize,
}

impl Tally {
    pub(super) const fn new(total: usize, reused: usize, begun: Instant) -> Self {
        Self { begun, total, reused, complete: 0, failed: 0, unfinished: 0 }
    }

    pub(super) const fn count(&mut self, outcome: &SlotOutcome) {
        match outcome {
            SlotOutcome::Reused => self.reused += 1,
            SlotOutcome::Complete { .. } => self.complete += 1,
            SlotOutcome::Failed { .. } => self.failed += 1,
            SlotOutcome::Interrupted | SlotOutcome::NotRun | SlotOutcome::Busy => {
                self.unfinished += 1;
            }
        }
    }

    /// The slots that ended, of how many.
    pub(super) const fn progress(&self) -> (u64, u64) {
        (self.ended() as u64, self.total as u64)
    }

    /// Slots that need no more attention.
    pub(super) const fn ended(&self) -> usize {
        self.reused + self.complete + self.failed + self.unfinished
    }

    /// `4 of 9 done, 2 reused, 1 failed, 4 left, 1m 03s elapsed, about 2m 10s to go`.
    /// `running` has the share of each running slot.
    pub(super) fn text(&self, now: Instant, running: &[Share]) -> String {
        let mut text = format!("{} of {} done", self.reused + self.complete, self.total);
        for (count, word) in [
            (self.reused, "reused"),
            (self.failed, "failed"),
            (self.unfinished, "not finished"),
            (self.total.saturating_sub(self.ended()), "left"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        let elapsed = now.saturating_duration_since(self.begun);
        let _ = write!(text, ", {} elapsed", duration_text(elapsed));
        if let Some(estimate) = self.estimate(elapsed, running) {
            let _ = write!(text, ", about {} to go", duration_text(estimate));
        }
        text
    }

    /// From the slots computed so far; none before there are any.
    #[expect(clippy::cast_precision_loss, reason = "slots are far fewer than 2^52")]
    fn estimate(&self, elapsed: Duration, running: &[Share]) -> Option<Duration> {
        let sum = |part: fn(&Share) -> f64| running.iter().map(part).sum::<f64>();
        let computed = (self.complete + self.failed) as f64 + sum(|share| share.computed);
        let left = self.total.saturating_sub(self.ended()) as f64 - sum(|share| share.reached);
        if left <= 0.0 || computed < 0.01 {
            return None;
        }
        Duration::try_from_secs_f64(elapsed.as_secs_f64() * left / computed).ok()
    }
}

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
        // An interval may be beyond the clock's range.
        self.last_due.checked_add(interval).unwrap_or(self.last_due + LONG)
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

    #[test]
    fn the_text_counts_every_slot_once() {
        let begun = Instant::now();
        let mut tally = Tally::new(9, 2, begun);
        tally.count(&SlotOutcome::Complete { seconds: 1.0 });
        tally.count(&SlotOutcome::Complete { seconds: 1.0 });
        tally.count(&SlotOutcome::Failed { message: String::new() });
        tally.count(&SlotOutcome::Busy);
        assert_eq!(tally.ended(), 6);
        assert_eq!(
            tally.text(begun + Duration::from_secs(63), &[]),
            "4 of 9 done, 2 reused, 1 failed, 1 not finished, 3 left, 1m 03s elapsed, \
             about 1m 03s to go"
        );
    }

    #[test]
    fn running_slots_count_to_the_estimate() {
        let begun = Instant::now();
        let tally = Tally::new(2, 0, begun);
        let text =
            tally.text(begun + Duration::from_secs(10), &[Share { reached: 0.5, computed: 0.5 }]);
        assert_eq!(text, "0 of 2 done, 2 left, 10.0s elapsed, about 30.0s to go");
    }

    #[test]
    fn what_an_earlier_attempt_computed_took_none_of_this_time() {
        let begun = Instant::now();
        let share = Share { reached: 0.75, computed: 0.25 };
        let text = Tally::new(1, 0, begun).text(begun + Duration::from_secs(10), &[share]);
        assert!(text.ends_with("about 10.0s to go"), "{text}");
    }

    #[test]
    fn there_is_no_estimate_without_evidence_or_at_the_end() {
        let begun = Instant::now();
        let later = begun + Duration::from_secs(5);
        assert_eq!(
            Tally::new(3, 1, begun).text(later, &[]),
            "1 of 3 done, 1 reused, 2 left, 5.0s elapsed"
        );
        let mut tally = Tally::new(1, 0, begun);
        tally.count(&SlotOutcome::Complete { seconds: 1.0 });
        assert_eq!(tally.text(later, &[]), "1 of 1 done, 5.0s elapsed");
    }

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
