//! Stopping on request: what is saved, what is said, and how the next start goes on.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::running::{Gate, Running, interrupted, outcomes, record_in, science};
use crate::support::{Lab, read_json};

const SAVING: [&str; 3] = ["--algorithms", "steady", "--checkpoint-enabled"];
const SILENT: &str = "algorithm_configs.steady.stops=silent";
const DEAF: &str = "algorithm_configs.steady.stops=deaf";

fn into(directory: &str) -> Vec<&str> {
    [&SAVING[..], &["--export-dir", directory]].concat()
}

#[test]
fn each_signal_saves_and_the_next_start_equals_the_unbroken_run() {
    let lab = Lab::new();
    lab.run(&into("whole")).ok();
    let whole = record_in(&lab, "whole", "steady_0");
    assert_eq!(whole["metrics"]["return"].as_array().unwrap().len(), 6);
    let signals = [
        ("int", Signal::INT),
        ("term", Signal::TERM),
        ("usr1", Signal::USR1),
        ("usr2", Signal::USR2),
    ];
    for (name, signal) in signals {
        lab.calls();
        let mut gate = Gate::new(&lab);
        let mut running = Running::new(&lab, &into(name), &gate, "steady:0@4", &[]);
        let held = gate.at("steady:0@4");
        running.signal(signal);
        running.says(&format!("SIG{} received", name.to_uppercase()));
        held.gone();
        let ended = running.ends(3);
        assert!(ended.line("steady:0").contains("interrupted"), "{}", ended.stdout);
        let record = record_in(&lab, name, "steady_0");
        assert_eq!(record["status"], "interrupted");
        assert_eq!(outcomes(&record), ["interrupted"]);
        assert!(record["finished_at"].is_string() && record["error"].is_null());
        let plan = lab.run(&[&into(name)[..], &["--dry-run", "--format=json"]].concat()).json();
        assert_eq!(plan["slots"][0]["action"], "resume", "{plan}");

        lab.run(&into(name)).ok();
        assert_eq!(lab.calls(), ["run steady:0", "run steady:0", "resumed steady:0 at 5"]);
        let resumed = record_in(&lab, name, "steady_0");
        assert_eq!(science(&resumed), science(&whole), "{name}");
        assert_eq!(outcomes(&resumed), ["interrupted", "complete"]);
        assert_eq!(resumed["attempts"][1]["resumed_from"], 3);
    }
}

#[test]
fn an_algorithm_that_never_asks_is_ended_by_the_first_signal() {
    let lab = Lab::new();
    let whole = [&into("whole")[..], &["--set", SILENT]].concat();
    lab.run(&whole).ok();
    for (name, signal) in [("usr2", Signal::USR2), ("int", Signal::INT)] {
        lab.calls();
        let words = [&into(name)[..], &["--set", SILENT]].concat();
        let mut gate = Gate::new(&lab);
        let running = Running::new(&lab, &words, &gate, "steady:0@5", &[]);
        let held = gate.at("steady:0@5");
        running.signal(signal);
        held.gone();
        let ended = running.ends(3);
        assert!(ended.stderr.contains("steady:0 is ended"), "{}", ended.stderr);
        let record = record_in(&lab, name, "steady_0");
        assert_eq!(
            (&record["status"], outcomes(&record)),
            (&"interrupted".into(), vec!["interrupted".to_owned()])
        );
        lab.run(&words).ok();
        assert_eq!(lab.calls()[1..], ["run steady:0", "resumed steady:0 at 4"]);
        let resumed = record_in(&lab, name, "steady_0");
        assert_eq!(science(&resumed), science(&record_in(&lab, "whole", "steady_0")));
    }
}

#[test]
fn a_second_signal_ends_at_once_whatever_the_algorithm_does() {
    for (first, second) in [(Signal::INT, Signal::INT), (Signal::TERM, Signal::INT)] {
        let lab = Lab::new();
        let words = [&SAVING[..], &["--set", DEAF]].concat();
        let mut gate = Gate::new(&lab);
        let mut running = Running::new(&lab, &words, &gate, "steady:0@1", &[]);
        let held = gate.at("steady:0@1");
        running.signal(first);
        running.says(" received");
        running.signal(second);
        held.gone();
        running.ends(3);
        assert_eq!(lab.record("steady_0")["status"], "interrupted");
        lab.run(&words).ok();
        assert_eq!(outcomes(&lab.record("steady_0")), ["interrupted", "complete"]);
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let lab = Lab::new();
    let program = lab.command(SAVING);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' INT; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.args(program.get_args()).current_dir(lab.work()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut gate = Gate::new(&lab);
    let running = Running::of(&mut command, &gate, "steady:0@4");
    let held = gate.at("steady:0@4");
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    held.gone();
    let ended = running.ends(3);
    assert!(ended.stderr.contains("SIGTERM received"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("SIGINT"), "{}", ended.stderr);
    lab.run(&SAVING).ok();
    assert_eq!(lab.calls().last().unwrap(), "resumed steady:0 at 5");
}

#[test]
fn a_start_stops_when_its_time_is_over() {
    for jobs in ["1", "2"] {
        let lab = Lab::new();
        lab.run(&into("whole")).ok();
        let words = [&SAVING[..], &["--stop-after", "3s", "--jobs", jobs]].concat();
        let mut gate = Gate::new(&lab);
        let running = Running::new(&lab, &words, &gate, "steady:0@4", &[]);
        let held = gate.at("steady:0@4");
        let ended = running.ends(3);
        drop(held);
        assert!(ended.stderr.contains("--stop-after"), "{}", ended.stderr);
        assert_eq!(lab.record("steady_0")["status"], "interrupted");
        lab.run(&SAVING).ok();
        let whole = record_in(&lab, "whole", "steady_0");
        assert_eq!(science(&lab.record("steady_0")), science(&whole));
    }
}

#[test]
fn no_slot_begins_after_a_signal() {
    for jobs in ["1", "2"] {
        let lab = Lab::new();
        let words = ["--algorithms=steady", "--num-runs=3", "--jobs", jobs, "--checkpoint-enabled"];
        let mut gate = Gate::new(&lab);
        let running = Running::new(&lab, &words, &gate, "steady:0@1,steady:1@1", &[]);
        let held = gate.at("steady:0@1");
        let other = (jobs == "2").then(|| gate.at("steady:1@1"));
        running.signal(Signal::USR1);
        held.gone();
        drop(other);
        let ended = running.ends(3);
        assert!(ended.line("steady:0").contains("interrupted"), "{}", ended.stdout);
        assert!(ended.line("steady:2").contains("not run"), "{}", ended.stdout);
        assert!(!lab.out("runs/steady_2.json").exists());
        lab.run(&words).ok();
        assert!(lab.calls().contains(&"resumed steady:0 at 2".to_owned()));
    }
}

#[test]
fn outside_the_suite_signals_do_what_they_did() {
    for (place, signal) in [
        ("before", Signal::TERM),
        ("after", Signal::TERM),
        ("after", Signal::INT),
        ("after", Signal::USR1),
    ] {
        let lab = Lab::new();
        let mut gate = Gate::new(&lab);
        let running = Running::new(&lab, &[], &gate, place, &[("LAB_LIBRARY", "1")]);
        let _held = gate.at(place);
        running.signal(signal);
        running.dies_of(signal);
        assert_eq!(lab.out("runs/own_0.json").exists(), place == "after");
    }
    let lab = Lab::new();
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &[], &gate, "in", &[("LAB_LIBRARY", "1")]);
    let _held = gate.at("in");
    running.signal(Signal::TERM);
    running.ends(3);
    assert_eq!(lab.record("own_0")["status"], "interrupted");
}

#[test]
fn every_attempt_is_a_line_of_the_history() {
    let lab = Lab::new();
    lab.run_with(&SAVING, &[("LAB_ERROR", "steady:0")]).ends(1);
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &SAVING, &gate, "steady:0@2", &[]);
    let held = gate.at("steady:0@2");
    running.signal(Signal::KILL);
    held.gone();
    running.dies_of(Signal::KILL);
    interrupted(&lab, &SAVING, "steady:0@4");
    lab.run(&SAVING).ok();
    let record = lab.record("steady_0");
    assert_eq!(outcomes(&record), ["failed", "lost", "interrupted", "complete"]);
    let attempts = record["attempts"].as_array().unwrap();
    let numbers: Vec<&Value> = attempts.iter().map(|attempt| &attempt["number"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let resumed: Vec<&Value> = attempts.iter().map(|attempt| &attempt["resumed_from"]).collect();
    assert_eq!(resumed, [&Value::Null, &Value::Null, &1.into(), &3.into()]);
    assert!(attempts.iter().all(|attempt| attempt["started_at"].is_string()));
    assert!(attempts.iter().all(|attempt| attempt["pid"].is_u64() && attempt["host"].is_string()));

    let timings = read_json(&lab.out("steady/timings.json"));
    let run = &timings["steady_run"]["runs"][0];
    let segments = run["segments"].as_array().unwrap();
    let numbers: Vec<&Value> = segments.iter().map(|segment| &segment["attempt"]).collect();
    assert_eq!(numbers, [2, 3, 4], "{run}");
    let sum: f64 = segments.iter().map(|segment| segment["seconds"].as_f64().unwrap()).sum();
    assert!((sum - run["seconds"].as_f64().unwrap()).abs() < 1e-9, "{run}");
    assert_eq!(run["seconds"], record["seconds"]);
    // Stage times add up over the attempts: every step is counted once.
    assert_eq!(timings["rollout"]["runs"][0]["calls"], 6);
}

/// One attempt is killed, one is interrupted, the last one completes, each with another limit.
#[test]
fn each_attempt_names_the_hardware_that_it_ran_on() {
    let lab = Lab::new();
    let given = |mib: &'static str| [("SLURM_MEM_PER_NODE", mib)];
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &SAVING, &gate, "steady:0@2", &given("1024"));
    let held = gate.at("steady:0@2");
    running.signal(Signal::KILL);
    held.gone();
    running.dies_of(Signal::KILL);
    let running = Running::new(&lab, &SAVING, &gate, "steady:0@4", &given("2048"));
    let held = gate.at("steady:0@4");
    running.signal(Signal::INT);
    held.gone();
    running.ends(3);
    lab.run_with(&SAVING, &given("4096")).ok();

    let attempts = lab.record("steady_0")["attempts"].clone();
    let ids: Vec<Value> =
        attempts.as_array().unwrap().iter().map(|attempt| attempt["hardware_id"].clone()).collect();
    let run = read_json(&lab.out("steady/timings.json"))["steady_run"]["runs"][0].clone();
    let segments = run["segments"].as_array().unwrap();
    let of_segments: Vec<&Value> = segments.iter().map(|segment| &segment["hardware_id"]).collect();
    assert_eq!(of_segments, ids.iter().collect::<Vec<_>>(), "{run}");
    assert_eq!(run["hardware_id"], ids[2]);
    let described = read_json(&lab.out("steady/timings_hardware.json"))["hardware"].clone();
    let memory = |id: &Value| described[id.as_str().unwrap()]["memory"].clone();
    if memory(&ids[0])["limit_source"] == "cgroup" {
        eprintln!("skipped: a control group limits the memory of these tests");
        return;
    }
    let limits: Vec<Value> = ids.iter().map(|id| memory(id)["limit_gib"].clone()).collect();
    assert_eq!(limits, [1.0, 2.0, 4.0]);
}

#[test]
fn a_slot_that_fails_is_tried_again_as_often_as_asked() {
    for jobs in ["1", "2"] {
        let lab = Lab::new();
        let words = ["--algorithms", "steady", "--retries", "1", "--jobs", jobs];
        lab.run_with(&words, &[("LAB_ACT", "steady:0=fail once")]).ok();
        let record = lab.record("steady_0");
        assert_eq!(outcomes(&record), ["failed", "complete"]);
        assert!(record.get("error").is_none(), "{record}");
        let words = [&words[..], &["--num-runs=2"]].concat();
        let ended = lab.run_with(&words, &[("LAB_ERROR", "steady:1")]).ends(1);
        assert_eq!(outcomes(&lab.record("steady_1")), ["failed", "failed"]);
        assert!(ended.line("steady:1").contains("reading the replay buffer"));
        assert!(ended.stderr.contains("retry 1"), "{}", ended.stderr);
    }
}

#[test]
fn a_changed_byte_is_passed_over_and_the_run_goes_on_from_before() {
    let lab = Lab::new();
    lab.run(&into("whole")).ok();
    interrupted(&lab, &SAVING, "steady:0@4");
    let home = lab.out("steady/checkpoints/run_0");
    let payload = home.join("generation_3/rng.txt");
    let mut bytes = fs::read(&payload).unwrap();
    bytes[0] ^= 1;
    fs::write(payload, bytes).unwrap();
    lab.calls();
    let ended = lab.run(&SAVING).ok();
    assert!(ended.stderr.contains("`generation_3/rng.txt` changed"), "{}", ended.stderr);
    assert_eq!(lab.calls()[1], "resumed steady:0 at 4");
    let whole = record_in(&lab, "whole", "steady_0");
    assert_eq!(science(&lab.record("steady_0")), science(&whole));
}
