//! All writing to stderr: bars stay at the bottom of the terminal, log lines go above them. A stderr
//! that is closed or full is not an error.

use std::io::{self, Write};
use std::sync::LazyLock;

use terminal_size::{Height, Width};

use super::environment::{reflows, variable};
use super::status_area::{Bar, StatusArea};
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

/// Columns and rows of the terminal, or what it usually is.
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
