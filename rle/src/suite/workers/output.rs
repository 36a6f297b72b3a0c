//! What workers write to stdout and stderr, passed on line by line.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::console::write_lines;
use crate::sync::Mutex;

/// How long the output of a worker that is gone is waited for.
const OUTPUT_GRACE: Duration = Duration::from_secs(5);

/// A line of a worker's output that is longer is cut into pieces.
const LINE_BYTES: u64 = 64 * 1024;

/// The last lines of a worker's stderr: what the system said before it died.
const LAST_LINES: usize = 5;

/// Both output streams of a worker, passed on line by line.
pub(super) struct Outputs {
    /// Disconnected when all streams have ended.
    ended: Receiver<()>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
}

impl Outputs {
    pub(super) fn forward(child: &mut Child, slot: &str) -> Self {
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let (open, ended) = mpsc::channel::<()>();
        if let Some(stream) = child.stdout.take() {
            let (slot, open) = (slot.to_owned(), open.clone());
            thread::spawn(move || {
                let _open = open;
                read_lines(stream, |line| write_line(&slot, line));
            });
        }
        if let Some(stream) = child.stderr.take() {
            let (slot, kept) = (slot.to_owned(), Arc::clone(&last_lines));
            thread::spawn(move || {
                let _open = open;
                read_lines(stream, |line| {
                    write_line(&slot, line);
                    let mut kept = kept.lock();
                    kept.push_back(line.trim().to_owned());
                    if kept.len() > LAST_LINES {
                        kept.pop_front();
                    }
                });
            });
        }
        Self { ended, last_lines }
    }

    /// The last lines of stderr, in one.
    pub(super) fn join(self) -> String {
        // A process that the worker left behind may keep them open for as long as it likes.
        let _ = self.ended.recv_timeout(OUTPUT_GRACE);
        let lines = self.last_lines.lock();
        lines.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>().join(" / ")
    }
}

fn write_line(slot: &str, line: &str) {
    write_lines(format!("{slot} | {line}\n").as_bytes());
}

/// Calls `handle` with each line of a stream, a long one in pieces.
fn read_lines(stream: impl Read, mut handle: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        handle(&String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_passed_on_in_pieces_of_bounded_size() {
        let long = "x".repeat(3 * 64 * 1024);
        let text = format!("first\n{long}\nlast without an end");
        let mut lines = Vec::new();
        read_lines(text.as_bytes(), |line| lines.push(line.to_owned()));
        assert_eq!(
            (lines[0].as_str(), lines.last().unwrap().as_str()),
            ("first", "last without an end")
        );
        assert!(lines.iter().all(|line| line.len() <= 64 * 1024));
        assert_eq!(lines[1..lines.len() - 1].concat(), long);
    }
}
