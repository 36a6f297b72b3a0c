//! What the bars say: one for each running slot, as far as there is room.

use std::fmt::Write as _;
use std::time::Instant;

use super::running::RunningSlot;
use super::text::{count_text, duration_text, escape_controls};

/// One line at the bottom of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    /// How far of how much, where that is known.
    pub(super) progress: Option<(u64, u64)>,
    pub(super) text: String,
}

impl Bar {
    pub(super) const fn of(progress: (u64, u64), text: String) -> Self {
        Self { progress: Some(progress), text }
    }

    fn of_slot(slot: &RunningSlot, now: Instant) -> Self {
        let progress = slot.progress.snapshot();
        let mut text = format!("{} {}", slot.label, count_text(progress.position));
        if let Some(total) = progress.total {
            let _ = write!(text, "/{}", count_text(total));
        }
        let _ = write!(text, " {}", duration_text(slot.elapsed(now)));
        if let Some(left) = slot.estimate(&progress, now) {
            let _ = write!(text, " ({} left)", duration_text(left));
        }
        if !progress.message.is_empty() {
            let _ = write!(text, " {}", escape_controls(&progress.message));
        }
        Self { progress: progress.total.map(|total| (progress.position, total)), text }
    }
}

/// The slots' bars for which a terminal has room beside the suite's bar and a line of log.
pub(super) fn slot_bars(running: &[RunningSlot], rows: u16, now: Instant) -> Vec<Bar> {
    let room = usize::from(rows).saturating_sub(2).max(1);
    let fitting = if running.len() <= room { running.len() } else { room - 1 };
    let mut bars: Vec<Bar> =
        running[..fitting].iter().map(|slot| Bar::of_slot(slot, now)).collect();
    if fitting < running.len() {
        bars.push(Bar { progress: None, text: format!("and {} more", running.len() - fitting) });
    }
    bars
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::run::Progress;

    fn slot(total: Option<u64>, position: u64, now: Instant) -> RunningSlot {
        let progress = Progress::new();
        total.inspect(|&total| progress.set_total(total));
        progress.inc(position);
        RunningSlot::new("IPPO run 1", progress, now)
    }

    #[test]
    fn a_slot_with_a_total_has_a_bar() {
        let now = Instant::now();
        let slot = slot(Some(1000), 500, now);
        slot.progress.set_message("return\n1.5");
        let text = "IPPO run 1 500/1,000 1m 03s (1m 03s left) return\\n1.5".to_owned();
        let later = now + Duration::from_secs(63);
        assert_eq!(Bar::of_slot(&slot, later), Bar::of((500, 1000), text));
    }

    #[test]
    fn a_slot_without_total_has_a_counter() {
        let now = Instant::now();
        let bar = Bar::of_slot(&slot(None, 7, now), now);
        assert_eq!(bar, Bar { progress: None, text: "IPPO run 1 7 0.0s".to_owned() });
    }

    #[test]
    fn slots_beyond_the_screen_are_counted() {
        let now = Instant::now();
        let running: Vec<RunningSlot> = (0..9).map(|_| slot(None, 0, now)).collect();
        let texts = |rows| -> Vec<String> {
            slot_bars(&running, rows, now).into_iter().map(|bar| bar.text).collect()
        };
        assert_eq!((texts(7).len(), texts(7)[4].as_str()), (5, "and 5 more"));
        assert_eq!(texts(11).len(), 9);
        assert_eq!(texts(0), ["and 9 more"]);
    }
}
