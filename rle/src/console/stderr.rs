//! The one way to stderr of the generated program: bars stay at the foot, log lines go above them.
//! A stderr that is closed or full is never an error, and each change is one write.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use terminal_size::{Height, Width};

use super::text::display_width;

static SCREEN: Mutex<Screen> = Mutex::new(Screen { foot: Vec::new() });

/// What stands at the foot of the terminal, each on a line of its own.
struct Screen {
    foot: Vec<String>,
}

/// Shows these lines at the foot instead of those before; none takes them away.
pub(super) fn show(foot: Vec<String>) {
    let mut screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
    // The lock is held while writing, for the order on the terminal is the order of the changes.
    write(screen.change(b"", Some(foot), size().0).as_slice());
}

/// Writes whole lines, above the bars if there are any.
pub(crate) fn write_lines(lines: &[u8]) {
    let mut screen = SCREEN.lock().unwrap_or_else(PoisonError::into_inner);
    if screen.foot.is_empty() {
        write(lines);
    } else {
        write(screen.change(lines, None, size().0).as_slice());
    }
}

/// Columns and rows of the terminal, or what it usually is.
pub(super) fn size() -> (usize, usize) {
    terminal_size::terminal_size_of(io::stderr())
        .map_or((80, 24), |(Width(columns), Height(rows))| {
            (usize::from(columns.max(1)), usize::from(rows.max(1)))
        })
}

/// The width of the terminal that stdout is, for a table's layout; nothing where it is none.
pub(crate) fn stdout_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

fn write(bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

impl Screen {
    /// The bytes that put `lines` above the foot, and a new foot if given.
    fn change(&mut self, lines: &[u8], foot: Option<Vec<String>>, width: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Where the terminal has become narrower, lines wrap.
        let rows: usize =
            self.foot.iter().map(|line| display_width(line).div_ceil(width).max(1)).sum();
        if rows > 0 {
            // Up, and clear to the end of the screen.
            bytes.extend_from_slice(format!("\x1b[{rows}A\r\x1b[J").as_bytes());
        }
        bytes.extend_from_slice(lines);
        if lines.last().is_some_and(|&last| last != b'\n') {
            bytes.push(b'\n');
        }
        if let Some(foot) = foot {
            self.foot = foot;
        }
        for line in &self.foot {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        bytes
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

    fn changed(screen: &mut Screen, lines: &str, foot: Option<&[&str]>, width: usize) -> String {
        let foot = foot.map(|foot| foot.iter().map(|&line| line.to_owned()).collect());
        String::from_utf8(screen.change(lines.as_bytes(), foot, width)).unwrap()
    }

    #[test]
    fn a_log_line_goes_above_the_foot() {
        let mut screen = Screen { foot: Vec::new() };
        assert_eq!(changed(&mut screen, "", Some(&["slot", "suite"]), 80), "slot\nsuite\n");
        let clear = "\x1b[2A\r\x1b[J";
        assert_eq!(changed(&mut screen, "log\n", None, 80), format!("{clear}log\nslot\nsuite\n"));
        assert_eq!(changed(&mut screen, "", Some(&["suite"]), 80), format!("{clear}suite\n"));
    }

    #[test]
    fn an_unfinished_line_does_not_run_into_the_foot() {
        let mut screen = Screen { foot: vec!["suite".to_owned()] };
        assert_eq!(changed(&mut screen, "log", None, 80), "\x1b[1A\r\x1b[Jlog\nsuite\n");
    }

    #[test]
    fn an_empty_foot_leaves_nothing() {
        let mut screen = Screen { foot: vec!["suite".to_owned()] };
        assert_eq!(changed(&mut screen, "", Some(&[]), 80), "\x1b[1A\r\x1b[J");
        assert_eq!(changed(&mut screen, "", Some(&[]), 80), "");
    }

    #[test]
    fn a_foot_that_wraps_is_cleared_whole() {
        let mut screen = Screen { foot: vec!["x".repeat(25), String::new()] };
        assert_eq!(changed(&mut screen, "", Some(&[]), 10), "\x1b[4A\r\x1b[J");
    }
}
