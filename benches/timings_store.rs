//! Durable updates of one timing file by many processes, beside Python's `filelock` with `json`
//! and beside `SQLite` in WAL mode; and what one update of a long file costs.
//!
//! `RLE_PYTHON=venv/bin/python cargo bench -p rle-benches --bench timings_store`
//!
//! The Python needs the package `filelock`. Words after `--` choose: `contention`, `growth`,
//! `turns=3`. Every writer is a process of its own that has started, loaded its modules and
//! opened its database before the clock runs, and then makes 50 updates, each with its syncs.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rle::timings::{RunKey, Timings};

const UPDATES: u32 = 50;
const WRITERS: [u32; 3] = [1, 8, 64];
const PEERS: [&str; 3] = ["rle", "filelock", "sqlite"];
const LENGTHS: [u32; 4] = [100, 1_000, 10_000, 100_000];
const REPEATS: usize = 21;

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [role, dir, writer, count] = &words[..]
        && role == "writer"
    {
        write(dir, writer.parse().expect("a number"), count.parse().expect("a number"));
        return;
    }
    let turns = words.iter().find_map(|word| word.strip_prefix("turns=")?.parse().ok());
    let chosen = |part: &str| {
        let names: Vec<_> = words.iter().filter(|word| !word.contains('=')).collect();
        names.is_empty() || names.iter().any(|name| *name == part)
    };
    if chosen("growth") {
        growth();
    }
    if chosen("contention") {
        for writers in WRITERS {
            contention(writers, turns.unwrap_or(3));
        }
    }
}

/// One of our writers.
fn write(dir: &str, writer: u32, count: u32) {
    // Collected once per process, as a peer's modules are loaded once.
    rle::hardware::current();
    println!("ready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    for step in 0..count {
        let run_idx = 1 + writer * count + step;
        Timings::update(dir, |timings| timings.record("train", 0.25, RunKey::run(run_idx)))
            .expect("the update succeeds");
    }
    println!("done");
}

fn contention(writers: u32, turns: usize) {
    let mut rates: Vec<[f64; PEERS.len()]> = Vec::new();
    for turn in 0..turns {
        let rate = PEERS.map(|peer| {
            let updates = f64::from(writers * UPDATES);
            updates / time(peer, writers).as_secs_f64()
        });
        println!(
            "{writers} writers, turn {turn}: {}",
            PEERS
                .iter()
                .zip(rate)
                .map(|(p, r)| format!("{p} {r:.1}/s"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        rates.push(rate);
    }
    for peer in 1..PEERS.len() {
        let mut ratios: Vec<f64> = rates.iter().map(|rate| rate[0] / rate[peer]).collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "{writers} writers: throughput over that of {}: median {:.2} (from {:.2} to {:.2})",
            PEERS[peer],
            ratios[turns / 2],
            ratios[0],
            ratios[turns - 1]
        );
    }
}

/// From the word to go to the last writer's last answer.
fn time(peer: &str, writers: u32) -> Duration {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let mut children: Vec<Child> =
        (0..writers).map(|writer| start(peer, dir.path(), writer)).collect();
    let mut answers: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines())
        .collect();
    for answer in &mut answers {
        assert_eq!(answer.next().and_then(Result::ok).as_deref(), Some("ready"), "{peer}");
    }
    let began = Instant::now();
    for child in &mut children {
        drop(child.stdin.take());
    }
    for answer in &mut answers {
        assert_eq!(answer.next().and_then(Result::ok).as_deref(), Some("done"), "{peer}");
    }
    let took = began.elapsed();
    for child in &mut children {
        assert!(child.wait().is_ok_and(|status| status.success()), "{peer}");
    }
    check(peer, dir.path(), writers * UPDATES);
    took
}

/// None of a peer that keeps a file of our format may have lost an entry.
fn check(peer: &str, dir: &Path, expected: u32) {
    if peer == "sqlite" {
        return;
    }
    let timings = Timings::load(dir).expect("the file is whole");
    let entries = timings.stage("train").map_or(0, |stage| stage.runs().len());
    assert_eq!(entries, expected as usize, "{peer}");
}

fn start(peer: &str, dir: &Path, writer: u32) -> Child {
    let mut command = if peer == "rle" {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command.arg("writer");
        command
    } else {
        let python = env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/programs/store_peers.py")).arg(peer);
        command
    };
    command
        .arg(dir)
        .args([writer.to_string(), UPDATES.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writer can be started")
}

/// One update of files of several lengths: on disk, and in memory, where a sync costs nothing.
fn growth() {
    let disk = tempfile::tempdir().expect("a temporary directory can be made");
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    for length in LENGTHS {
        let mut parts = vec![format!("{length} entries")];
        for (name, dir) in [("disk", Some(&disk)), ("memory", memory.as_ref())] {
            let Some(dir) = dir else { continue };
            let dir = dir.path().join(length.to_string());
            fill(&dir, length);
            let size = fs::metadata(dir.join("timings.json")).map_or(0, |file| file.len());
            let mut times: Vec<f64> = (0..REPEATS).map(|_| update(&dir, length)).collect();
            times.sort_by(f64::total_cmp);
            parts.push(format!("{name} {:.2} ms", times[REPEATS / 2] * 1e3));
            if name == "memory" {
                parts.push(format!("{} KiB", size / 1024));
            }
        }
        println!("one update of {}", parts.join(", "));
    }
    let _ = std::io::stdout().flush();
}

fn fill(dir: &Path, length: u32) {
    let mut timings = Timings::new();
    for run_idx in 0..length {
        timings.record("train", 0.25, RunKey::run(run_idx)).expect("the time is finite");
    }
    timings.save(dir).expect("the file can be written");
}

/// The time of one update that replaces the entry of a run: the length stays.
fn update(dir: &Path, length: u32) -> f64 {
    let mut new = Timings::new();
    new.record("train", 0.5, RunKey::run(length / 2)).expect("the time is finite");
    let began = Instant::now();
    new.save(dir).expect("the file can be written");
    began.elapsed().as_secs_f64()
}
