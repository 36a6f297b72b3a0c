//! The one way to stderr of the generated program: bars stay at the foot, log lines go above them.
//! A stderr that is closed or full is never an error, and each change is one write.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use terminal_size::{Height, Width};

use super::bars::Bar;

static SCREEN: LazyLock<Mutex<Screen>> = LazyLock::new(|| Mutex::new(Screen::new(size)));

/// Shows these bars at the foot instead of those before; none takes them away.
pub(super) fn show(bars: &[Bar]) {
    change(|screen| screen.show(bars));
}

/// Writes whole lines, above the bars if there are any.
pub(crate) fn write_lines(lines: &[u8]) {
    change(|screen| screen.log(lines));
}

/// Columns and rows of the terminal, or what it usually is.
pub(super) fn size() -> (u16, u16) {
    terminal_size::terminal_size_of(io::stderr())
        .map_or((80, 24), |(Width(columns), Height(rows))| (columns, rows))
}

/// The width of the terminal that stdout is, for a table's layout; nothing where it is none.
pub(crate) fn stdout_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

fn change(change: impl FnOnce(&mut Screen) + Send) {
    on_a_sound_thread(|| {
        let mut screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut screen);
        let bytes = std::mem::take(&mut *screen.terminal.pending());
        // The lock is held while writing, for the order on the terminal is the order of the changes.
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(&bytes).and_then(|()| stderr.flush());
    });
}

/// Indicatif draws nothing on a thread that panics, and the panic's own log line comes from there.
fn on_a_sound_thread(act: impl FnOnce() + Send) {
    if thread::panicking() {
        thread::scope(|scope| {
            let _ =
                thread::Builder::new().spawn_scoped(scope, act).map(thread::ScopedJoinHandle::join);
        });
    } else {
        act();
    }
}

#[derive(Debug)]
struct Screen {
    terminal: Terminal,
    foot: MultiProgress,
    bars: Vec<ProgressBar>,
}

impl Screen {
    fn new(size: fn() -> (u16, u16)) -> Self {
        let terminal = Terminal { pending: Arc::default(), size };
        // `show` says when to draw; the bars themselves need not, each time one of them moves.
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 1);
        Self { terminal, foot: MultiProgress::with_draw_target(target), bars: Vec::new() }
    }

    fn show(&mut self, bars: &[Bar]) {
        for bar in self.bars.drain(bars.len().min(self.bars.len())..) {
            self.foot.remove(&bar);
        }
        self.bars.resize_with(bars.len(), || self.foot.add(ProgressBar::hidden()));
        for (drawn, bar) in self.bars.iter().zip(bars) {
            let _ = drawn.clone().with_style(style(bar)).with_message(bar.text.clone());
            drawn.update(|state| {
                let (position, total) = bar.progress.unwrap_or_default();
                state.set_len(total);
                state.set_pos(position);
            });
        }
        match self.bars.last() {
            Some(last) => last.force_draw(),
            None => drop(self.foot.clear()),
        }
    }

    fn log(&self, lines: &[u8]) {
        // Not its `println`, which fills lines up to the terminal's width instead of ending them.
        self.foot.suspend(|| {
            let mut pending = self.terminal.pending();
            pending.extend_from_slice(lines);
            if !self.bars.is_empty() && !lines.ends_with(b"\n") {
                pending.push(b'\n');
            }
        });
    }
}

fn style(bar: &Bar) -> ProgressStyle {
    let template = if bar.progress.is_some() { "[{bar:16}] {wide_msg}" } else { "{wide_msg}" };
    let style = ProgressStyle::with_template(template).expect("both templates are well-formed");
    style.progress_chars("=> ")
}

/// A terminal that never fails, as indicatif's callers do if one does: it only gathers what to write.
#[derive(Clone, Debug)]
struct Terminal {
    pending: Arc<Mutex<Vec<u8>>>,
    size: fn() -> (u16, u16),
}

impl Terminal {
    fn pending(&self) -> MutexGuard<'_, Vec<u8>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        // Terminals take 0 for 1.
        if n > 0 { self.write_str(&format!("\x1b[{n}{direction}")) } else { Ok(()) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        // Narrower than its widest character, indicatif counts below zero.
        (self.size)().0.max(4)
    }

    fn height(&self) -> u16 {
        (self.size)().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.pending().extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A log layer's writer: each event comes in one piece.
#[derive(Debug)]
pub(super) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_lines(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the terminal gets for a change.
    fn bytes(screen: &mut Screen, change: impl FnOnce(&mut Screen)) -> String {
        change(screen);
        String::from_utf8(std::mem::take(&mut *screen.terminal.pending())).unwrap()
    }

    fn two_bars(width: fn() -> (u16, u16)) -> (Screen, String) {
        let mut screen = Screen::new(width);
        let bars =
            [Bar::of((50, 100), "slot".to_owned()), Bar { progress: None, text: "策略".repeat(9) }];
        // Indicatif draws the first changes twice.
        for _ in 0..30 {
            bytes(&mut screen, |screen| screen.show(&bars));
        }
        let drawn = bytes(&mut screen, |screen| screen.show(&bars));
        (screen, drawn)
    }

    /// Two lines cleared, with the cursor at the beginning of the first.
    const CLEAR: &str = "\x1b[1A\r\x1b[2K\x1b[1B\r\x1b[2K\x1b[1A";

    #[test]
    fn every_bar_takes_one_line_whatever_its_characters() {
        let (_, drawn) = two_bars(|| (31, 24));
        let slot = "[========>       ] slot        ";
        assert_eq!(drawn, format!("{CLEAR}{slot}{} ", "策略".repeat(7) + "策"));
    }

    #[test]
    fn a_log_line_goes_above_the_bars() {
        let (mut screen, drawn) = two_bars(|| (31, 24));
        let bars = drawn.strip_prefix(CLEAR).unwrap();
        for line in ["a\tlog\n", "a\tlog"] {
            let text = bytes(&mut screen, |screen| screen.log(line.as_bytes()));
            assert_eq!(text, format!("{CLEAR}a\tlog\n{bars}"));
        }
    }

    #[test]
    fn no_bars_leave_nothing_behind() {
        let (mut screen, _) = two_bars(|| (31, 24));
        assert_eq!(bytes(&mut screen, |screen| screen.show(&[])), CLEAR);
        assert_eq!(bytes(&mut screen, |screen| screen.show(&[])), "");
        assert_eq!(bytes(&mut screen, |screen| screen.log(b"no line")), "no line");
    }

    #[test]
    fn fewer_bars_leave_no_line_of_those_before() {
        let (mut screen, _) = two_bars(|| (31, 24));
        let text = bytes(&mut screen, |screen| screen.show(&[Bar::of((1, 1), "x".to_owned())]));
        assert!(text.starts_with(&format!("{CLEAR}[================] x ")), "{text:?}");
    }

    #[test]
    fn a_terminal_of_no_size_is_no_panic() {
        two_bars(|| (0, 0));
        two_bars(|| (1, 1));
    }

    #[test]
    fn a_panicking_thread_has_its_changes_made() {
        struct Guard(Arc<Mutex<Option<bool>>>);
        impl Drop for Guard {
            fn drop(&mut self) {
                on_a_sound_thread(|| *self.0.lock().unwrap() = Some(thread::panicking()));
            }
        }
        let seen = Arc::default();
        let guard = Guard(Arc::clone(&seen));
        let panicked = thread::spawn(move || {
            let _guard = guard;
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.join().is_err());
        assert_eq!(*seen.lock().unwrap(), Some(false));
    }
}
