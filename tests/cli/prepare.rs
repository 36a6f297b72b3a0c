//! Prepare steps: once for all that need them, verified before they are reused.

use std::fs;
use std::path::PathBuf;

use crate::support::{Lab, names, read_json, text};

const OWNER: [&str; 4] = ["--algorithms", "owner", "--num-runs", "2"];
const PAIR: [&str; 4] = ["--algorithms", "left,right", "--num-runs", "2"];

/// The directories of a prepare: what is no file.
fn directories(lab: &Lab, function: &str) -> Vec<PathBuf> {
    let home = lab.out("_prepared").join(function);
    let paths = names(&home).into_iter().map(|name| home.join(name));
    paths.filter(|path| path.is_dir()).collect()
}

fn forget_records(lab: &Lab) {
    for name in names(lab.out("runs")).iter().filter(|name| name.ends_with(".json")) {
        fs::remove_file(lab.out("runs").join(name)).unwrap();
    }
    lab.calls();
}

#[test]
fn a_prepare_runs_once_before_the_first_slot_that_needs_it() {
    let lab = Lab::new();
    lab.run(&OWNER).ok();
    assert_eq!(lab.calls(), ["prepare own_step", "run owner:0", "run owner:1"]);
    assert_eq!(lab.record("owner_1")["metrics"]["strength"], 3);
    let made = directories(&lab, "own_step");
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(made[0].file_name().unwrap().len(), 16);
    assert!(made[0].join("tables/shield.bin").is_file());
    let prepared = read_json(&made[0].join("prepared.json"));
    assert!(
        text(&prepared["request_hash"]).starts_with(made[0].file_name().unwrap().to_str().unwrap())
    );
    assert_eq!(prepared["value"]["strength"], 3);
    assert_eq!(text(&prepared["files"]["tables"]["sha256"]).len(), 64);
    // Nothing runs: nothing is prepared.
    lab.run(&OWNER).ok();
    assert!(lab.calls().is_empty());
    // A slot runs: what was prepared is reused, byte for byte.
    let bytes = fs::read(made[0].join("prepared.json")).unwrap();
    forget_records(&lab);
    lab.run(&OWNER).ok();
    assert_eq!(lab.calls(), ["run owner:0", "run owner:1"]);
    assert_eq!(fs::read(made[0].join("prepared.json")).unwrap(), bytes);
    let timings = read_json(&lab.out("_prepared/own_step/timings.json"));
    assert_eq!(timings["own_step_prepare"]["runs"].as_array().unwrap().len(), 1);
    assert_eq!(timings["solver"]["runs"][0]["seconds"], 0.25);
    assert_eq!(timings["solver"]["runs"][0]["label"], "first");
}

#[test]
fn a_prepare_of_one_algorithm_depends_on_its_configuration() {
    let lab = Lab::new();
    lab.run(&OWNER).ok();
    lab.calls();
    lab.run(&[&OWNER[..], &["--set", "algorithm_configs.owner.lr=0.5"]].concat()).ok();
    assert_eq!(lab.calls(), ["prepare own_step", "run owner:0", "run owner:1"]);
    assert_eq!(lab.record("owner_0")["metrics"]["lr"], 0.5);
    assert_eq!(directories(&lab, "own_step").len(), 2, "a valid one is never written again");
    // Seeds and runs are no part of it.
    lab.run(&[&OWNER[..], &["--base-seed", "9", "--num-runs", "3"]].concat()).ok();
    assert_eq!(lab.calls(), ["run owner:0", "run owner:1", "run owner:2"]);
    lab.run(&[&OWNER[..], &["--set", "common_config.gamma=0.5"]].concat()).ok();
    assert_eq!(lab.calls()[0], "prepare own_step");
}

#[test]
fn a_shared_prepare_runs_once_for_all_and_sees_no_configuration() {
    let lab = Lab::new();
    lab.run(&PAIR).ok();
    let calls = ["prepare shared_step", "run left:0", "run right:0", "run left:1", "run right:1"];
    assert_eq!(lab.calls(), calls);
    lab.run(&[&PAIR[..], &["--set", "algorithm_configs.left.lr=0.5"]].concat()).ok();
    assert_eq!(lab.calls(), ["run left:0", "run left:1"]);
    forget_records(&lab);
    lab.run(&["--algorithms", "right"]).ok();
    assert_eq!(lab.calls(), ["run right:0"], "one of the two alone");
}

#[test]
fn an_always_prepare_runs_at_every_start_that_runs_a_slot() {
    let lab = Lab::new();
    let words = ["--algorithms", "ever", "--num-runs", "2"];
    lab.run(&words).ok();
    assert_eq!(lab.calls(), ["prepare every_time", "run ever:0", "run ever:1"]);
    lab.run(&words).ok();
    assert!(lab.calls().is_empty());
    lab.run(&[&words[..], &["--rerun", "ever:1"]].concat()).ok();
    assert_eq!(lab.calls(), ["prepare every_time", "run ever:1"]);
    let made = directories(&lab, "every_time");
    assert_eq!(made.len(), 2, "{made:?}");
    assert!(made.iter().all(|directory| directory.join("tables/shield.bin").is_file()));
}

#[test]
fn a_damaged_prepare_is_moved_aside_and_runs_again() {
    let lab = Lab::new();
    lab.run(&OWNER).ok();
    let made = directories(&lab, "own_step").remove(0);
    let damages: [(&str, &dyn Fn()); 3] = [
        ("`tables` changed", &|| fs::write(made.join("tables/shield.bin"), "x").unwrap()),
        ("`tables`", &|| fs::remove_dir_all(made.join("tables")).unwrap()),
        ("prepared.json is damaged", &|| fs::write(made.join("prepared.json"), "{").unwrap()),
    ];
    for (count, (problem, damage)) in damages.into_iter().enumerate() {
        damage();
        let before = names(&made);
        forget_records(&lab);
        let ended = lab.run(&OWNER).ok();
        let said = format!("prepare `own_step` runs again: {problem}");
        assert!(ended.stderr.contains(&said), "no {said} in {}", ended.stderr);
        assert_eq!(lab.calls()[0], "prepare own_step");
        let all = directories(&lab, "own_step");
        assert_eq!(all.len(), count + 2, "{all:?}");
        assert!(made.join("tables/shield.bin").is_file());
        let aside = all.iter().filter(|path| **path != made);
        let stem = made.file_name().unwrap();
        assert!(aside.map(|path| names(path.join(stem))).any(|kept| kept == before));
    }
}

#[test]
fn an_unfinished_prepare_is_cleared() {
    let lab = Lab::new();
    lab.run(&OWNER).ok();
    let made = directories(&lab, "own_step").remove(0);
    fs::remove_file(made.join("prepared.json")).unwrap();
    fs::write(made.join("tables/half"), "written").unwrap();
    forget_records(&lab);
    lab.run(&OWNER).ok();
    assert_eq!(lab.calls()[0], "prepare own_step");
    assert_eq!(names(made.join("tables")), ["shield.bin"]);
    assert_eq!(directories(&lab, "own_step").len(), 1);
}

#[test]
fn a_failing_prepare_fails_its_slots_only() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha,left,right,owner", "--num-runs", "2"];
    for (variable, message) in [
        ("LAB_ERROR", "prepare `shared_step` failed: no shield for lab"),
        ("LAB_PANIC", "prepare `shared_step` failed: panicked at tests/programs/lab.rs:"),
    ] {
        let ended = lab.run_with(&words, &[(variable, "shared_step")]).ends(1);
        let calls = lab.calls();
        let count = |call: &str| calls.iter().filter(|made| *made == call).count();
        assert_eq!(count("prepare shared_step"), 1, "{calls:?}");
        assert_eq!(count("run left:0") + count("run right:1"), 0, "{calls:?}");
        for slot in ["left:0", "right:0", "left:1", "right:1"] {
            let line = ended.line(slot);
            assert!(line.contains("failed") && line.contains(message), "{line}");
        }
        for slot in ["alpha:1", "owner:1"] {
            let line = ended.line(slot);
            assert!(line.contains("complete") || line.contains("reused"), "{line}");
        }
        let record = lab.record("right_1");
        assert_eq!(record["status"], "failed");
        assert!(text(&record["error"]).starts_with(message), "{record}");
        let made = directories(&lab, "shared_step").remove(0);
        assert!(!made.join("prepared.json").exists());
    }
    lab.run(&words).ok();
    let prepared =
        ["prepare shared_step", "run left:0", "run right:0", "run left:1", "run right:1"];
    assert_eq!(lab.calls(), prepared);
}
