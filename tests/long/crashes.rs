//! A process that ends badly takes only its own slot, and the summary says what happened.

use std::process::Command;

use rustix::process::{Signal, kill_process};

use crate::running::{Gate, Running, outcomes};
use crate::support::{Ended, Lab, text};

const PAIR: [&str; 4] = ["--algorithms", "steady,twin", "--jobs", "2"];

/// Demands that `slot` failed for this cause, in its record and in the summary alike.
#[track_caller]
fn failed(lab: &Lab, ended: &Ended, slot: &str, cause: &str) {
    let line = ended.line(slot);
    assert!(line.contains("failed") && line.contains(cause), "{line}");
    let record = lab.record(&slot.replace(':', "_"));
    assert_eq!(record["status"], "failed", "{record}");
    assert!(text(&record["error"]).contains(cause), "{record}");
    assert_eq!(outcomes(&record), ["failed"]);
    assert!(record["finished_at"].is_string());
}

#[track_caller]
fn complete(lab: &Lab, ended: &Ended, slot: &str) {
    assert!(ended.line(slot).contains("complete"), "{}", ended.stdout);
    assert_eq!(lab.record(&slot.replace(':', "_"))["status"], "complete");
}

#[test]
fn an_abort_takes_one_slot() {
    let lab = Lab::new();
    let words = [&PAIR[..], &["--num-runs=2"]].concat();
    let ended = lab.run_with(&words, &[("LAB_ACT", "steady:0=abort")]).ends(1);
    failed(&lab, &ended, "steady:0", "SIGABRT");
    assert!(ended.line("steady:0").contains("the simulator lost its mind"), "{}", ended.stdout);
    for slot in ["twin:0", "steady:1", "twin:1"] {
        complete(&lab, &ended, slot);
    }
    lab.run(&words).ok();
    assert_eq!(outcomes(&lab.record("steady_0")), ["failed", "complete"]);
}

#[test]
fn an_abort_is_retried_where_that_is_asked() {
    let lab = Lab::new();
    let words = [&PAIR[..], &["--retries=1"]].concat();
    lab.run_with(&words, &[("LAB_ACT", "steady:0=abort")]).ends(1);
    assert_eq!(outcomes(&lab.record("steady_0")), ["failed", "failed"]);
    assert_eq!(outcomes(&lab.record("twin_0")), ["complete"]);
}

#[test]
fn a_slot_without_memory_takes_no_other() {
    let lab = Lab::new();
    let program = lab.command(PAIR);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.args(program.get_args()).current_dir(lab.work()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("LAB_ACT", "steady:0=hoard");
    let ended = Ended::of(command.output().unwrap()).ends(1);
    failed(&lab, &ended, "steady:0", "SIGABRT");
    failed(&lab, &ended, "steady:0", "memory allocation of 67108864 bytes failed");
    complete(&lab, &ended, "twin:0");
}

#[test]
fn a_kill_from_outside_is_named() {
    let lab = Lab::new();
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &PAIR, &gate, "steady:0@1", &[]);
    let held = gate.at("steady:0@1");
    kill_process(held.pid, Signal::KILL).unwrap();
    held.gone();
    let ended = running.ends(1);
    failed(&lab, &ended, "steady:0", "SIGKILL");
    complete(&lab, &ended, "twin:0");
}

#[test]
fn a_worker_that_is_asked_by_hand_saves_and_the_others_go_on() {
    let lab = Lab::new();
    let words = [&PAIR[..], &["--checkpoint-enabled", "--num-runs=2"]].concat();
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@4", &[]);
    let held = gate.at("steady:0@4");
    kill_process(held.pid, Signal::TERM).unwrap();
    held.gone();
    let ended = running.ends(3);
    assert!(ended.line("steady:0").contains("interrupted"), "{}", ended.stdout);
    for slot in ["twin:0", "steady:1", "twin:1"] {
        complete(&lab, &ended, slot);
    }
    lab.run(&words).ok();
    assert_eq!(outcomes(&lab.record("steady_0")), ["interrupted", "complete"]);
}

#[test]
fn a_run_that_never_returns_is_out_of_time() {
    let lab = Lab::new();
    let words = [&PAIR[..], &["--timeout", "3s", "--num-runs=2"]].concat();
    let ended = lab.run_with(&words, &[("LAB_ACT", "steady:0=never return")]).ends(1);
    failed(&lab, &ended, "steady:0", "--timeout 3s");
    for slot in ["twin:0", "steady:1", "twin:1"] {
        complete(&lab, &ended, slot);
    }
}

#[test]
fn a_run_that_asks_and_goes_on_is_out_of_time_too() {
    let lab = Lab::new();
    // One job: a time limit alone gives a run a process of its own, which can be ended.
    let words =
        ["--algorithms=steady", "--timeout=1s", "--set=algorithm_configs.steady.stops=deaf"];
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@1", &[]);
    gate.at("steady:0@1").gone();
    let ended = running.ends(1);
    failed(&lab, &ended, "steady:0", "--timeout 1s");
}

#[test]
fn a_run_out_of_time_that_obeys_keeps_its_checkpoint() {
    let lab = Lab::new();
    let words = ["--algorithms=steady", "--timeout=3s", "--checkpoint-enabled"];
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@4", &[]);
    gate.at("steady:0@4").gone();
    let ended = running.ends(1);
    failed(&lab, &ended, "steady:0", "--timeout 3s");
    lab.run(&words).ok();
    assert_eq!(lab.calls().last().unwrap(), "resumed steady:0 at 5");
}

#[test]
fn a_flood_of_output_stops_nothing() {
    let lab = Lab::new();
    let acts = [("LAB_ACT", "steady:0=flood lines,twin:0=flood")];
    let ended = lab.run_with(&[&PAIR[..], &["--num-runs=2"]].concat(), &acts).ok();
    for slot in ["steady:0", "twin:0", "steady:1", "twin:1"] {
        complete(&lab, &ended, slot);
    }
    let lines = ended.stderr.matches("steady:0 | all work and no play\n").count();
    assert_eq!(lines, (10 << 20) / 21_000 * 1000);
    assert!(ended.stderr.len() > 20 << 20, "{}", ended.stderr.len());
    assert!(ended.stdout.len() < 1000, "stdout is for the summary");
}

#[test]
fn a_dead_workers_own_processes_hold_nothing_up() {
    let lab = Lab::new();
    let gate = Gate::new(&lab);
    let acts = [("LAB_ACT", "steady:0=orphan")];
    let running = Running::new(&lab, &PAIR, &gate, "", &acts);
    let ended = running.ends(1);
    failed(&lab, &ended, "steady:0", "SIGABRT");
    complete(&lab, &ended, "twin:0");
}
