//! Several slots at once: the same results, one screen, one stop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rle::{AlgorithmSpec, RunContext, RunResult, Suite, SuiteConfig};
use rustix::process::Signal;

use crate::running::{Gate, Running, outcomes, record_in, science};
use crate::support::{Lab, names, text, tree};

const PAIR: [&str; 4] = ["--algorithms", "steady,twin", "--jobs", "2"];
const SAVING: [&str; 5] = ["--algorithms", "steady,twin", "--jobs", "2", "--checkpoint-enabled"];

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let lab = Lab::new();
    let words = ["--algorithms=steady,alpha,owner", "--num-runs=2", "--checkpoint-enabled"];
    let one = lab.run(&[&words[..], &["--jobs=1", "--export-dir=one"]].concat()).ok();
    let two = lab.run(&[&words[..], &["--jobs=2", "--export-dir=two"]].concat()).ok();
    let slots = |stdout: &str| -> Vec<String> {
        let lines = stdout.lines().filter(|line| line.contains(':'));
        lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    assert_eq!(slots(&one.stdout), slots(&two.stdout));
    let records = names(lab.work().join("one/runs"));
    assert_eq!(records, names(lab.work().join("two/runs")));
    let records: Vec<&str> = records.iter().filter_map(|name| name.strip_suffix(".json")).collect();
    assert_eq!(records.len(), 6);
    for stem in records {
        let (one, two) = (record_in(&lab, "one", stem), record_in(&lab, "two", stem));
        assert_eq!(science(&one), science(&two), "{stem}");
        assert_eq!(one["provenance"], two["provenance"]);
        assert_ne!(one["attempts"][0]["pid"], two["attempts"][0]["pid"]);
    }
    let plan = lab.run(&[&words[..], &["--dry-run", "--export-dir=two"]].concat()).ok();
    assert!(plan.stdout.contains("6 reused"), "{}", plan.stdout);
}

#[test]
fn a_terminals_interrupt_reaches_every_worker_once() {
    let lab = Lab::new();
    lab.run(&[&SAVING[..], &["--export-dir=whole"]].concat()).ok();
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &SAVING, &gate, "steady:0@4,twin:0@4", &[]);
    let held = [gate.at("steady:0@4"), gate.at("twin:0@4")];
    assert_ne!(held[0].pid, held[1].pid);
    assert!(held.iter().all(|held| held.pid != running.pid()));
    running.signal_group(Signal::INT);
    held.into_iter().for_each(crate::running::Held::gone);
    let ended = running.ends(3);
    assert_eq!(ended.stderr.matches("SIGINT received").count(), 1, "{}", ended.stderr);
    for slot in ["steady:0", "twin:0"] {
        assert!(ended.line(slot).contains("interrupted"), "{}", ended.stdout);
        let prefix = format!("{slot} | ");
        let said = |line: &&str| line.starts_with(&prefix) && line.contains("stopping");
        assert_eq!(ended.stderr.lines().filter(said).count(), 1, "{}", ended.stderr);
    }
    lab.calls();
    lab.run(&SAVING).ok();
    let mut calls = lab.calls();
    calls.sort();
    let expected = ["resumed steady:0 at 5", "resumed twin:0 at 5", "run steady:0", "run twin:0"];
    assert_eq!(calls, expected);
    for stem in ["steady_0", "twin_0"] {
        let record = lab.record(stem);
        assert_eq!(outcomes(&record), ["interrupted", "complete"]);
        assert_eq!(science(&record), science(&record_in(&lab, "whole", stem)));
    }
}

#[test]
fn a_second_interrupt_ends_the_workers_too() {
    let lab = Lab::new();
    let words = [&SAVING[..], &["--set", "algorithm_configs.steady.stops=deaf"]].concat();
    let mut gate = Gate::new(&lab);
    let mut running = Running::new(&lab, &words, &gate, "steady:0@2", &[]);
    let held = gate.at("steady:0@2");
    running.signal_group(Signal::INT);
    running.says("SIGINT received");
    running.signal_group(Signal::INT);
    held.gone();
    running.ends(3);
    lab.run(&words).ok();
    assert_eq!(outcomes(&lab.record("steady_0")).last().unwrap(), "complete");
}

#[test]
fn workers_end_with_their_parent() {
    let lab = Lab::new();
    let words = [&SAVING[..], &["--set", "algorithm_configs.twin.stops=silent"]].concat();
    lab.run(&[&words[..], &["--export-dir=whole"]].concat()).ok();
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@4,twin:0@4", &[]);
    let held = [gate.at("steady:0@4"), gate.at("twin:0@4")];
    running.signal(Signal::KILL);
    held.into_iter().for_each(crate::running::Held::gone);
    running.dies_of(Signal::KILL);
    // What holds a slot's lock until its last write is waited for.
    lab.run(&[&words[..], &["--on-busy=wait"]].concat()).ok();
    for stem in ["steady_0", "twin_0"] {
        let record = lab.record(stem);
        let before = &outcomes(&record)[0];
        assert!(before == "interrupted" || before == "lost", "{record}");
        assert!(record["attempts"][1]["resumed_from"].is_u64(), "{record}");
        assert_eq!(science(&record), science(&record_in(&lab, "whole", stem)));
    }
}

#[test]
fn another_file_in_the_programs_place_does_no_harm() {
    let lab = Lab::new();
    let program = lab.work().join("lab");
    fs::copy(lab.command([""; 0]).get_program(), &program).unwrap();
    let mut gate = Gate::new(&lab);
    let mut command = Command::new(&program);
    let pattern = lab.command(["--algorithms=steady", "--num-runs=3", "--jobs=2"]);
    command.args(pattern.get_args()).current_dir(lab.work()).env_clear();
    command.envs(pattern.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let running = Running::of(&mut command, &gate, "steady:0@1,steady:1@1");
    let held = [gate.at("steady:0@1"), gate.at("steady:1@1")];
    let other = lab.write("work/other", "#!/bin/sh\nexit 9\n");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(other, &program).unwrap();
    drop(held);
    running.ends(0);
    let executable = |stem: &str| lab.record(stem)["provenance"]["executable"].clone();
    assert_eq!(text(&executable("steady_2")["sha256"]).len(), 64);
    assert_eq!(executable("steady_2"), executable("steady_0"));
}

#[test]
fn gpus_and_threads_are_dealt_out() {
    let lab = Lab::new();
    let words = [&PAIR[..], &["--gpus-per-run=2"]].concat();
    let variables = [
        ("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,MIG-c,7"),
        ("LAB_ACT", "steady:0=tell,twin:0=tell"),
        ("OMP_NUM_THREADS", "7"),
    ];
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@0,twin:0@0", &variables);
    drop([gate.at("steady:0@0"), gate.at("twin:0@0")]);
    running.ends(0);
    let mut calls = lab.calls();
    calls.retain(|call| call.contains("CUDA"));
    let mut gpus: Vec<&str> =
        calls.iter().map(|call| call.split(['=', ' ']).nth(2).unwrap()).collect();
    gpus.sort_unstable();
    assert_eq!(gpus, ["GPU-a,GPU-b", "MIG-c,7"]);
    let cores = std::thread::available_parallelism().unwrap().get();
    let threads = format!("RAYON_NUM_THREADS={} OMP_NUM_THREADS=7", (cores / 2).max(1));
    assert!(calls.iter().all(|call| call.ends_with(&threads)), "{calls:?}");
    lab.refuses_with(
        &[&PAIR[..], &["--gpus-per-run=3", "--rerun=steady:0"]].concat(),
        &variables[..1],
        &["--jobs 2 with --gpus-per-run 3 needs 6 GPUs, but 4 are visible"],
    );
}

#[test]
fn a_prepare_runs_once_for_all_workers_of_a_start() {
    let lab = Lab::new();
    let count = |lab: &Lab, name: &str| {
        lab.calls().iter().filter(|call| **call == format!("prepare {name}")).count()
    };
    for runs in ["--num-runs=2", "--num-runs=4"] {
        lab.run(&["--algorithms=ever", "--jobs=2", runs]).ok();
        assert_eq!(count(&lab, "every_time"), 1, "{runs}");
    }
    lab.run(&["--algorithms=left,right", "--jobs=2", "--num-runs=2"]).ok();
    assert_eq!(count(&lab, "shared_step"), 1);
}

#[test]
fn what_changes_during_a_start_changes_nothing_in_it() {
    let lab = Lab::new();
    let config = |lr: &str| {
        lab.write("work/suite.toml", &format!("[algorithm_configs.steady]\nlr = {lr}\n"))
    };
    config("0.25");
    let words = ["--algorithms=steady", "--num-runs=3", "--jobs=2", "--config=suite.toml"];
    let mut gate = Gate::new(&lab);
    let running = Running::new(&lab, &words, &gate, "steady:0@0,steady:1@0", &[]);
    let held = [gate.at("steady:0@0"), gate.at("steady:1@0")];
    config("0.75");
    lab.write("source/src/main.rs", "fn main() { changed() }\n");
    drop(held);
    running.ends(0);
    let (first, last) = (lab.record("steady_0"), lab.record("steady_2"));
    assert_eq!(last["algorithm"]["config"]["lr"], 0.25);
    assert_eq!(last["provenance"], first["provenance"]);
}

#[test]
fn nothing_begins_after_a_failure_where_that_is_asked() {
    let lab = Lab::new();
    let words = ["--algorithms=alpha,beta", "--num-runs=2", "--fail-fast"];
    let ended = lab.run_with(&words, &[("LAB_ERROR", "alpha:0")]).ends(1);
    assert_eq!(lab.calls(), ["run alpha:0"]);
    assert!(ended.line("beta:1").contains("not run"), "{}", ended.stdout);

    let words = [&PAIR[..], &["--num-runs=2", "--fail-fast"]].concat();
    let mut gate = Gate::new(&lab);
    let failing = [("LAB_ERROR", "twin:0")];
    let mut running = Running::new(&lab, &words, &gate, "steady:0@0", &failing);
    let held = gate.at("steady:0@0");
    running.says("twin:0 failed");
    drop(held);
    let ended = running.ends(1);
    assert!(ended.line("steady:0").contains("complete"), "{}", ended.stdout);
    for slot in ["steady:1", "twin:1"] {
        assert!(ended.line(slot).contains("not run"), "{}", ended.stdout);
    }
}

#[test]
fn a_held_slot_is_waited_for_left_or_a_failure() {
    for jobs in ["--jobs=1", "--jobs=2"] {
        let lab = Lab::new();
        let words = ["--algorithms=steady", jobs];
        let mut gate = Gate::new(&lab);
        let first = Running::new(&lab, &words[..1], &gate, "steady:0@0", &[]);
        let held = gate.at("steady:0@0");
        lab.run(&words).ends(4);
        lab.run(&[&words[..], &["--on-busy=skip"]].concat()).ends(4);
        let ended = lab.run(&[&words[..], &["--on-busy", "fail"]].concat()).ends(1);
        assert!(ended.line("steady:0").contains("another process holds"), "{}", ended.stdout);
        assert_eq!(lab.record("steady_0")["status"], "running");

        let wait = [&words[..], &["--on-busy=wait"]].concat();
        let mut stopped = Running::new(&lab, &wait, &gate, "", &[]);
        stopped.says("waiting");
        stopped.signal(Signal::INT);
        stopped.ends(3);
        let mut second = Running::new(&lab, &wait, &gate, "", &[]);
        second.says("waiting");
        drop(held);
        first.ends(0);
        let ended = second.ends(0);
        assert!(ended.line("steady:0").contains("reused"), "{}", ended.stdout);
        assert_eq!(lab.calls(), ["run steady:0"]);
    }
}

#[test]
fn a_library_program_says_why_it_has_no_workers() {
    let run = |_: &RunContext| -> rle::Result<RunResult> { Ok(RunResult::new()) };
    let directory = tempfile::tempdir().unwrap();
    let before = tree(directory.path(), true);
    let config = SuiteConfig::new("lab")
        .export_dir(directory.path().join("out"))
        .source_dir(directory.path())
        .jobs(2);
    let suite = Suite::new(config).algorithm(AlgorithmSpec::new("Own", run));
    let error = suite.run().unwrap_err().to_string();
    for part in ["jobs(2)", "#[rle::main]", "processes of their own"] {
        assert!(error.contains(part), "no `{part}` in {error}");
    }
    assert!(tree(directory.path(), true) == before);
    let lab = Lab::new();
    lab.refuses_with(&[], &[("LAB_LIBRARY", "2")], &["jobs(2)", "#[rle::main]"]);
}

/// Attaches to a process as a debugger does, and lets it go on to its end.
const DEBUGGER: &str = "
import ctypes, os, sys
ptrace, pid = ctypes.CDLL(None, use_errno=True).ptrace, int(sys.argv[1])
if ptrace(16, pid, None, None) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
while os.WIFSTOPPED(os.waitpid(pid, 0x40000000)[1]):
    ptrace(7, pid, None, None)
";

#[test]
fn a_worker_waits_for_its_debugger() {
    let lab = Lab::new();
    let gate = Gate::new(&lab);
    let variable = [("RLE_WAIT_FOR_DEBUGGER", "twin_0")];
    let mut running = Running::new(&lab, &PAIR, &gate, "", &variable);
    let line = running.says("waits for a debugger");
    assert!(line.starts_with("twin:0 | "), "{line}");
    running.says("Steady run 0 complete");
    assert_eq!(lab.calls(), ["run steady:0"]);
    let pid = line.rsplit(' ').next().unwrap();
    let debugger = Command::new("python3").args(["-c", DEBUGGER, pid]).spawn();
    let Ok(mut debugger) = debugger else {
        println!("skipped: there is no python3 to debug with");
        running.signal(Signal::TERM);
        running.ends(3);
        return;
    };
    running.says("Twin run 0 complete");
    assert!(debugger.wait().unwrap().success());
    running.ends(0);
    assert_eq!(lab.calls(), ["run twin:0"]);
}

#[test]
fn a_debugger_that_nothing_waits_for_is_a_warning() {
    let lab = Lab::new();
    for (asked, words) in [("twin_7", "did you mean `twin_0`?"), ("steady_0", "--jobs 2")] {
        let variable = [("RLE_WAIT_FOR_DEBUGGER", asked)];
        let ended = lab.run_with(&["--algorithms", "steady,twin"], &variable).ok();
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}
