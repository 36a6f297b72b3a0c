//! Progress bars as text: a line a running slot and one for the suite.

use std::time::Instant;

use super::running::RunningSlot;
use super::text::{char_width, count_text, duration_text, escape_controls};

/// Columns of a bar between its brackets.
const BAR: usize = 16;

/// The lines to show on a terminal of so many columns and rows.
pub(super) fn bar_lines(
    running: &[RunningSlot],
    suite_share: f64,
    suite: &str,
    (width, height): (usize, usize),
    now: Instant,
) -> Vec<String> {
    let mut lines = slot_lines(running, height, now);
    lines.push(format!("suite {} {suite}", bar_text(suite_share)));
    for line in &mut lines {
        // A line that fills the last column would wrap on some terminals.
        cut(line, width.saturating_sub(1));
    }
    lines
}

/// A line a slot, as far as they leave room for the suite's and for a line of log.
fn slot_lines(running: &[RunningSlot], height: usize, now: Instant) -> Vec<String> {
    let room = height.saturating_sub(2).max(1);
    let shown = if running.len() <= room { running.len() } else { room - 1 };
    let mut lines: Vec<String> = running[..shown].iter().map(|slot| slot_line(slot, now)).collect();
    if shown < running.len() {
        lines.push(format!("and {} more", running.len() - shown));
    }
    lines
}

fn slot_line(slot: &RunningSlot, now: Instant) -> String {
    let progress = slot.progress.snapshot();
    let (position, elapsed) = (count_text(progress.position), duration_text(slot.elapsed(now)));
    let message = escape_controls(&progress.message);
    match progress.total {
        Some(total) => {
            let (bar, total) = (bar_text(slot.share()), count_text(total));
            format!("{} {bar} {position}/{total} {elapsed} {message}", slot.label)
        }
        None => format!("{} {position} {elapsed} {message}", slot.label),
    }
}

fn bar_text(share: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 16")]
    #[expect(clippy::cast_precision_loss, reason = "16 is exact")]
    let filled = (share.clamp(0.0, 1.0) * BAR as f64) as usize;
    let head = if filled < BAR { ">" } else { "" };
    format!("[{:=<filled$}{head}{:rest$}]", "", "", rest = BAR - filled - head.len())
}

/// Cuts the text to a width in columns.
fn cut(text: &mut String, width: usize) {
    let mut columns = 0;
    let end = text.char_indices().find(|&(_, character)| {
        columns += char_width(character);
        columns > width
    });
    if let Some((end, _)) = end {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::text::display_width;
    use super::*;
    use crate::progress::Progress;

    fn slot(label: &str, total: Option<u64>, position: u64, now: Instant) -> RunningSlot {
        let progress = Progress::new();
        total.inspect(|&total| progress.set_total(total));
        progress.set_position(position);
        RunningSlot::new(label, progress, now)
    }

    #[test]
    fn a_slot_with_a_total_has_a_bar() {
        let now = Instant::now();
        let slot = slot("IPPO run 1", Some(1000), 500, now);
        slot.progress.set_message("return\n1.5");
        assert_eq!(
            slot_line(&slot, now + Duration::from_secs(63)),
            "IPPO run 1 [========>       ] 500/1,000 1m 03s return\\n1.5"
        );
    }

    #[test]
    fn a_slot_without_total_has_a_counter() {
        let now = Instant::now();
        assert_eq!(slot_line(&slot("IPPO run 1", None, 7, now), now), "IPPO run 1 7 0.0s ");
    }

    #[test]
    fn a_bar_is_as_long_empty_as_full() {
        assert_eq!(bar_text(0.0), "[>               ]");
        assert_eq!(bar_text(1.0), "[================]");
        assert_eq!(bar_text(7.0), bar_text(1.0));
    }

    #[test]
    fn slots_beyond_the_screen_are_counted() {
        let now = Instant::now();
        let running: Vec<RunningSlot> = (0..9).map(|_| slot("x", None, 0, now)).collect();
        let lines = slot_lines(&running, 7, now);
        assert_eq!((lines.len(), lines[4].as_str()), (5, "and 5 more"));
        assert_eq!(slot_lines(&running, 11, now).len(), 9);
        assert_eq!(slot_lines(&running, 0, now), ["and 9 more"]);
    }

    #[test]
    fn no_line_reaches_the_last_column() {
        let mut text = "策略 abc".to_owned();
        cut(&mut text, 3);
        assert_eq!(text, "策");
        let now = Instant::now();
        let running = [slot("策".repeat(100).as_str(), None, 0, now)];
        let lines = bar_lines(&running, 0.5, &"x".repeat(100), (60, 20), now);
        assert_eq!(lines.iter().map(|line| display_width(line)).collect::<Vec<_>>(), [58, 59]);
        assert!(lines[1].starts_with("suite [========>       ] xxx"), "{lines:?}");
    }
}
