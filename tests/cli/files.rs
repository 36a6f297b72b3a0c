//! Export directories and records that cannot be used as they are.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ended, Lab, names, read_json, text, tree};

#[test]
fn an_export_directory_that_is_a_file() {
    let lab = Lab::new();
    lab.write("work/taken", "my notes");
    let parts = ["work/taken", "is a file", "--export-dir must name a directory or a new path"];
    lab.refuses(&["--export-dir", "taken"], &parts);
    lab.refuses(&["--export-dir", "taken/below/it"], &parts);
    lab.refuses(&["status", "--export-dir", "taken"], &parts);
    lab.write("work/out/runs", "my notes");
    lab.refuses(&[], &["out/runs", "is a file"]);
}

#[test]
fn an_export_directory_whose_name_the_system_refuses() {
    let lab = Lab::new();
    let long = "x".repeat(256);
    lab.refuses(&["--export-dir", &long], &[&long, "File name too long"]);
    let deep = "x/".repeat(2100);
    lab.refuses(&["--export-dir", &deep], &["File name too long"]);
    lab.refuses(&["--export-dir="], &["--export-dir: expected a path"]);
}

/// How `unshare` gives a process mounts of its own here, if at all.
fn private_mounts() -> Option<&'static str> {
    let works = |flags: &&str| {
        let mut probe = Command::new("unshare");
        probe.args([flags, "mount", "-t", "tmpfs", "none", "/tmp"]);
        probe.stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    let flags = ["-m", "-rm"].into_iter().find(works);
    if flags.is_none() {
        eprintln!("SKIPPED: mounting a small tmpfs is not permitted here");
    }
    flags
}

/// Runs the program where `work/disk` is a file system of its own; the second is what lies
/// there at the end.
fn on_disk(lab: &Lab, options: &str, words: &[&str]) -> Option<(Ended, String)> {
    const SCRIPT: &str = "mount -t tmpfs -o \"$0\" none disk || exit 99; \"$@\"; status=$?; \
                          (cd disk && find . -type f ! -name '*.lock' | sort) > listing; \
                          cat disk/runs/*.json > records 2> none; exit $status";
    let flags = private_mounts()?;
    fs::create_dir_all(lab.work().join("disk")).unwrap();
    let program = lab.command(words);
    let mut command = Command::new("unshare");
    command.args([flags, "sh", "-c", SCRIPT, options]);
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(lab.work()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = Ended::of(command.output().unwrap());
    Some((ended, fs::read_to_string(lab.work().join("listing")).unwrap()))
}

#[test]
fn an_export_directory_on_a_full_disk() {
    let lab = Lab::new();
    for place in ["disk", "disk/new/place"] {
        let Some((ended, left)) = on_disk(&lab, "size=8k", &["--export-dir", place]) else {
            return;
        };
        ended.refused(&["cannot write", &format!("work/{place}/runs"), "No space left"]);
        assert_eq!(left, "", "{place}");
        assert!(lab.calls().is_empty());
    }
    assert_eq!(names(lab.work().join("disk")), [""; 0]);
}

#[test]
fn an_export_directory_that_is_not_writable() {
    let lab = Lab::new();
    for place in ["disk", "disk/new/place"] {
        let Some((ended, left)) = on_disk(&lab, "ro", &["--export-dir", place]) else { return };
        ended.refused(&["cannot create the directory", "work/disk/", "Read-only file system"]);
        assert_eq!(left, "", "{place}");
        assert!(lab.calls().is_empty());
    }
}

#[test]
fn a_disk_that_fills_while_a_slot_runs_fails_that_slot() {
    let lab = Lab::new();
    let act = "algorithm_configs.wild.act=fill";
    let words = ["--export-dir", "disk", "--algorithms", "wild", "--set", act];
    let Some((ended, _)) = on_disk(&lab, "size=512k", &words) else { return };
    let ended = ended.ends(1);
    assert!(ended.line("wild:0").contains("failed"), "{ended:?}");
    assert!(ended.stdout.contains("No space left"), "{ended:?}");
    let record = fs::read_to_string(lab.work().join("records")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_ne!(record["status"], "complete");
}

/// A lab with two complete slots, and the text of the record of `alpha:0`.
fn with_records() -> (Lab, String) {
    let lab = Lab::new();
    lab.run(&["--algorithms", "alpha", "--num-runs", "2"]).ok();
    let text = fs::read_to_string(lab.out("runs/alpha_0.json")).unwrap();
    lab.calls();
    (lab, text)
}

fn edited(text: &str, edit: impl FnOnce(&mut Value)) -> String {
    let mut record = serde_json::from_str(text).unwrap();
    edit(&mut record);
    record.to_string()
}

/// Records that are none of `alpha:0`'s, and what is said of each.
fn unusable(whole: &str) -> Vec<(String, &'static str)> {
    vec![
        (whole[..whole.len() / 2].to_owned(), "is not a whole JSON object"),
        (whole[..whole.len() - 3].to_owned(), "is not a whole JSON object"),
        (String::new(), "is empty"),
        ("\0".repeat(whole.len()), "is not a whole JSON object"),
        ("{}".to_owned(), "it has no schema_version"),
        ("[1]".to_owned(), "is not a whole JSON object"),
        (format!("{whole}{whole}"), "is not a whole JSON object"),
        (
            edited(whole, |record| record["algorithm"]["slug"] = json!("beta")),
            "belongs to slot beta:0, not to alpha:0",
        ),
        (
            edited(whole, |record| record["run_idx"] = json!(1)),
            "belongs to slot alpha:1, not to alpha:0",
        ),
        (edited(whole, |record| record["status"] = json!("done")), "status"),
        (edited(whole, |record| record["seed"] = json!(-1)), "seed"),
    ]
}

#[test]
fn a_record_that_is_none_of_its_slot_stops_the_start() {
    let (lab, whole) = with_records();
    for (text, problem) in unusable(&whole) {
        fs::write(lab.out("runs/alpha_0.json"), text).unwrap();
        let parts = ["runs/alpha_0.json", problem, "--rerun alpha:0 moves it aside and runs again"];
        for words in
            [&[][..], &["status"], &["--dry-run"], &["--run-beta", "no"], &["--rerun", "beta:0"]]
        {
            lab.refuses(words, &parts);
        }
        // A start that is about other slots has no need of it.
        lab.run(&["status", "--algorithms", "beta"]).ok();
    }
    assert!(lab.calls().is_empty());
}

#[test]
fn rerun_moves_an_unusable_record_aside_as_it_is() {
    let (lab, whole) = with_records();
    for (count, (text, _)) in unusable(&whole).into_iter().enumerate() {
        fs::write(lab.out("runs/alpha_0.json"), &text).unwrap();
        let ended =
            lab.run(&["--algorithms", "alpha", "--num-runs", "2", "--rerun", "alpha:0"]).ok();
        assert!(ended.stderr.contains("runs/_superseded/alpha_0_"), "{}", ended.stderr);
        assert_eq!(lab.calls(), ["run alpha:0"]);
        assert_eq!(lab.record("alpha_0")["status"], "complete");
        let kept = names(lab.out("runs/_superseded"));
        assert_eq!(kept.len(), count + 1, "{kept:?}");
        let held = |name: &String| {
            let aside = lab.out("runs/_superseded").join(name);
            fs::read_to_string(aside.join("alpha_0.json")).unwrap() == text
                && aside.join("artifacts/policy.txt").is_file()
        };
        assert!(kept.iter().any(held), "{text}");
    }
}

#[test]
fn a_foreign_record_takes_no_output_of_its_owner_along() {
    let lab = Lab::new();
    let track = ["--set", "algorithm_configs.wild.act=track"];
    let track = [&track[..], &["--set", "algorithm_configs.wild.with=shared.txt"]].concat();
    let words = [&["--algorithms", "alpha,wild"], &track[..]].concat();
    lab.run(&words).ok();
    fs::copy(lab.out("runs/wild_0.json"), lab.out("runs/alpha_0.json")).unwrap();
    lab.calls();
    lab.run(&[&words[..], &["--rerun", "alpha:0"]].concat()).ok();
    assert_eq!(lab.calls(), ["run alpha:0"], "the other slot is still whole");
    assert!(lab.out("shared.txt").is_file());
}

#[test]
fn a_record_of_a_newer_version_is_never_touched() {
    let (lab, whole) = with_records();
    let newer = [
        edited(&whole, |record| record["schema_version"] = json!(2)),
        edited(&whole, |record| record["request"]["schema_version"] = json!(7)),
        json!({ "schema_version": 99, "layout": "unknown" }).to_string(),
    ];
    for text in newer {
        fs::write(lab.out("runs/alpha_0.json"), text).unwrap();
        let parts = ["runs/alpha_0.json", "newer version", "another --export-dir"];
        for words in
            [&[][..], &["status"], &["--rerun", "alpha:0"], &["--resume-completed-runs", "no"]]
        {
            lab.refuses(words, &parts);
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_at_all_is_named() {
    let lab = Lab::new();
    fs::create_dir_all(lab.out("runs/alpha_0.json")).unwrap();
    lab.refuses(&[], &["runs/alpha_0.json", "directory"]);
}

/// `alpha_0.json` of the only superseded directory, and that directory.
fn superseded(lab: &Lab) -> (Value, std::path::PathBuf) {
    let kept = names(lab.out("runs/_superseded"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let aside = lab.out("runs/_superseded").join(&kept[0]);
    (read_json(&aside.join("alpha_0.json")), aside)
}

#[test]
fn a_superseded_record_points_at_the_outputs_that_it_keeps() {
    let (lab, whole) = with_records();
    let old = fs::read(lab.out("alpha/artifacts/run_0/policy.txt")).unwrap();
    let words = ["--algorithms", "alpha", "--set", "algorithm_configs.alpha.lr=0.5"];
    let ended = lab.run(&words).ok();
    assert!(ended.stderr.contains("`algorithm.config.lr`: 0.0003 -> 0.5"), "{}", ended.stderr);
    let (record, aside) = superseded(&lab);
    let policy = text(&record["artifact_paths"]["policy"]["path"]);
    let file = lab.out(&policy);
    assert!(file.starts_with(&aside), "{policy}");
    assert_eq!(fs::read(&file).unwrap(), old);
    assert!(lab.out(&text(&record["artifact_paths"]["curves"]["path"])).is_dir());
    let mut expected: Value = serde_json::from_str(&whole).unwrap();
    expected["artifact_paths"] = record["artifact_paths"].clone();
    let curves = text(&record["log_dir"]);
    assert!(lab.out(&curves).starts_with(&aside) && lab.out(&curves).is_dir(), "{curves}");
    expected["log_dir"] = record["log_dir"].clone();
    assert_eq!(record, expected, "all else is kept");
    assert_ne!(fs::read(lab.out("alpha/artifacts/run_0/policy.txt")).unwrap(), old);
}

#[test]
fn the_whole_export_tree_can_be_moved() {
    let (lab, _) = with_records();
    let elsewhere = lab.root().join("moved to/another place");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::rename(lab.out(""), &elsewhere).unwrap();
    let before = tree(&elsewhere, true);
    let words = ["--algorithms", "alpha", "--num-runs", "2", "--export-dir"];
    let ended = lab.run(&[&words[..], &[elsewhere.to_str().unwrap()]].concat()).ok();
    assert!(ended.stdout.contains("0 complete, 2 reused"), "{}", ended.stdout);
    assert!(tree(&elsewhere, true) == before);
    let records = rle::load_records(&elsewhere).unwrap();
    assert!(records[1].artifact_path("policy").unwrap().starts_with(&elsewhere));
    assert!(records[1].artifact_path("policy").unwrap().is_file());
}
