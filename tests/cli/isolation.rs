//! One slot's failure, or its holder, is its own affair; the exit status tells.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Ended, Lab, names, text};

#[test]
fn a_failing_slot_stops_no_other() {
    let lab = Lab::new();
    let variables = [("LAB_ERROR", "alpha:1"), ("LAB_PANIC", "beta:0")];
    let ended = lab.run_with(&["--num-runs", "2"], &variables).ends(1);
    assert_eq!(lab.calls(), ["run alpha:0", "run beta:0", "run alpha:1", "run beta:1"]);
    assert!(
        ended.line("alpha:0").contains("complete") && ended.line("beta:1").contains("complete")
    );
    let line = ended.line("alpha:1");
    assert!(line.contains("failed") && line.contains("reading the replay buffer"), "{line}");
    assert!(ended.stdout.contains("caused by: disk on fire"), "{}", ended.stdout);
    let line = ended.line("beta:0");
    assert!(
        line.contains("failed") && line.contains("panicked at tests/programs/lab.rs:"),
        "{line}"
    );
    assert!(line.contains("index 7 is out of bounds in beta:0"), "{line}");
    assert!(ended.stdout.contains("2 complete, 0 reused, 2 failed"), "{}", ended.stdout);

    let failed = lab.record("alpha_1");
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"], "reading the replay buffer\n  caused by: disk on fire");
    assert_eq!(failed["attempts"][0]["outcome"], "failed");
    assert!(failed["finished_at"].is_string() && failed["seconds"].is_number());
    let panicked = lab.record("beta_0");
    assert_eq!(panicked["status"], "failed");
    assert!(text(&panicked["error"]).contains("index 7 is out of bounds"));
    assert!(lab.record("alpha_0").get("error").is_none());

    let log = lab.log("alpha_1");
    assert!(log.contains("reading the replay buffer\n  caused by: disk on fire"), "{log}");
    let log = lab.log("beta_0");
    assert!(log.contains("backtrace:") && log.contains("lab::begin"), "{log}");
    assert!(!lab.log("beta_1").contains("panicked"), "another slot's log");
    assert!(!ended.stderr.contains("backtrace:"), "{}", ended.stderr);
}

#[test]
fn a_failed_slot_runs_again_and_keeps_its_attempts() {
    let lab = Lab::new();
    lab.run_with(&["--algorithms", "alpha"], &[("LAB_ERROR", "alpha:0")]).ends(1);
    let reasons = ["failed: reading the replay buffer".to_owned()];
    let to_run = lab.to_run(&["--algorithms", "alpha"]);
    assert_eq!(to_run, [("alpha:0".to_owned(), reasons.to_vec())]);
    lab.run(&["--algorithms", "alpha"]).ok();
    let record = lab.record("alpha_0");
    assert_eq!(record["status"], "complete");
    let outcomes: Vec<String> =
        record["attempts"].as_array().unwrap().iter().map(|a| text(&a["outcome"])).collect();
    assert_eq!(outcomes, ["failed", "complete"]);
    assert_eq!(record["attempts"][1]["number"], 2);
    assert_eq!(names(lab.out("runs/_superseded")), [""; 0], "a failed record is no result");
    assert_eq!(lab.log("alpha_0").matches("Alpha run 0 started").count(), 2);
}

#[test]
fn a_panic_in_a_thread_of_the_algorithm_is_its_own_affair() {
    let lab = Lab::new();
    let act = "algorithm_configs.wild.act=thread";
    let ended = lab.run(&["--algorithms", "wild", "--set", act]).ok();
    assert_eq!(lab.record("wild_0")["metrics"]["panicked"], true);
    assert!(ended.stderr.contains("in a thread of its own"), "{}", ended.stderr);
}

#[test]
fn runs_go_round_robin() {
    let lab = Lab::new();
    lab.run(&["--num-runs", "3", "--run-numbers", "2,0"]).ok();
    assert_eq!(lab.calls(), ["run alpha:0", "run beta:0", "run alpha:2", "run beta:2"]);
    let started = ["alpha_0", "beta_0", "alpha_2", "beta_2"]
        .map(|stem| text(&lab.record(stem)["started_at"]));
    assert!(started.is_sorted(), "{started:?}");
}

#[test]
fn the_summary_as_json_names_every_slot() {
    let lab = Lab::new();
    lab.run(&["--algorithms", "alpha"]).ok();
    let ended =
        lab.run_with(&["--format", "json", "--num-runs=2"], &[("LAB_ERROR", "beta:1")]).ends(1);
    let summary = ended.json();
    let slots = summary["slots"].as_array().unwrap();
    let short: Vec<(String, String)> =
        slots.iter().map(|slot| (text(&slot["slot"]), text(&slot["outcome"]))).collect();
    let expected = [
        ("alpha:0", "reused"),
        ("beta:0", "complete"),
        ("alpha:1", "complete"),
        ("beta:1", "failed"),
    ];
    assert_eq!(short, expected.map(|(slot, outcome)| (slot.to_owned(), outcome.to_owned())));
    assert!(text(&slots[3]["message"]).contains("disk on fire"));
    assert!(slots[0]["seconds"].is_null() && slots[1]["seconds"].is_number());
}

/// A start in the background, as far as the slot that it waits in.
struct Waiting {
    child: std::process::Child,
    peer: std::os::unix::net::UnixStream,
}

impl Waiting {
    fn new(lab: &Lab, words: &[&str], slot: &str) -> Self {
        let (path, listener) = lab.listen();
        let mut command = lab.command(words);
        command.env("LAB_WAIT", format!("{slot}={path}"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut said = vec![0; slot.len()];
        peer.read_exact(&mut said).unwrap();
        Self { child, peer }
    }

    fn go_on(self) -> Ended {
        drop(self.peer);
        Ended::of(self.child.wait_with_output().unwrap())
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn actions(plan: &Value) -> Vec<String> {
    plan["slots"].as_array().unwrap().iter().map(|slot| text(&slot["action"])).collect()
}

#[test]
fn a_slot_of_another_process_is_busy_and_never_computed_twice() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha", "--num-runs", "2"];
    let first = Waiting::new(&lab, &words[..2], "alpha:0");
    let before = lab.record("alpha_0");
    let plan = lab.run(&[&["status", "--format", "json"], &words[..]].concat()).ok().json();
    assert_eq!(actions(&plan), ["busy", "run"]);
    assert_eq!(plan["slots"][0]["reasons"][0]["text"], "another process holds this slot");
    let ended = lab.run(&words).ends(4);
    assert!(ended.line("alpha:0").contains("busy"), "{}", ended.stdout);
    assert!(ended.line("alpha:1").contains("complete"), "{}", ended.stdout);
    assert!(ended.stderr.contains("alpha:0 is held by another process"), "{}", ended.stderr);
    assert_eq!(lab.record("alpha_0"), before);
    // A failure tells more than a busy slot.
    let rerun = [&words[..], &["--rerun", "alpha:1"]].concat();
    lab.run_with(&rerun, &[("LAB_ERROR", "alpha:1")]).ends(1);
    first.go_on().ok();
    assert_eq!(lab.calls(), ["run alpha:0", "run alpha:1", "run alpha:1"]);
    assert_eq!(lab.record("alpha_0")["status"], "complete");
}

#[test]
fn a_busy_slot_that_is_complete_at_the_end_is_reused() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha", "--num-runs", "2"];
    let first = Waiting::new(&lab, &words[..2], "alpha:0");
    let second = Waiting::new(&lab, &words, "alpha:1");
    first.go_on().ok();
    let ended = second.go_on().ok();
    assert!(ended.line("alpha:0").contains("reused"), "{}", ended.stdout);
    assert_eq!(lab.calls(), ["run alpha:0", "run alpha:1"]);
}

#[test]
fn a_busy_slot_that_failed_meanwhile_is_computed_at_the_end() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha", "--num-runs", "2"];
    let first = Waiting::new(&lab, &words[..2], "alpha:0");
    let second = Waiting::new(&lab, &words, "alpha:1");
    first.kill();
    let ended = second.go_on().ok();
    assert!(ended.line("alpha:0").contains("complete"), "{}", ended.stdout);
    assert_eq!(lab.record("alpha_0")["attempts"][0]["outcome"], "lost");
}

#[test]
fn a_killed_run_is_lost_and_runs_again() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha", "--num-runs", "2"];
    Waiting::new(&lab, &words, "alpha:1").kill();
    assert_eq!(lab.record("alpha_1")["status"], "running");
    let to_run = lab.to_run(&words);
    assert_eq!(to_run.len(), 1);
    assert_eq!(to_run[0].0, "alpha:1");
    assert!(to_run[0].1[0].starts_with("lost: the process that began it at 20"), "{to_run:?}");
    lab.calls();
    lab.run(&words).ok();
    assert_eq!(lab.calls(), ["run alpha:1"]);
    let attempts = &lab.record("alpha_1")["attempts"];
    assert_eq!(
        (&attempts[0]["outcome"], &attempts[1]["outcome"]),
        (&"lost".into(), &"complete".into())
    );
}
