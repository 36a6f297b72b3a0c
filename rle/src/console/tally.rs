//! How many slots are complete, reused, failed or left, the time so far and how long the rest takes.

use std::fmt::Write as _;
use std::iter::Sum;
use std::time::{Duration, Instant};

use super::text::duration_text;
use crate::record::SlotOutcome;

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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) reached: f64,
    /// What of that this attempt has computed.
    pub(super) computed: f64,
}

impl Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, share| Self {
            reached: sum.reached + share.reached,
            computed: sum.computed + share.computed,
        })
    }
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
    /// `running` is the sum of the running slots' shares.
    pub(super) fn text(&self, now: Instant, running: Share) -> String {
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
    fn estimate(&self, elapsed: Duration, running: Share) -> Option<Duration> {
        let computed = (self.complete + self.failed) as f64 + running.computed;
        let left = self.total.saturating_sub(self.ended()) as f64 - running.reached;
        if left <= 0.0 || computed < 0.01 {
            return None;
        }
        Duration::try_from_secs_f64(elapsed.as_secs_f64() * left / computed).ok()
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
            tally.text(begun + Duration::from_secs(63), Share::default()),
            "4 of 9 done, 2 reused, 1 failed, 1 not finished, 3 left, 1m 03s elapsed, \
             about 1m 03s to go"
        );
    }

    #[test]
    fn running_slots_count_to_the_estimate() {
        let begun = Instant::now();
        let tally = Tally::new(2, 0, begun);
        let text =
            tally.text(begun + Duration::from_secs(10), Share { reached: 0.5, computed: 0.5 });
        assert_eq!(text, "0 of 2 done, 2 left, 10.0s elapsed, about 30.0s to go");
    }

    #[test]
    fn what_an_earlier_attempt_computed_took_none_of_this_time() {
        let begun = Instant::now();
        let share = Share { reached: 0.75, computed: 0.25 };
        let text = Tally::new(1, 0, begun).text(begun + Duration::from_secs(10), share);
        assert!(text.ends_with("about 10.0s to go"), "{text}");
    }

    #[test]
    fn there_is_no_estimate_without_evidence_or_at_the_end() {
        let begun = Instant::now();
        let later = begun + Duration::from_secs(5);
        assert_eq!(
            Tally::new(3, 1, begun).text(later, Share::default()),
            "1 of 3 done, 1 reused, 2 left, 5.0s elapsed"
        );
        let mut tally = Tally::new(1, 0, begun);
        tally.count(&SlotOutcome::Complete { seconds: 1.0 });
        assert_eq!(tally.text(later, Share::default()), "1 of 1 done, 5.0s elapsed");
    }
}
