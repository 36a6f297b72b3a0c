//! `--jobs 2` beside two independent processes that do half of the slots each.
//!
//! `cargo bench -p rle-benches --features programs --bench jobs`
//!
//! Both do the same twelve runs. They take turns, so that a machine that drifts drifts for both;
//! what counts is the median of the ratios within one turn.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TURNS: usize = 9;

fn main() {
    let mut ratios = Vec::new();
    for turn in 0..TURNS {
        let jobs = time(&[&["--jobs", "2"]]);
        let halves =
            time(&[&["--run-numbers", "0,2,4,6,8,10"], &["--run-numbers", "1,3,5,7,9,11"]]);
        println!(
            "turn {turn}: --jobs 2 {:.2} s, two processes {:.2} s",
            jobs.as_secs_f64(),
            halves.as_secs_f64()
        );
        ratios.push(halves.as_secs_f64() / jobs.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "throughput of --jobs 2 over that of two processes: median {:.3} (from {:.3} to {:.3})",
        ratios[TURNS / 2],
        ratios[0],
        ratios[TURNS - 1]
    );
}

fn time(processes: &[&[&str]]) -> Duration {
    let export = tempfile::tempdir().expect("a temporary directory can be made");
    let began = Instant::now();
    let children: Vec<Child> = processes.iter().map(|words| start(export.path(), words)).collect();
    for mut child in children {
        let status = child.wait().expect("the program can be waited for");
        assert!(status.success(), "the program failed: {status}");
    }
    began.elapsed()
}

fn start(export: &Path, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_subject"))
        .args(["--num-runs", "12", "--export-dir"])
        .arg(export)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program can be started")
}
