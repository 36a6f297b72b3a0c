//! Two processes on one export directory.

use crate::steps::{Bench, Start, await_that};

const BUSY: &str = "gamma:1 is held by another process: looked at again at the end";

/// A start of gamma alone, which has no prepare.
fn gamma(bench: &Bench, runs: &str) -> Start {
    bench.start(&["--num-runs", "3", "--algorithms", "gamma", "--run-numbers", runs])
}

fn attempts(bench: &Bench, slot: &str) -> Vec<String> {
    let record = bench.record(slot);
    assert_eq!(record["status"], "complete");
    let attempts = record["attempts"].as_array().unwrap().iter();
    attempts.map(|attempt| attempt["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_starts_at_once_compute_a_common_slot_once() {
    for _ in 0..10 {
        let bench = Bench::new();
        let starts = [gamma(&bench, "0,1"), gamma(&bench, "1,2")];
        let ended = starts.map(Start::end);
        let mut begun: Vec<&str> = ended.iter().flat_map(|ended| ended.begun()).collect();
        begun.sort_unstable();
        assert_eq!(begun, ["gamma-0", "gamma-1", "gamma-2"]);
        for ended in &ended {
            // It may end while the other is still at the common slot, but not without a word.
            let gave_up = ended.status == Some(4);
            let is_told = ended.said.contains(BUSY) && !ended.begun().contains(&"gamma-1");
            assert!(ended.status == Some(0) || gave_up && is_told, "{}", ended.said);
        }
        assert!(ended.iter().any(|ended| ended.status == Some(0)));
        assert_eq!(attempts(&bench, "gamma_1"), ["complete"]);
    }
}

#[test]
fn a_busy_slot_that_is_complete_at_the_end_is_no_failure() {
    let bench = Bench::new();
    bench.hold("gamma-1");
    bench.hold("gamma-2");
    let holder = gamma(&bench, "0,1");
    bench.await_gate("gamma-1", &holder);
    let other = gamma(&bench, "1,2");
    bench.await_gate("gamma-2", &other);
    assert!(other.said().contains(BUSY), "{}", other.said());
    bench.open("gamma-1");
    let holder = holder.end();
    holder.assert_status(0);
    bench.open("gamma-2");
    let other = other.end();
    other.assert_status(0);
    assert_eq!((holder.begun(), other.begun()), (vec!["gamma-0", "gamma-1"], vec!["gamma-2"]));
}

#[test]
fn a_slot_that_stays_busy_is_told_by_the_exit_status() {
    let bench = Bench::new();
    bench.hold("gamma-1");
    let holder = gamma(&bench, "0,1");
    bench.await_gate("gamma-1", &holder);
    let status = bench.status(&["--num-runs", "3", "--algorithms", "gamma"]);
    let actions: Vec<&str> = status.iter().map(|(_, action, _)| action.as_str()).collect();
    assert_eq!(actions, ["reuse", "busy", "run"]);
    let other = gamma(&bench, "1,2").end();
    other.assert_status(4);
    assert!(other.said.contains(BUSY), "{}", other.said);
    assert_eq!(other.begun(), ["gamma-2"]);
    bench.open("gamma-1");
    holder.end().assert_status(0);
}

#[test]
fn a_stopped_holder_keeps_its_slot() {
    let bench = Bench::new();
    bench.hold("gamma-1");
    let holder = gamma(&bench, "1");
    bench.await_gate("gamma-1", &holder);
    holder.signal("-STOP");
    bench.open("gamma-1");
    let other = gamma(&bench, "1").end();
    holder.signal("-CONT");
    other.assert_status(4);
    assert!(other.begun().is_empty() && other.said.contains(BUSY), "{}", other.said);
    holder.end().assert_status(0);
    assert_eq!(attempts(&bench, "gamma_1"), ["complete"]);
    gamma(&bench, "1").end().assert_status(0);
}

#[test]
fn the_slot_of_a_killed_holder_runs() {
    let bench = Bench::new();
    bench.hold("gamma-1");
    bench.hold("gamma-2");
    let holder = gamma(&bench, "1");
    bench.await_gate("gamma-1", &holder);
    let other = gamma(&bench, "1,2");
    bench.await_gate("gamma-2", &other);
    holder.kill();
    bench.open("gamma-1");
    bench.open("gamma-2");
    let other = other.end();
    other.assert_status(0);
    assert_eq!(other.begun(), ["gamma-2", "gamma-1"]);
    assert_eq!(attempts(&bench, "gamma_1"), ["lost", "complete"]);
}

#[test]
fn two_starts_that_need_one_prepare_share_it() {
    let bench = Bench::new();
    bench.hold("groundwork");
    let starts = ["alpha", "beta"].map(|algorithm| bench.start(&["--algorithms", algorithm]));
    let reached = |start: &Start| bench.has_reached("groundwork", start);
    let waits = |start: &Start| start.said().contains("waiting for another process");
    await_that("one prepares and the other waits", || {
        let [alpha, beta] = &starts;
        reached(alpha) && waits(beta) || reached(beta) && waits(alpha)
    });
    bench.open("groundwork");
    let ended = starts.map(Start::end);
    for ended in &ended {
        ended.assert_status(0);
    }
    let begun: Vec<&str> = ended.iter().flat_map(|ended| ended.begun()).collect();
    assert_eq!(begun.iter().filter(|step| **step == "groundwork").count(), 1, "{begun:?}");
    assert_eq!(bench.record("alpha_0")["metrics"]["ground"], 1);
    assert_eq!(bench.record("beta_1")["metrics"]["ground"], 1);
    let again = bench.run(&["--algorithms", "alpha,beta"]);
    assert!(again.begun().is_empty(), "{}", again.said);
}

#[test]
fn a_killed_prepare_is_done_again_by_the_one_that_waits() {
    let bench = Bench::new();
    bench.hold("groundwork");
    let first = bench.start(&["--algorithms", "alpha", "--run-numbers", "0"]);
    bench.await_gate("groundwork", &first);
    let second = bench.start(&["--algorithms", "beta", "--run-numbers", "0"]);
    await_that("the second waits", || second.said().contains("waiting for another process"));
    first.kill();
    bench.open("groundwork");
    let second = second.end();
    second.assert_status(0);
    assert_eq!(second.begun(), ["groundwork", "beta-0"]);
}

#[test]
fn the_times_of_three_processes_are_there_whichever_ends_last() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let bench = Bench::new();
        let mut starts = [0, 1, 2].map(|run| {
            bench.hold(&format!("gamma-{run}"));
            Some(gamma(&bench, &run.to_string()))
        });
        for (run, start) in starts.iter().enumerate() {
            bench.await_gate(&format!("gamma-{run}"), start.as_ref().unwrap());
        }
        for run in order {
            bench.open(&format!("gamma-{run}"));
            starts[run].take().unwrap().end().assert_status(0);
        }
        let timings = rle::timings::Timings::load(bench.export().join("gamma")).unwrap();
        assert!(timings.stage("gamma_run").is_some());
        for (stage, times) in timings.stages() {
            let runs: Vec<_> =
                times.runs().iter().filter_map(rle::timings::RunEntry::run_idx).collect();
            assert_eq!(runs, order.map(|run| u32::try_from(run).unwrap()), "{stage}");
        }
    }
}
