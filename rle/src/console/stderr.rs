//! All writing to stderr. Log lines go above the bars at the bottom of the terminal, which are erased
//! and drawn again below them, also after the terminal has changed its width. A stderr that is closed
//! or full is not an error.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use terminal_size::{Height, Width};

use super::environment::{reflows, variable};
use super::slots::RunningSlot;
use super::text::{count_text, display_width, duration_text, escape_controls, fit};
use crate::sync::Mutex;

static STATUS_AREA: LazyLock<Mutex<StatusArea>> =
    LazyLock::new(|| Mutex::new(StatusArea::new(reflows(variable))));

/// Shows these bars instead of those before; none takes them away.
pub(super) fn show(bars: &[Bar]) {
    change(|area, columns, written| area.show(bars, columns, written));
}

/// Writes whole lines, above the bars if there are any.
pub(crate) fn write_lines(lines: &[u8]) {
    change(|area, columns, written| area.log(lines, columns, written));
}

/// Columns and rows of the terminal, or 80 and 24 where there is none.
pub(super) fn size() -> (u16, u16) {
    terminal_size::terminal_size_of(io::stderr())
        .map_or((80, 24), |(Width(columns), Height(rows))| (columns, rows))
}

/// The width of the terminal that stdout is, for a table's layout; nothing where it is none.
pub(crate) fn stdout_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

fn change(change: impl FnOnce(&mut StatusArea, usize, &mut Vec<u8>)) {
    let mut area = STATUS_AREA.lock();
    let mut bytes = Vec::new();
    change(&mut area, usize::from(size().0), &mut bytes);
    // The lock is held while writing, for the order on the terminal is the order of the changes.
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(&bytes).and_then(|()| stderr.flush());
}

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

/// The columns of a bar at most; it also takes at most a quarter of the terminal.
const WIDEST_BAR: usize = 16;
/// A narrower bar is left out: it would show nothing.
const NARROWEST_BAR: usize = 6;

/// Bars are cut off at the edge: each takes one row, also where the terminal just became narrower.
const NO_WRAPPING: &[u8] = b"\x1b[?7l";
const WRAPPING: &[u8] = b"\x1b[?7h";

/// How long after breaking its lines anew a terminal may tell its new size.
const RESIZE_DELAY: Duration = Duration::from_millis(400);

/// The lines that are drawn now. The cursor is behind their last character.
#[derive(Debug)]
pub(super) struct StatusArea {
    bars: Vec<Bar>,
    /// The columns that each line took when it was drawn.
    drawn: Vec<usize>,
    columns: usize,
    logged: Option<Instant>,
    reflows: bool,
}

impl StatusArea {
    pub(super) const fn new(reflows: bool) -> Self {
        Self { bars: Vec::new(), drawn: Vec::new(), columns: 0, logged: None, reflows }
    }

    /// Adds what puts these bars in the place of those before.
    pub(super) fn show(&mut self, bars: &[Bar], columns: usize, bytes: &mut Vec<u8>) {
        self.erase(columns, bytes);
        self.bars = bars.to_vec();
        self.draw(columns, bytes);
    }

    /// Adds what puts log output above the bars.
    pub(super) fn log(&mut self, lines: &[u8], columns: usize, bytes: &mut Vec<u8>) {
        self.erase(columns, bytes);
        bytes.extend_from_slice(lines);
        if !self.bars.is_empty() && !lines.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        self.logged = Some(Instant::now());
        self.draw(columns, bytes);
    }

    /// Leaves the cursor where the first line began, with nothing below.
    fn erase(&mut self, columns: usize, bytes: &mut Vec<u8>) {
        if self.drawn.is_empty() {
            return;
        }
        let rows = self.rows(columns);
        self.drawn.clear();
        // Line by line: clearing a whole screen at once makes some terminals keep a copy of it.
        bytes.extend_from_slice(b"\r\x1b[2K");
        for _ in 1..rows {
            bytes.extend_from_slice(b"\x1b[A\x1b[2K");
        }
    }

    /// The rows from the first line to the cursor: more than lines where the terminal has wrapped
    /// them. Shortly after a line of log they are not counted, so that none is erased by mistake; the
    /// rest of an old bar may then stay.
    fn rows(&self, columns: usize) -> usize {
        let logged_lately = self.logged.is_some_and(|at| at.elapsed() < RESIZE_DELAY);
        if columns >= self.columns || !self.reflows || logged_lately {
            return self.drawn.len();
        }
        self.drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum()
    }

    fn draw(&mut self, columns: usize, bytes: &mut Vec<u8>) {
        self.columns = columns;
        if self.bars.is_empty() {
            return;
        }
        bytes.extend_from_slice(NO_WRAPPING);
        // In the last column the cursor would be on this row or the next, as the terminal likes.
        let room = columns.saturating_sub(1).max(1);
        for bar in &self.bars {
            if !self.drawn.is_empty() {
                bytes.push(b'\n');
            }
            let text = line_text(bar, room);
            let line = fit(&text, room);
            self.drawn.push(display_width(&line));
            bytes.extend_from_slice(line.as_bytes());
        }
        bytes.extend_from_slice(WRAPPING);
    }
}

fn line_text(bar: &Bar, room: usize) -> String {
    let width = (room / 4).min(WIDEST_BAR);
    match bar.progress {
        Some((position, total)) if width >= NARROWEST_BAR => {
            format!("[{}] {}", bar_text(position, total, width), bar.text)
        }
        _ => bar.text.clone(),
    }
}

/// `=====>    `, full only when all is done.
fn bar_text(position: u64, total: u64, width: usize) -> String {
    let (position, total) = (u128::from(position.min(total)), u128::from(total));
    if total == 0 {
        return " ".repeat(width);
    }
    let filled = usize::try_from(position * width as u128 / total).unwrap_or(width);
    let mut text = "=".repeat(filled);
    if filled < width {
        if position > 0 {
            text.push('>');
        }
        text.push_str(&" ".repeat(width - display_width(&text)));
    }
    text
}

#[cfg(test)]
mod tests {
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

    /// What the terminal gets for a change.
    fn bytes(area: &mut StatusArea, change: impl FnOnce(&mut StatusArea, &mut Vec<u8>)) -> String {
        let mut bytes = Vec::new();
        change(area, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("\x1b[?7l").count(), text.matches("\x1b[?7h").count(), "{text:?}");
        text.replace("\x1b[?7l", "").replace("\x1b[?7h", "")
    }

    /// Two lines cleared, with the cursor at the beginning of the first.
    const CLEAR: &str = "\r\x1b[2K\x1b[A\x1b[2K";

    fn two_bars() -> [Bar; 2] {
        [Bar::of((50, 100), "slot".to_owned()), Bar { progress: None, text: "策略".repeat(9) }]
    }

    fn drawn(columns: usize) -> (StatusArea, String) {
        let mut area = StatusArea::new(true);
        let drawn = bytes(&mut area, |area, bytes| area.show(&two_bars(), columns, bytes));
        (area, drawn)
    }

    #[test]
    fn every_bar_takes_one_line_whatever_its_characters() {
        let (_, text) = drawn(31);
        assert_eq!(text, format!("[===>   ] slot\n{}…", "策略".repeat(7)));
        assert!(text.lines().all(|line| display_width(line) < 31));
    }

    #[test]
    fn a_log_line_goes_above_the_bars() {
        let (mut area, bars) = drawn(31);
        for line in ["a\tlog\n", "a\tlog"] {
            let text = bytes(&mut area, |area, bytes| area.log(line.as_bytes(), 31, bytes));
            assert_eq!(text, format!("{CLEAR}a\tlog\n{bars}"));
        }
    }

    #[test]
    fn no_bars_leave_nothing_behind() {
        let (mut area, _) = drawn(31);
        let none = |area: &mut StatusArea| bytes(area, |area, bytes| area.show(&[], 31, bytes));
        assert_eq!([none(&mut area), none(&mut area)], [CLEAR, ""]);
        assert_eq!(bytes(&mut area, |area, bytes| area.log(b"no line", 31, bytes)), "no line");
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_erased_whole() {
        let narrow = |area: &mut StatusArea| bytes(area, |area, bytes| area.show(&[], 7, bytes));
        let (mut area, text) = drawn(41);
        let widths: Vec<usize> = text.lines().map(display_width).collect();
        assert_eq!(widths, [17, 36]);
        let rest = "\x1b[A\x1b[2K".repeat(7);
        assert_eq!(narrow(&mut area), format!("{CLEAR}{rest}"));
        let (mut area, _) = drawn(41);
        area.reflows = false;
        assert_eq!(narrow(&mut area), CLEAR);
    }

    #[test]
    fn a_line_of_log_is_not_erased_with_bars_that_were_broken() {
        let (mut area, bars) = drawn(41);
        bytes(&mut area, |area, bytes| area.log(b"log\n", 41, bytes));
        let text = bytes(&mut area, |area, bytes| area.show(&[], 7, bytes));
        assert_eq!(text, CLEAR, "after {bars}");
    }

    #[test]
    fn a_narrow_terminal_has_no_room_for_a_bar_text() {
        assert_eq!(drawn(25).1.lines().next(), Some("[===>  ] slot"));
        assert_eq!(drawn(24).1.lines().next(), Some("slot"));
        assert_eq!(drawn(4).1.lines().next(), Some("sl…"));
        assert!(drawn(0).1.lines().all(|line| display_width(line) <= 1));
    }

    #[test]
    fn a_drawing_is_full_only_at_the_end() {
        let of = |position, total| bar_text(position, total, 8);
        assert_eq!([of(0, 9), of(1, 1000), of(999, 1000)], ["        ", ">       ", "=======>"]);
        assert_eq!([of(9, 9), of(10, 9), of(0, 0)], ["========", "========", "        "]);
        assert_eq!(of(u64::MAX - 1, u64::MAX), "=======>");
    }
}
