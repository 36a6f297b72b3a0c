//! Complete sets that are archived and computed afresh, and what becomes of the archives.

use std::fs;

use serde_json::Value;

use crate::running::{interrupted, outcomes, record_in, science};
use crate::support::{Lab, names, text, tree};

const ALPHA: [&str; 3] = ["--algorithms", "alpha", "--num-runs=2"];
const RESTART: [&str; 4] = ["--algorithms", "alpha", "--num-runs=2", "--restart-completed-runs"];

fn archives(lab: &Lab) -> Vec<Value> {
    let listed = lab.run(&["archive", "list", "--format=json"]).ok().json();
    listed["archives"].as_array().unwrap().clone()
}

#[test]
fn a_complete_set_is_archived_and_computed_afresh() {
    for jobs in ["--jobs=1", "--jobs=2"] {
        let lab = Lab::new();
        // Nothing is complete yet: nothing is archived.
        lab.run(&RESTART).ok();
        assert!(archives(&lab).is_empty());
        let before = lab.record("alpha_1");
        lab.calls();
        let ended = lab.run(&[&RESTART[..], &[jobs]].concat()).ok();
        let mut calls = lab.calls();
        calls.sort();
        assert_eq!(calls, ["run alpha:0", "run alpha:1"]);
        assert!(ended.stdout.contains("2 complete, 0 reused"), "{}", ended.stdout);
        let listed = archives(&lab);
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["kind"], "archived");
        assert_eq!(listed[0]["slots"], serde_json::json!(["alpha:0", "alpha:1"]));
        assert!(ended.stderr.contains(&text(&listed[0]["name"])), "{}", ended.stderr);
        let place = lab.out("runs/_archived_complete_runs").join(text(&listed[0]["name"]));
        let kept = crate::support::read_json(&place.join("alpha_1.json"));
        assert_eq!(kept["attempts"], before["attempts"]);
        let policy = text(&kept["artifact_paths"]["policy"]["path"]);
        assert!(lab.out(&policy).starts_with(&place) && lab.out(&policy).is_file(), "{policy}");
        assert_eq!(outcomes(&lab.record("alpha_1")), ["complete"]);
        assert_eq!(lab.record("alpha_1")["metrics"], before["metrics"]);
    }
}

#[test]
fn a_subset_is_never_archived() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    lab.calls();
    for words in [&["--run-numbers=0"][..], &["--num-runs=3", "--run-numbers=0,1"]] {
        let ended = lab.run(&[&RESTART[..], words].concat()).ok();
        assert!(!ended.stdout.contains("complete  "), "{}", ended.stdout);
    }
    assert!(lab.calls().is_empty() && archives(&lab).is_empty());
    // A window that is not complete is completed.
    lab.run(&[&RESTART[..], &["--num-runs=3"]].concat()).ok();
    assert_eq!(lab.calls(), ["run alpha:2"]);
    assert!(archives(&lab).is_empty());
}

#[test]
fn an_archive_is_restored_only_where_nothing_stands() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    let before = [lab.record("alpha_0"), lab.record("alpha_1")];
    let timings = crate::support::read_json(&lab.out("alpha/timings.json"));
    lab.run(&RESTART).ok();
    let name = text(&archives(&lab)[0]["name"]);
    let restore = ["archive", "restore", &name];
    let live = || {
        let home = lab.out("runs/_archived_complete_runs");
        let places = [lab.out("alpha"), home].map(|place| tree(&place, true));
        (places, lab.record("alpha_0"), lab.record("alpha_1"))
    };
    let standing = live();
    let refused = lab.run(&restore);
    refused.refused(&[&format!("archive `{name}` is not restored"), "is in use"]);
    assert!(live() == standing);

    for stem in ["alpha_0", "alpha_1"] {
        fs::remove_file(lab.out(&format!("runs/{stem}.json"))).unwrap();
    }
    fs::remove_dir_all(lab.out("alpha")).unwrap();
    let curves = lab.out("_logs/lab/out/tensorboard");
    lab.run(&restore).refused(&["alpha_0 is in use"]);
    assert!(curves.join("alpha_0").is_dir());
    fs::remove_dir_all(curves).unwrap();
    lab.run(&restore).ok();
    assert_eq!([lab.record("alpha_0"), lab.record("alpha_1")], before);
    assert_eq!(crate::support::read_json(&lab.out("alpha/timings.json")), timings);
    assert!(archives(&lab).is_empty());
    assert!(lab.to_run(&ALPHA).is_empty(), "the next start reuses it");
    lab.run(&["verify", "--algorithms=alpha"]).ok();
}

#[test]
fn old_archives_go_when_that_is_asked_twice() {
    let lab = Lab::new();
    for _ in 0..4 {
        lab.run(&RESTART).ok();
    }
    let all: Vec<String> = archives(&lab).iter().map(|entry| text(&entry["name"])).collect();
    assert_eq!(all.len(), 3);
    lab.refuses(&["archive", "prune"], &["--keep <N>", "lab archive prune"]);
    let before = lab.tree();
    let ended = lab.run(&["archive", "prune", "--keep", "1"]).ok();
    assert!(ended.stdout.contains(&all[0]) && ended.stdout.contains(&all[1]), "{}", ended.stdout);
    assert!(!ended.stdout.contains(&format!("{} ", all[2])), "{}", ended.stdout);
    assert!(ended.stdout.contains("--yes"), "{}", ended.stdout);
    assert!(lab.tree() == before, "only looked");
    lab.run(&["archive", "prune", "--keep", "1", "--yes"]).ok();
    assert_eq!(names(lab.out("runs/_archived_complete_runs")), [all[2].as_str()]);
    assert!(lab.to_run(&ALPHA).is_empty());
}

#[test]
fn a_dry_run_of_the_archive_changes_nothing() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    lab.run(&RESTART).ok();
    let before = archives(&lab);
    let name = text(&before[0]["name"]);
    let current = lab.record("alpha_0");
    let restored = lab.run(&["archive", "restore", &name, "--dry-run"]).ok();
    assert!(restored.stdout.starts_with("would restore alpha:0"), "{}", restored.stdout);
    lab.run_with(&["archive", "restore", &name], &[("RLE_DRY_RUN", "1")]).ok();
    let pruned = lab.run(&["archive", "prune", "--keep=0", "--yes", "--dry-run"]).ok();
    assert!(pruned.stdout.contains("nothing was removed"), "{}", pruned.stdout);
    assert_eq!((archives(&lab), lab.record("alpha_0")), (before, current));
    lab.refuses(&["archive", "restore", "alpha_1999", "--dry-run"], &["no archive `alpha_1999`"]);
}

#[test]
fn words_that_no_archive_understands() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    lab.run(&RESTART).ok();
    let name = text(&archives(&lab)[0]["name"]);
    lab.refuses(
        &["archive", "restor", &name],
        &["'restor'", "a similar subcommand exists: 'restore'"],
    );
    lab.refuses(&["archive", "restore"], &["required arguments were not provided", "<NAME>"]);
    lab.refuses(&["archive", "restore", "alpha_1999"], &["no archive `alpha_1999`"]);
    lab.refuses(&["archive", "restore", "../x"], &["no archive `../x`"]);
    lab.refuses(&["archive", "list", "--keep=3"], &["--keep", "archive prune"]);
    lab.refuses(&["archive", "prune", "--keep=-1"], &["--keep", "`-1`"]);
    lab.refuses(&["archive", "prune", "--keep=1", "--yes=perhaps"], &["--yes", "`perhaps`"]);
}

#[test]
fn a_checkpoint_of_other_code_is_moved_aside_and_said() {
    let lab = Lab::new();
    let words = ["--algorithms", "steady", "--checkpoint-enabled"];
    lab.run(&[&words[..], &["--export-dir=whole"]].concat()).ok();
    interrupted(&lab, &words, "steady:0@4");
    lab.write("source/src/main.rs", "fn main() { better() }\n");
    lab.calls();
    let plan = lab.to_run(&words);
    assert!(
        plan[0].1.iter().any(|reason| reason.contains("checkpoint is moved aside")),
        "{plan:?}"
    );
    let ended = lab.run(&words).ok();
    assert!(ended.stderr.contains("other code"), "{}", ended.stderr);
    assert_eq!(lab.calls(), ["run steady:0"], "from the start");
    let kept = names(lab.out("runs/_superseded"));
    assert_eq!(kept.len(), 1);
    let kept = lab.out("runs/_superseded").join(&kept[0]).join("checkpoints");
    assert!(kept.join("generation_3/rng.txt").is_file());
    assert!(kept.join("manifest.json").is_file());
    let metrics = |record: Value| science(&record)["metrics"].clone();
    let whole = record_in(&lab, "whole", "steady_0");
    assert_eq!(metrics(lab.record("steady_0")), metrics(whole));
}

#[test]
fn a_checkpoint_that_is_not_wanted_is_kept() {
    let lab = Lab::new();
    let words = ["--algorithms", "steady", "--checkpoint-enabled"];
    interrupted(&lab, &words, "steady:0@4");
    lab.calls();
    lab.run(&[&words[..], &["--resume-checkpoints", "false"]].concat()).ok();
    assert_eq!(lab.calls(), ["run steady:0"]);
    assert_eq!(names(lab.out("runs/_superseded")).len(), 1);
}
