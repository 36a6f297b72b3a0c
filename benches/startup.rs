//! Start-up: `list` with 100 and with 1,000 registered algorithms, beside an empty program and
//! beside a program written by hand that prints the same text.
//!
//! `cargo bench -p rle-benches --features programs --bench startup`
//!
//! The programs run in turn, so that a machine that drifts drifts for all of them; what counts
//! is the median of the ratios within one turn.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TURNS: usize = 300;
const WARM_UP: usize = 20;

fn main() {
    let programs = [
        ("empty program", env!("CARGO_BIN_EXE_empty"), None),
        ("by hand, 1,000 entries", env!("CARGO_BIN_EXE_by_hand"), None),
        ("list, 100 algorithms", env!("CARGO_BIN_EXE_hundred"), Some("list")),
        ("list, 1,000 algorithms", env!("CARGO_BIN_EXE_thousand"), Some("list")),
    ];
    let mut turns: Vec<Vec<f64>> = Vec::new();
    for turn in 0..WARM_UP + TURNS {
        let times: Vec<f64> =
            programs.iter().map(|(_, path, word)| run(path, *word).as_secs_f64()).collect();
        if turn >= WARM_UP {
            turns.push(times);
        }
    }
    println!("{:<24}{:>12}{:>18}{:>18}", "program", "median ms", "ratio to empty", "to by hand");
    for (column, (name, ..)) in programs.iter().enumerate() {
        let time = median(turns.iter().map(|times| times[column]).collect());
        let ratio =
            |to: usize| median(turns.iter().map(|times| times[column] / times[to]).collect());
        println!("{name:<24}{:>12.3}{:>18.2}{:>18.2}", time * 1e3, ratio(0), ratio(1));
    }
}

fn run(path: &str, word: Option<&str>) -> Duration {
    let start = Instant::now();
    let status = Command::new(path)
        .args(word)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the program can be started");
    let taken = start.elapsed();
    assert!(status.success(), "{path} failed: {status}");
    taken
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
