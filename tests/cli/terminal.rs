//! What a person sees: the program on a real terminal, watched through `tmux`.
//!
//! Where `tmux` is absent these tests say so and pass, unless `RLE_REQUIRE_PEERS=1` asks for it.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::support::Lab;

/// How long a screen may take to show what is expected of it.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal of its own server, with the program in it.
struct Terminal {
    server: String,
    listener: UnixListener,
    _lab: Lab,
}

/// The socket to a run that says what it is told.
struct Talker(UnixStream);

impl Talker {
    fn say(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

impl Terminal {
    /// Starts `lab` with these words on so many columns and rows; nothing without `tmux`.
    fn start(columns: u16, rows: u16, words: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if Command::new("tmux").arg("-V").output().is_err() {
            let required = env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "there is no tmux, and RLE_REQUIRE_PEERS is 1");
            println!("skipped: there is no tmux here");
            return None;
        }
        let lab = Lab::new();
        let (socket, listener) = lab.listen();
        let server =
            format!("rle-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let config = lab.write("tmux.conf", "set -g remain-on-exit on\nset -g status off\n");
        let line = format!(
            "cd '{}' && LAB_SOURCE='{}' LAB_TRACE='{}' exec '{}' {words} \
             --set algorithm_configs.wild.act=talk --set algorithm_configs.wild.with='{socket}'",
            lab.work().display(),
            lab.root().join("source").display(),
            lab.root().join("trace").display(),
            env!("CARGO_BIN_EXE_lab"),
        );
        let terminal = Self { server, listener, _lab: lab };
        let started = terminal
            .tmux()
            .arg("-f")
            .arg(config)
            .args(["new-session", "-d", "-x", &columns.to_string(), "-y", &rows.to_string()])
            .args(["sh", "-c", &line])
            .output()
            .unwrap();
        assert!(started.status.success(), "{started:?}");
        Some(terminal)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server]).env_remove("TMUX").env_remove("RLE_LOG");
        command.env_remove("RUST_LOG").env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
        command
    }

    /// Waits for runs that begin, in the order of their numbers.
    fn talkers<const N: usize>(&self) -> [Talker; N] {
        let mut talkers: Vec<(String, Talker)> = (0..N)
            .map(|_| {
                let (socket, _) = self.listener.accept().unwrap();
                let mut number = String::new();
                BufReader::new(&socket).read_line(&mut number).unwrap();
                (number, Talker(socket))
            })
            .collect();
        talkers.sort_by(|one, other| one.0.cmp(&other.0));
        let talkers: Vec<Talker> = talkers.into_iter().map(|(_, talker)| talker).collect();
        talkers.try_into().ok().unwrap()
    }

    fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let resized = self.tmux().args(["resize-window", "-x", &columns, "-y", &rows]).output();
        assert!(resized.unwrap().status.success());
    }

    /// The lines on the screen, or with `history` all that ever left it at the top too.
    fn lines(&self, history: bool) -> Vec<String> {
        let mut command = self.tmux();
        command.args(["capture-pane", "-p"]);
        if history {
            command.args(["-J", "-S", "-"]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    fn shows(&self, what: &str, expected: impl Fn(&[String]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines(false);
            if expected(&lines) {
                return;
            }
            assert!(Instant::now() < deadline, "no {what}:\n{}", lines.join("\n"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    fn ends(&self) {
        self.shows("end", |_| {
            let asked = self.tmux().args(["display-message", "-p", "#{pane_dead}"]).output();
            asked.unwrap().stdout.starts_with(b"1")
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}

/// The bars at the foot: each one line, the suite's last, and nothing below.
fn has_foot(lines: &[String], slots: &[&str]) -> bool {
    let Some(foot) = lines.len().checked_sub(slots.len() + 1) else { return false };
    slots.iter().zip(&lines[foot..]).all(|(slot, line)| line.contains(slot))
        && lines.last().is_some_and(|line| line.contains("suite "))
        && !lines[..foot].last().is_some_and(|line| is_bar(line))
}

/// The bars at the foot, and none anywhere else.
fn has_bars(lines: &[String], slots: &[&str]) -> bool {
    let bars = lines.iter().filter(|line| is_bar(line)).count();
    bars == slots.len() + 1 && has_foot(lines, slots)
}

fn is_bar(line: &str) -> bool {
    line.starts_with('[') || line.starts_with("suite ") || line.starts_with("Wild run 0 ")
}

#[test]
fn log_lines_stay_whole_above_the_bars_of_two_workers() {
    let words = "--algorithms wild --num-runs 2 --jobs 2";
    let Some(terminal) = Terminal::start(90, 12, words) else { return };
    let [mut first, mut second] = terminal.talkers();
    terminal.shows("bars", |lines| has_bars(lines, &["Wild run 0", "Wild run 1"]));
    let line = |who: &str, number: u32| format!("{who} says {number:02} {}", "=".repeat(40));
    for number in 0..30 {
        first.say(&line("zero", number));
        second.say(&line("one", number));
    }
    terminal.shows("last words", |lines| {
        let finished = lines.iter().filter(|line| line.ends_with("return 30")).count();
        finished == 2 && has_bars(lines, &["Wild run 0", "Wild run 1"])
    });
    drop((first, second));
    terminal.ends();
    let all = terminal.lines(true);
    let text = all.join("\n");
    for who in ["zero", "one"] {
        for number in 0..30 {
            let whole = all.iter().filter(|shown| shown.ends_with(&line(who, number))).count();
            assert_eq!(whole, 1, "{who} {number}:\n{text}");
        }
    }
    assert!(!all.iter().any(|line| is_bar(line)), "a bar was left behind:\n{text}");
    assert!(all.iter().any(|line| line.starts_with("wild:1  complete")), "{text}");
}

#[test]
fn bars_are_right_after_a_terminal_changed_its_size() {
    let words = "--algorithms wild --num-runs 1";
    let Some(terminal) = Terminal::start(100, 12, words) else { return };
    let [mut talker] = terminal.talkers();
    terminal.shows("bars at first", |lines| has_bars(lines, &["Wild run 0"]));
    let mut widest = 100;
    for (number, columns) in [60, 40, 24, 19, 80, 30].into_iter().enumerate() {
        // A line of log that is younger is never put at risk.
        thread::sleep(Duration::from_millis(450));
        terminal.resize(columns, 12);
        // What a terminal has already moved out of sight may come back when it is wider.
        let narrower = columns < widest;
        widest = columns;
        terminal.shows(&format!("bars on {columns} columns"), |lines| {
            let slot = &["Wild run 0"];
            if narrower { has_bars(lines, slot) } else { has_foot(lines, slot) }
        });
        let said = format!("line {number}");
        talker.say(&said);
        terminal.shows("line of log", |lines| {
            has_foot(lines, &["Wild run 0"]) && lines.concat().contains(&said)
        });
    }
    drop(talker);
    terminal.ends();
    let all = terminal.lines(true);
    let text = all.join("\n");
    let foot = all.iter().position(|line| line.ends_with("line 5")).unwrap();
    assert!(!all[foot..].iter().any(|line| is_bar(line)), "a bar was left behind:\n{text}");
    for number in 0..6 {
        let shown = all.iter().filter(|line| line.ends_with(&format!("line {number}"))).count();
        assert_eq!(shown, 1, "line {number}:\n{text}");
    }
}

#[test]
fn no_log_line_is_lost_while_a_terminal_changes_its_size() {
    let words = "--algorithms wild --num-runs 1";
    let Some(terminal) = Terminal::start(100, 24, words) else { return };
    let [mut talker] = terminal.talkers();
    let sizes = [(30, 12), (9, 3), (70, 24), (2, 1), (50, 9)];
    for (number, (columns, rows)) in sizes.iter().cycle().take(40).enumerate() {
        talker.say(&format!("line {number:02}"));
        terminal.resize(*columns, *rows);
    }
    terminal.resize(100, 50);
    drop(talker);
    terminal.ends();
    // Rests of bars may stay between them, in so small a terminal and so soon after a line.
    let text = terminal.lines(true).concat();
    for number in 0..40 {
        assert!(text.contains(&format!("line {number:02}")), "no line {number:02}:\n{text}");
    }
}
