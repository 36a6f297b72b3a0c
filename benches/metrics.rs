//! Scalars per second of the metric loggers beside other writers, and what a training thread pays.
//!
//! `RLE_PYTHON=... cargo bench -p rle-benches --bench metrics`
//!
//! Each subject writes scalars of five names and is timed within its process, from the first one
//! until all are in the file and it is closed; imports and start-up do not count. The subjects
//! take turns, and what counts is the median of the ratios within one turn. The Python writers
//! write fewer scalars, since they take long; a peer that is not installed is left out, visibly.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rle::Slug;
use rle::metrics::{Backend, LogOptions, LoggedRun, RunLogger, RunOutcome};
use rle::value::Value;

const TURNS: usize = 7;
const SCALARS: i64 = 1_000_000;
const SCALARS_PYTHON: i64 = 25_000;
const TAGS: [&str; 5] =
    ["train/loss", "train/entropy", "train/grad_norm", "rollout/return", "rollout/length"];

/// A writer, and how many scalars a second it writes.
struct Subject {
    name: &'static str,
    rate: Box<dyn Fn() -> Option<f64>>,
}

fn main() {
    let subjects = subjects();
    let mut turns: Vec<Vec<Option<f64>>> = Vec::new();
    for _ in 0..TURNS {
        turns.push(subjects.iter().map(|subject| (subject.rate)()).collect());
    }
    println!("{:<34}{:>16}{:>26}", "writer", "scalars per s", "ratio to our TensorBoard");
    for (column, subject) in subjects.iter().enumerate() {
        let rates: Vec<f64> = turns.iter().filter_map(|rates| rates[column]).collect();
        let ratios = turns.iter().filter_map(|rates| Some(rates[column]? / rates[0]?)).collect();
        if rates.len() == TURNS {
            println!("{:<34}{:>16.0}{:>26.4}", subject.name, median(rates), median(ratios));
        } else {
            println!("{:<34}{:>16}", subject.name, "not installed");
        }
    }
    for (name, backends) in [("TensorBoard", &Backend::ALL[..1]), ("all three", &Backend::ALL)] {
        let nanos = median((0..TURNS).map(|_| nanoseconds_per_call(backends)).collect());
        println!("a call on the training thread, {name}: {nanos:.0} ns");
    }
}

fn subjects() -> Vec<Subject> {
    let ours = |name, backends: &'static [Backend]| Subject {
        name,
        rate: Box::new(move || Some(our_rate(backends))),
    };
    let peers = rust_peers();
    let python =
        |name, peer: &'static str| Subject { name, rate: Box::new(move || python_rate(peer)) };
    vec![
        ours("ours, TensorBoard", &[Backend::TensorBoard]),
        ours("ours, W&B", &[Backend::Wandb]),
        ours("ours, SwanLab", &[Backend::Swanlab]),
        ours("ours, all three at once", &Backend::ALL),
        Subject {
            name: "tensorboard-rs",
            rate: Box::new(move || {
                let mut command = Command::new(peers.as_ref()?);
                rate(command.arg(SCALARS.to_string()), SCALARS)
            }),
        },
        python("Python tensorboard (torch-free)", "tensorboard"),
        python("Python tensorboardX", "tensorboardX"),
        python("Python wandb, offline", "wandb"),
        python("Python swanlab, offline", "swanlab"),
    ]
}

fn logger(log_dir: &Path, backends: &[Backend]) -> RunLogger {
    let mut options = LogOptions::new(log_dir);
    options.backends = backends.to_vec();
    let run = LoggedRun {
        project: "bench".to_owned(),
        name: "metrics".to_owned(),
        group: "Bench".to_owned(),
        slug: Slug::new("bench").expect("it is a slug"),
        run_idx: 0,
        config: Value::from_iter([("lr", 3e-4)]),
        tags: Vec::new(),
        request: "request".to_owned(),
        resume_step: None,
    };
    RunLogger::start(&options, &run)
}

fn our_rate(backends: &[Backend]) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let logger = logger(dir.path(), backends);
    let sink = logger.sink();
    let began = Instant::now();
    for (index, tag) in (0..SCALARS).zip(TAGS.iter().cycle()) {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        sink.log(tag, index as f64, index / 5);
    }
    let report = logger.finish(RunOutcome::Complete);
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(report.lost(), 0, "a rate counts only with every point in the file");
    per_second(SCALARS, seconds)
}

/// Bursts of one rollout's size, with pauses in which the writer does its work: what a training
/// pays that computes something in between.
fn nanoseconds_per_call(backends: &[Backend]) -> f64 {
    const BURSTS: i32 = 200;
    const CALLS: i32 = 500;
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let logger = logger(dir.path(), backends);
    let sink = logger.sink();
    let mut times = Vec::new();
    for burst in 0..BURSTS {
        let began = Instant::now();
        for (call, tag) in (0..CALLS).zip(TAGS.iter().cycle()) {
            sink.log(tag, 0.5, (burst * CALLS + call).into());
        }
        times.push(began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(logger.finish(RunOutcome::Complete).lost(), 0);
    median(times)
}

/// The program of `peers/`, which is built on its own.
fn rust_peers() -> Option<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/Cargo.toml");
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/peers");
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path", manifest])
        .env("CARGO_TARGET_DIR", target)
        .status();
    let built = built.is_ok_and(|status| status.success());
    built.then(|| Path::new(target).join("release/peers"))
}

fn python_rate(peer: &str) -> Option<f64> {
    let python = env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/writers.py");
    rate(Command::new(python).args([script, peer, &SCALARS_PYTHON.to_string()]), SCALARS_PYTHON)
}

/// What a peer reaches that prints its seconds last.
fn rate(command: &mut Command, scalars: i64) -> Option<f64> {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let output = command.arg(dir.path()).current_dir(dir.path()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let seconds = text.lines().last()?.trim().parse().ok()?;
    output.status.success().then(|| per_second(scalars, seconds))
}

fn per_second(scalars: i64, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let scalars = scalars as f64;
    scalars / seconds
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
