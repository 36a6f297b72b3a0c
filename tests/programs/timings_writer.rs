//! A program that uses the timing store as a user's own would, for the tests that start many.
//!
//! Each command takes the directory first. What it says on stdout is the protocol of the tests:
//! one line for each call of the store that returned.

use std::env;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use rle::timings::{RunKey, SaveOptions, Timer, Timings};
use serde::Serialize;

/// The stage that all writers share.
const STAGE: &str = "train";

#[derive(Serialize)]
struct Further {
    writer: u32,
    text: &'static str,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["write", dir, writer, count] => write(dir, number(writer), number(count)),
        ["read", dir] => read(dir),
        ["hold", dir] => hold(dir),
        ["load", dir] => load(dir),
        ["save", dir, timeout_ms] => save(dir, number(timeout_ms)),
        ["measure", dir, how] => measure(dir, how),
        _ => Err(rle::Error::Usage(format!("not a command: {words:?}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn number(word: &str) -> u32 {
    word.parse().expect("a number")
}

fn say(line: impl std::fmt::Display) {
    let mut stdout = io::stdout().lock();
    // A reader that has gone is no reason to stop in the middle.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Returns when stdin is closed.
fn await_end_of_stdin() {
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Once stdin is closed, records as many entries, each by a call of its own: one by an update, the
/// next by a save.
fn write(dir: &str, writer: u32, count: u32) -> Result<(), rle::Error> {
    say("ready");
    await_end_of_stdin();
    for step in 0..count {
        // From 1: the run index 0 begins the series anew.
        let run_idx = 1 + writer * count + step;
        let further = Further { writer, text: "\"quoted\"\n\u{1f9ea}" };
        let record = |timings: &mut Timings| {
            timings.record_with(STAGE, 0.25, RunKey::run(run_idx), &further)
        };
        if run_idx.is_multiple_of(2) {
            Timings::update(dir, record)?;
        } else {
            let mut timings = Timings::new();
            record(&mut timings)?;
            timings.save(dir)?;
        }
        say(run_idx);
    }
    Ok(())
}

/// Says when a measurement has begun, and ends it once stdin is closed.
fn measure(dir: &str, how: &str) -> Result<(), rle::Error> {
    let mut timings = Timings::load(dir)?;
    let wait = || {
        say("begun");
        await_end_of_stdin();
    };
    if how == "guard" {
        timings.timed(STAGE, RunKey::none(), wait);
        return Ok(());
    }
    let mut timer = Timer::new(STAGE, RunKey::none());
    timer.start()?;
    wait();
    timer.stop(&mut timings).map(drop)
}

/// Loads again and again until stdin is closed, and says how often. An entry that was there is
/// there in every later reading.
fn read(dir: &str) -> Result<(), rle::Error> {
    let (closed, is_closed) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        await_end_of_stdin();
        closed.send(())
    });
    let (mut readings, mut most) = (0_u64, 0);
    while is_closed.try_recv().is_err() {
        let entries = Timings::load(dir)?.stage(STAGE).map_or(0, |stage| stage.runs().len());
        if entries < most {
            return Err(rle::Error::Usage(format!("{entries} entries after {most}")));
        }
        most = entries;
        readings += 1;
        if readings == 1 {
            say("ready");
        }
    }
    say(readings);
    Ok(())
}

/// Loads once, and says how much memory that took at most.
fn load(dir: &str) -> Result<(), rle::Error> {
    let outcome = Timings::load(dir);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    say(peak.trim().trim_end_matches(" kB"));
    outcome.map(drop)
}

/// Holds the lock, says so, and gives it back when stdin is closed, with nothing written.
fn hold(dir: &str) -> Result<(), rle::Error> {
    let outcome = Timings::update(dir, |_| {
        say("held");
        await_end_of_stdin();
        Err(rle::Error::Usage("nothing to write".to_owned()))
    });
    outcome.map(drop).or(Ok(()))
}

/// Saves one entry, waiting no longer than that.
fn save(dir: &str, timeout_ms: u32) -> Result<(), rle::Error> {
    let mut timings = Timings::new();
    timings.record("saved", 1.0, RunKey::label("once"))?;
    let timeout = Duration::from_millis(timeout_ms.into());
    say("ready");
    timings.save_with(dir, SaveOptions::default().lock_timeout(timeout))?;
    say("saved");
    Ok(())
}
