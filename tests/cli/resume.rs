//! What is reused, what runs again, and why.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Lab, names, text};

const TWO: [&str; 2] = ["--num-runs", "2"];

/// A lab with four complete slots.
fn complete() -> Lab {
    let lab = Lab::new();
    lab.run(&TWO).ok();
    lab.calls();
    lab
}

/// The only slot that would run, and its reasons in words.
#[track_caller]
fn only(lab: &Lab, words: &[&str]) -> (String, Vec<String>) {
    let mut to_run = lab.to_run(words);
    assert_eq!(to_run.len(), 1, "{to_run:?}");
    to_run.remove(0)
}

#[test]
fn a_complete_suite_is_reused_and_nothing_is_touched() {
    let lab = complete();
    let before = lab.tree();
    let ended = lab.run(&TWO).ok();
    assert!(ended.stdout.contains("0 complete, 4 reused"), "{}", ended.stdout);
    for words in
        [&["status"][..], &["--dry-run"], &["run", "--dry-run", "yes"], &["--just-vis"], &["list"]]
    {
        lab.run(&[words, &TWO].concat()).ok();
    }
    assert!(lab.calls().is_empty());
    assert!(lab.tree() == before);
}

#[test]
fn looking_at_a_suite_that_never_ran_creates_nothing() {
    let lab = Lab::new();
    let before = lab.tree();
    for words in
        [&["status"][..], &["--dry-run"], &["status", "--format", "json"], &["list"], &["--help"]]
    {
        lab.run(words).ok();
    }
    assert!(lab.tree() == before);
}

#[test]
fn a_plan_as_json_has_the_documented_form() {
    let lab = complete();
    let words = ["--num-runs", "3", "--set", "algorithm_configs.alpha.lr=0.5"];
    let plan = lab.run(&[&["status", "--format", "json"], &words[..]].concat()).ok();
    assert_eq!(plan.stderr, "");
    let dry = lab.run(&[&["--dry-run", "--format", "json"], &words[..]].concat()).ok();
    assert_eq!(plan.stdout, dry.stdout);
    let differs = |lr: Value| {
        json!({
            "slot": lr["slot"], "action": "run", "reasons": [{
                "path": "algorithm.config.lr", "old": 0.0003, "new": 0.5,
                "text": "request differs at `algorithm.config.lr`: 0.0003 -> 0.5",
            }],
        })
    };
    let missing = |slot: &str| {
        json!({
            "slot": slot, "action": "run",
            "reasons": [{ "path": null, "old": null, "new": null, "text": "no record yet" }],
        })
    };
    let reuse = |slot: &str| json!({ "slot": slot, "action": "reuse", "reasons": [] });
    let slot = |slot: &str| json!({ "slot": slot });
    let expected = [
        differs(slot("alpha:0")),
        reuse("beta:0"),
        differs(slot("alpha:1")),
        reuse("beta:1"),
        missing("alpha:2"),
        missing("beta:2"),
    ];
    assert_eq!(plan.json(), json!({ "schema_version": 1, "slots": expected }));
    let table = lab.run(&[&["status"], &words[..]].concat()).ok().stdout;
    assert!(table.contains("2 reused, 4 to run, 0 busy in "), "{table}");
}

#[test]
fn only_the_missing_slot_runs() {
    let lab = complete();
    fs::remove_file(lab.out("runs/beta_1.json")).unwrap();
    assert_eq!(only(&lab, &TWO), ("beta:1".to_owned(), vec!["no record yet".to_owned()]));
    let untouched = fs::read(lab.out("runs/alpha_1.json")).unwrap();
    let ended = lab.run(&TWO).ok();
    assert!(ended.stdout.contains("1 complete, 3 reused"), "{}", ended.stdout);
    assert_eq!(lab.calls(), ["run beta:1"]);
    assert_eq!(fs::read(lab.out("runs/alpha_1.json")).unwrap(), untouched);
    // The outputs that stood there without a record are kept, not written over.
    let kept = names(lab.out("runs/_superseded"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(lab.out("runs/_superseded").join(&kept[0]).join("artifacts/policy.txt").is_file());
}

#[test]
fn a_changed_output_is_the_reason_and_both_are_kept() {
    let lab = complete();
    let policy = lab.out("alpha/artifacts/run_0/policy.txt");
    let expected = text(&lab.record("alpha_0")["artifact_paths"]["policy"]["sha256"]);
    fs::write(&policy, "tampered").unwrap();
    let (slot, reasons) = only(&lab, &TWO);
    assert_eq!(slot, "alpha:0");
    let found = "d41d8cd98f00b204";
    assert!(
        reasons[0].starts_with(&format!(
            "output `policy` changed: expected file {expected}, found file "
        )),
        "{reasons:?}"
    );
    assert!(!reasons[0].contains(found));
    let before = lab.record("alpha_0");
    let ended = lab.run(&TWO).ok();
    assert!(
        ended.stderr.contains("alpha:0 runs again (output `policy` changed"),
        "{}",
        ended.stderr
    );
    assert_eq!(lab.calls(), ["run alpha:0"]);
    let kept = names(lab.out("runs/_superseded"));
    assert_eq!(kept.len(), 1);
    assert!(kept[0].starts_with("alpha_0_20") && kept[0].ends_with('Z'), "{kept:?}");
    let aside = lab.out("runs/_superseded").join(&kept[0]);
    let record = crate::support::read_json(&aside.join("alpha_0.json"));
    assert_eq!(record["request"], before["request"]);
    assert_eq!(record["metrics"], before["metrics"]);
    let moved = lab.out(&text(&record["artifact_paths"]["policy"]["path"]));
    assert_eq!(fs::read_to_string(moved).unwrap(), "tampered");
    assert_eq!(lab.record("alpha_0")["artifact_paths"], before["artifact_paths"]);
    assert_eq!(lab.to_run(&TWO), []);
}

#[test]
fn missing_and_exchanged_outputs_are_named() {
    let lab = complete();
    let run = lab.out("alpha/artifacts/run_0");
    fs::remove_file(run.join("policy.txt")).unwrap();
    fs::remove_dir_all(run.join("curves")).unwrap();
    fs::write(run.join("curves"), "a file now").unwrap();
    let (_, reasons) = only(&lab, &TWO);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("`curves` changed: expected directory"), "{reasons:?}");
    assert!(reasons[0].contains("found file"), "{reasons:?}");
    assert!(reasons[1].contains("`policy` is missing") && reasons[1].contains("policy.txt"));
    fs::remove_dir_all(lab.out("beta/artifacts/run_1/curves")).unwrap();
    fs::create_dir(lab.out("beta/artifacts/run_1/curves")).unwrap();
    let slots: Vec<String> = lab.to_run(&TWO).into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(slots, ["alpha:0", "beta:1"]);
}

#[test]
fn every_difference_of_the_request_is_named_with_both_values() {
    let lab = complete();
    let reasons = |words: &[&str]| {
        let (slot, reasons) = only(&lab, &[&["--algorithms", "alpha"], words].concat());
        assert_eq!(slot, "alpha:0");
        reasons
    };
    let set = |assignment: &str| reasons(&["--set", assignment]);
    assert_eq!(
        set("env_config.wind=0.25"),
        ["request differs at `environment.config.wind`: 0.5 -> 0.25"]
    );
    assert_eq!(
        set("env_config.map=a b"),
        ["request differs at `environment.config.map`: \"small\" -> \"a b\""]
    );
    assert_eq!(
        set("common_config.limits.steps=7"),
        ["request differs at `common_config.limits.steps`: 500 -> 7"]
    );
    let config = set("algorithm_configs.alpha.layers=[64]");
    assert_eq!(config, ["request differs at `algorithm.config.layers[1]`: 64 -> absent"]);
    assert_eq!(reasons(&["--base-seed", "9"]), ["request differs at `seeds.learner`: 0 -> 9"]);
    let two = reasons(&["--base-seed", "9", "--set", "algorithm_configs.alpha.steps=4"]);
    assert_eq!(two.len(), 2, "{two:?}");
    // What asks for nothing new.
    for same in [
        "algorithm_configs.alpha.lr=0.00030",
        "algorithm_configs.Alpha.steps=3",
        "env_config.wind=5e-1",
    ] {
        assert_eq!(lab.to_run(&["--set", same]), [], "{same}");
    }
    assert_eq!(lab.to_run(&["--num-runs", "2", "--run-numbers", "1", "--run-beta", "no"]), []);
}

#[test]
fn a_number_as_integer_or_float_is_the_same_request() {
    let lab = Lab::new();
    let words = |lr: &'static str| ["--algorithms", "alpha", "--set", lr];
    lab.run(&words("algorithm_configs.alpha.lr=1")).ok();
    let hash = lab.record("alpha_0")["request"]["hash"].clone();
    lab.write("work/c.toml", "[algorithm_configs.Alpha]\nlr = 1.0\n");
    assert_eq!(lab.to_run(&words("algorithm_configs.alpha.lr=1.0")), []);
    assert_eq!(lab.to_run(&["--algorithms", "alpha", "--config", "c.toml"]), []);
    assert_eq!(lab.to_run(&words("algorithm_configs.alpha.lr=2")).len(), 1);
    lab.run(&words("algorithm_configs.alpha.lr=1.0")).ok();
    assert_eq!(lab.record("alpha_0")["request"]["hash"], hash);
}

#[test]
fn named_seeds_count() {
    let lab = Lab::new();
    let words = ["--base-seed", "5", "--num-runs", "2", "--algorithms", "alpha"];
    lab.run(&words).ok();
    let mapped = [("LAB_SUITE", "seeds")];
    let status = [&["status", "--format", "json"], &words[..]].concat();
    let plan = lab.run_with(&status, &mapped).ok().json();
    assert_eq!(plan["slots"][0]["action"], "reuse");
    let reason = &plan["slots"][1]["reasons"][0];
    assert_eq!(reason["path"], "seeds.env");
    assert_eq!((&reason["old"], &reason["new"]), (&Value::Null, &u64::MAX.into()));
    lab.run_with(&words, &mapped).ok();
    assert_eq!(lab.record("alpha_1")["seeds"], json!({ "env": u64::MAX, "learner": 6 }));
}

#[test]
fn rerun_computes_one_slot_and_keeps_the_old_one() {
    let lab = complete();
    for (count, slot) in ["Alpha:0", "alpha:0"].into_iter().enumerate() {
        let rerun = [&TWO[..], &["--rerun", slot]].concat();
        assert_eq!(only(&lab, &rerun).1, ["asked for with --rerun alpha:0"]);
        let ended = lab.run(&rerun).ok();
        assert!(ended.stdout.contains("1 complete, 3 reused"), "{}", ended.stdout);
        assert_eq!(lab.calls(), ["run alpha:0"]);
        assert_eq!(names(lab.out("runs/_superseded")).len(), count + 1);
    }
    let both = [&TWO[..], &["--rerun", "alpha:1", "--rerun=beta:0"]].concat();
    lab.run(&both).ok();
    assert_eq!(lab.calls(), ["run beta:0", "run alpha:1"]);
}

#[test]
fn reuse_can_be_turned_off() {
    let lab = complete();
    let words = ["--algorithms", "alpha", "--resume-completed-runs", "false"];
    assert_eq!(only(&lab, &words).1, ["reuse is turned off (--resume-completed-runs false)"]);
    lab.run(&words).ok();
    assert_eq!(lab.calls(), ["run alpha:0"]);
    assert_eq!(names(lab.out("runs/_superseded")).len(), 1);
}

#[test]
fn changed_sources_are_named() {
    let lab = complete();
    lab.write("source/README.md", "documents do not count");
    lab.write("source/target/debug/build.rs", "nor does what was built");
    assert_eq!(lab.to_run(&TWO), []);
    lab.write("source/src/main.rs", "fn main() { println!() }\n");
    lab.write("source/src/new.rs", "");
    let to_run = lab.to_run(&TWO);
    assert_eq!(to_run.len(), 4);
    let reason = &to_run[0].1[0];
    assert!(reason.starts_with("provenance.source.tree_sha256: "), "{reason}");
    assert!(reason.contains("src/main.rs changed") && reason.contains("src/new.rs"), "{reason}");
    lab.write("source/src/main.rs", "fn main() {}\n");
    fs::remove_file(lab.root().join("source/src/new.rs")).unwrap();
    assert_eq!(lab.to_run(&TWO), [], "back to what was run");
}

#[test]
fn a_required_artifact_counts_by_content_only_with_a_fingerprint() {
    let lab = Lab::new();
    let words = ["--algorithms", "hungry"];
    lab.write("work/out/models/wm.bin", "weights 1");
    lab.write("work/out/models/table.csv", "1,2");
    lab.run(&words).ok();
    assert_eq!(lab.record("hungry_0")["metrics"]["model"], "weights 1");
    let required = lab.record("hungry_0")["required_artifacts"].clone();
    assert_eq!(required["table"], json!({ "path": "models/table.csv", "sha256": null }));
    assert_eq!(text(&required["model"]["sha256"]).len(), 64);
    lab.write("work/out/models/table.csv", "3,4");
    assert_eq!(lab.to_run(&words), []);
    lab.write("work/out/models/wm.bin", "weights 2");
    let (_, reasons) = only(&lab, &words);
    assert!(reasons[0].contains("`required_artifacts.model.sha256`: "), "{reasons:?}");
    lab.run(&words).ok();
    assert_eq!(lab.record("hungry_0")["metrics"]["model"], "weights 2");
    lab.write("work/out/models/wm.bin", "weights 1");
    assert_eq!(lab.to_run(&words).len(), 1);
}

#[test]
fn an_edited_record_is_no_answer() {
    let lab = complete();
    let mut record = lab.record("alpha_0");
    record["algorithm"]["config"]["lr"] = json!(0.5);
    fs::write(lab.out("runs/alpha_0.json"), record.to_string()).unwrap();
    assert!(only(&lab, &TWO).1[0].contains("it was edited"));
    let words =
        [&TWO[..], &["--set", "algorithm_configs.alpha.lr=0.5", "--run-numbers", "0"]].concat();
    assert!(only(&lab, &words).1[0].contains("request.hash does not belong to the record"));
}
