//! `timings show`.

use std::env;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::support::{EPYC, Place, lab, rle};

/// The one set of the one stage of the one algorithm that is shown.
#[track_caller]
fn sets(shown: &Value) -> &Vec<Value> {
    let algorithms = shown["algorithms"].as_array().expect("a list");
    assert_eq!(algorithms.len(), 1, "{shown}");
    algorithms[0]["stages"][0]["sets"].as_array().expect("a list")
}

fn close(value: &Value, expected: f64) -> bool {
    (value.as_f64().expect("a number") - expected).abs() < 1e-12
}

#[test]
fn a_mean_has_two_sample_standard_deviations_and_its_number() {
    let place = Place::new();
    let runs = [(0, 1.0, EPYC), (1, 2.0, EPYC), (2, 3.0, EPYC), (4, 4.0, EPYC)];
    place.timings("env/ippo", &[("ippo_run", &runs)]);
    let shown = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    assert_eq!(shown["schema_version"], 1);
    let set = &sets(&shown)[0];
    assert_eq!(set["n"], 4);
    assert!(close(&set["mean_seconds"], 2.5), "{set}");
    // With n - 1: 2 sqrt(5 / 3).
    assert!(close(&set["two_sd_seconds"], 2.0 * (5.0_f64 / 3.0).sqrt()), "{set}");
    assert_eq!(set["entries"][3], json!({"run_idx": 4, "label": null, "seconds": 4.0}));
    assert_eq!(set["hardware"][0]["ids"], json!([EPYC]));
    assert_eq!(set["hardware"][0]["description"]["memory"]["limit_gib"], 64.0);
    let text = place.both(&["timings", "show"]).ends(0);
    text.has("group algorithm stage n seconds ± 2 sd runs hardware");
    text.has("env Ippo ippo_run 4 2.5 2.6 0-2,4 1");
    text.has(
        "1 64 GiB (cgroup) AMD EPYC 7742 64-Core Processor 4 8 1500-3400 \
         1 x NVIDIA A16 (15 GiB, 200.03 GB/s)",
    );
    text.has("env Ippo exports/env/ippo/timings.json");
    assert_eq!(text.stderr, "");
}

#[test]
fn a_single_run_has_no_spread() {
    let place = Place::new();
    place.timings("env/ippo", &[("ippo_run", &[(3, 1.25, EPYC)])]);
    let shown = place.both(&["timings", "--format", "json"]).ends(0).json();
    assert_eq!(sets(&shown)[0]["two_sd_seconds"], Value::Null);
    place.both(&["timings"]).ends(0).has("env Ippo ippo_run 1 1.250 3 1");
}

#[test]
fn groups_may_be_nested_and_have_any_name() {
    let place = Place::new();
    let groups = ["a/b/c", "my env/späť 策略", "top", "runs/e", "q\"uo'te\nline", "x,y"];
    for group in groups {
        place.timings(&format!("{group}/ippo_lag"), &[("ippo_lag_run", &[(0, 1.0, EPYC)])]);
    }
    for unused in [
        "top/runs/_superseded/ippo_0_20261129T000000Z",
        "top/runs/_archived_complete_runs/ippo_20261129T000000Z/ippo",
        "top/_prepared/shield",
        "top/_logs",
        "top/ippo_lag/artifacts/run_0",
        "top/ippo_lag/checkpoints/run_0/7",
        ".hidden/ippo",
    ] {
        place.timings(unused, &[("ippo_run", &[(0, 9.0, EPYC)])]);
    }
    let shown = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    let algorithms = shown["algorithms"].as_array().expect("a list");
    let mut found: Vec<_> =
        algorithms.iter().map(|it| it["group"].as_str().expect("text")).collect();
    found.sort_unstable();
    let mut expected = groups;
    expected.sort_unstable();
    assert_eq!(found, expected);
    let text = place.both(&["timings", "show"]).ends(0);
    text.has("a/b/c Ippo Lag ippo_lag_run 1 1.000 0 1");
    text.has("q\"uo'te\\nline Ippo Lag ippo_lag_run 1 1.000 0 1");

    let chosen = |groups: &str| {
        let words = ["timings", "show", "--format", "json", "--groups", groups];
        let shown = place.both(&words).ends(0).json();
        let algorithms = shown["algorithms"].as_array().expect("a list").clone();
        algorithms.iter().map(|it| it["group"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(chosen("my env/späť 策略,a/b/c"), ["a/b/c", "my env/späť 策略"]);
    assert_eq!(chosen("x,y"), ["x,y"]);
    assert_eq!(chosen("all").len(), groups.len());
}

#[test]
fn the_root_may_be_one_suites_directory_or_one_algorithms() {
    let place = Place::new();
    place.timings("env/ippo", &[("ippo_run", &[(0, 1.0, EPYC)])]);
    let text = place.rle(&["timings", "show", "--export-root", "exports/env"]).ends(0);
    text.has(". Ippo ippo_run 1 1.000 0 1");
    let text = place.rle(&["timings", "show", "--export-root", "exports/env/ippo"]).ends(0);
    text.has(". Ippo ippo_run 1 1.000 0 1");
    // The standalone program looks at `exports`.
    place.rle(&["timings"]).ends(0).has("env Ippo ippo_run 1 1.000 0 1");
}

#[test]
fn runs_on_different_hardware_are_apart_until_they_are_pooled() {
    let place = Place::new();
    let runs = [(0, 1.0, EPYC), (1, 2.0, "hw_small"), (2, 3.0, EPYC)];
    place.timings("env/ippo", &[("ippo_run", &runs), ("train", &runs)]);
    let text = place.both(&["timings", "show"]).ends(0);
    text.has("env Ippo ippo_run 2 2.0 2.8 0,2 1");
    text.has("env Ippo ippo_run 1 2.000 1 2");
    text.has(
        "warning: env ippo (ippo_run): runs 0,2 and run 1 differ in hardware: memory.limit_gib: \
         64.0 and 32.0; they are not pooled (--pool does)",
    );
    let pooled = place.both(&["timings", "show", "--pool", "--format", "json"]).ends(0).json();
    let sets = sets(&pooled);
    assert_eq!((sets.len(), &sets[0]["n"]), (1, &json!(3)));
    assert_eq!(sets[0]["hardware"].as_array().map(Vec::len), Some(2));
    let warning = pooled["warnings"][0]["text"].as_str().expect("text");
    assert!(warning.contains("memory.limit_gib"), "{warning}");
    assert!(warning.ends_with("they are pooled all the same"), "{warning}");
    // One warning speaks of all the stages that it is about.
    let all = place.both(&["timings", "show", "--include-other-stages"]).ends(0);
    assert_eq!(all.stdout.matches("warning: ").count(), 1, "{}", all.stdout);
    assert!(all.stdout.contains("(ippo_run, train)"), "{}", all.stdout);
}

#[test]
fn hardware_is_compared_by_what_is_said_of_it_and_not_by_its_id() {
    let place = Place::new();
    let runs = [(0, 1.0, EPYC), (1, 2.0, "hw_other_id")];
    place.timings("env/ippo", &[("ippo_run", &runs)]);
    let shown = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    assert_eq!(sets(&shown).len(), 1);
    assert_eq!(sets(&shown)[0]["hardware"][0]["ids"], json!([EPYC, "hw_other_id"]));
    assert_eq!(shown["warnings"], json!([]));
}

#[test]
fn hardware_that_no_file_describes_compares_with_nothing() {
    let place = Place::new();
    let runs = [(0, 1.0, EPYC), (1, 2.0, "hw_gone"), (2, 2.0, "hw_gone")];
    place.timings("env/ippo", &[("ippo_run", &runs)]);
    let text = place.both(&["timings", "show"]).ends(0);
    text.has("env Ippo ippo_run 1 1.000 0 1");
    text.has("env Ippo ippo_run 2 2.000 0.000 1-2 2");
    text.has("2 not described: hw_gone");
    assert!(text.stdout.contains("does not describe the hardware `hw_gone`"), "{}", text.stdout);
}

#[test]
fn a_run_whose_attempts_had_different_hardware_is_never_pooled() {
    let place = Place::new();
    let segment = |id| json!({"attempt": 1, "hardware_id": id, "seconds": 1.0});
    let run = |run_idx: u32, id: &str, segments: Value| json!({"hardware_id": id, "run_idx": run_idx, "seconds": 2.0, "segments": segments});
    let runs = json!([
        run(0, EPYC, json!([segment(EPYC), segment("hw_other_id")])),
        run(1, EPYC, json!([segment("hw_small"), segment(EPYC)])),
        run(2, EPYC, json!([segment("hw_small"), segment(EPYC)])),
        run(3, "hw_small", json!([segment("hw_small")])),
    ]);
    place.timings("env/ippo", &[]);
    let file = json!({"ippo_run": {"runs": runs, "total_seconds": 8.0}});
    place.write("exports/env/ippo/timings.json", &file.to_string());
    let numbers = |words: &[&str]| {
        let shown = place.both(&[words, &["--format", "json"]].concat()).ends(0).json();
        let runs = |set: &Value| {
            let entries = set["entries"].as_array().expect("a list").clone();
            entries.iter().map(|entry| entry["run_idx"].as_u64().expect("a run")).collect()
        };
        sets(&shown).iter().map(runs).collect::<Vec<Vec<u64>>>()
    };
    assert_eq!(numbers(&["timings", "show"]), [vec![0], vec![1], vec![2], vec![3]]);
    assert_eq!(numbers(&["timings", "show", "--pool"]), [vec![0, 3], vec![1], vec![2]]);
    let text = place.both(&["timings", "show", "--pool"]).ends(0);
    assert!(text.stdout.contains("run 1 took several attempts on different hardware"));
}

#[test]
fn other_stages_have_their_share_of_the_run() {
    let place = Place::new();
    place.timings(
        "env/ippo",
        &[
            ("ippo_run", &[(0, 4.0, EPYC), (1, 6.0, EPYC)]),
            ("train", &[(0, 1.0, EPYC), (1, 4.0, EPYC), (7, 50.0, EPYC)]),
            ("evaluate.test", &[(0, 1.0, EPYC)]),
        ],
    );
    let text = place.both(&["timings", "show", "--include-other-stages"]).ends(0);
    text.has("env Ippo ippo_run 2 5.0 2.8 0-1 1");
    // Run 7 has no time as a whole, and no share.
    text.has("env Ippo train 3 18 55 50.0 % 0-1,7 1");
    text.has("env Ippo evaluate.test 1 1.000 25.0 % 0 1");
    let plain = place.both(&["timings", "show", "--include-other-stages", "false"]).ends(0);
    assert!(!plain.stdout.contains("train"), "{}", plain.stdout);
    let json = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    assert_eq!(json["algorithms"][0]["other_stages"], json!(["evaluate.test", "train"]));
}

#[test]
fn a_file_without_a_whole_run_says_what_it_has() {
    let place = Place::new();
    place.timings("run-001", &[("alpharank", &[(0, 1.0, EPYC)])]);
    let text = place.both(&["timings", "show"]).ends(0);
    text.has(
        "note: . run-001 has no times under `run-001_run`; --include-other-stages shows alpharank",
    );
    place
        .both(&["timings", "show", "--include-other-stages"])
        .ends(0)
        .has(". Run-001 alpharank 1 1.000 0 1");
}

#[test]
fn the_latest_runs_are_those_of_the_highest_indices() {
    let place = Place::new();
    // As they were recorded: run 0 finished last.
    let runs = [(2, 3.0, EPYC), (10, 1.0, EPYC), (0, 9.0, EPYC)];
    place.timings("env/ippo", &[("ippo_run", &runs), ("train", &[(0, 9.0, EPYC), (2, 1.5, EPYC)])]);
    let words = ["timings", "show", "--latest-runs", "2", "--include-other-stages"];
    let text = place.both(&words).ends(0);
    text.has("env Ippo ippo_run 2 2.0 2.8 2,10 1");
    text.has("env Ippo train 1 1.500 50.0 % 2 1");
    place.rle(&["timings", "show", "--latest-runs", "0"]).refused(&["--latest-runs", "at least 1"]);
    place.rle(&["timings", "show", "--latest-runs", "x"]).refused(&["--latest-runs", "`x`"]);
}

#[test]
fn labels_come_from_records() {
    let place = Place::new();
    let words = ["--export-dir", "exports/lab", "--num-runs", "2", "--algorithms", "beta"];
    place.run(lab(), &words).ends(0);
    let text = place.both(&["timings", "show", "--include-other-stages"]).ends(0);
    let rows: Vec<String> =
        text.lines().lines().filter(|line| line.contains("0-1")).map(str::to_owned).collect();
    for (row, stage) in rows.iter().zip(["beta_run 2 ", "rollout 2 ", "train 2 "]) {
        assert!(row.starts_with(&format!("lab Beta w/ \"β\", v2 {stage}")), "{row}");
    }
    assert_eq!(rows.len(), 3, "{}", text.stdout);
}

/// Runs a Python program with numpy, or says that it is skipped.
fn with_numpy(script: &str, place: &Place) -> bool {
    let python = env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&python).args(["-c", "import numpy"]).output();
    if !imported.is_ok_and(|output| output.status.success()) {
        let required = env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "`{python}` cannot import numpy, and RLE_REQUIRE_PEERS is 1");
        eprintln!("skipped: `{python}` cannot import numpy");
        return false;
    }
    let mut command = Command::new(&python);
    let output = command.args(["-c", script]).current_dir(place.path("exports")).output();
    let output = output.expect("the python that has just run can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn labels_come_from_run_archives_that_numpy_wrote() {
    let place = Place::new();
    for slug in ["plain", "packed", "unlabelled"] {
        let stage = format!("{slug}_run");
        place.timings(&format!("a/b/{slug}"), &[(&stage, &[(0, 1.0, EPYC)])]);
    }
    let script = "
import os, numpy as np
os.makedirs('a/b/runs')
arrays = {'metrics/x': np.arange(100_000) * 0.1, 'meta': np.array('{}')}
with open('a/b/runs/plain_0.np', 'wb') as f: np.savez(f, algo=np.array('Old name'), **arrays)
with open('a/b/runs/plain_12.np', 'wb') as f: np.savez(f, **arrays, algo=np.array('IPPO (λ)'))
with open('a/b/runs/packed_3.np', 'wb') as f:
    np.savez_compressed(f, **arrays, algo=np.array('策略 ' * 50 + 'end'))
with open('a/b/runs/unlabelled_0.np', 'wb') as f: np.savez(f, **arrays, algo=np.array(3.0))
";
    if !with_numpy(script, &place) {
        return;
    }
    let shown = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    let labels: Vec<_> = shown["algorithms"].as_array().expect("a list").iter().collect();
    let labels: Vec<_> = labels.iter().map(|it| it["label"].as_str().expect("text")).collect();
    assert_eq!(
        labels,
        ["策略 ".repeat(50) + "end", "IPPO (λ)".to_owned(), "Unlabelled".to_owned()]
    );
}

#[test]
fn one_malformed_file_does_not_hide_the_others() {
    let place = Place::new();
    place.timings("env/good", &[("good_run", &[(0, 1.0, EPYC)])]);
    for (slug, text) in [
        ("half", "{\"half_run\": {"),
        ("empty", ""),
        ("negative", r#"{"x_run": {"runs": [{"hardware_id": "h", "seconds": -1}]}}"#),
    ] {
        place.write(&format!("exports/env/{slug}/timings.json"), text);
    }
    fs::create_dir_all(place.path("exports/env/directory/timings.json")).expect("a directory");
    place.timings("env/newer", &[("newer_run", &[(0, 1.0, EPYC)])]);
    place.write("exports/env/newer/timings_hardware.json", r#"{"schema_version": 99}"#);
    let text = place.both(&["timings", "show"]).ends(1);
    text.has("env Good good_run 1 1.000 0 1");
    let told: Vec<&str> = text.stderr.lines().collect();
    assert_eq!(told.len(), 5, "{}", text.stderr);
    for (line, (file, problem)) in told.iter().zip([
        ("directory/timings.json", "directory"),
        ("empty/timings.json", "is empty"),
        ("half/timings.json", "is not whole JSON"),
        ("negative/timings.json", "`seconds` -1"),
        ("newer/timings_hardware.json", "schema version 99"),
    ]) {
        assert!(line.starts_with(&format!("error: exports/env/{file}: ")), "{line}");
        assert!(line.contains(problem), "{line}");
    }
    let json = place.both(&["timings", "show", "--format", "json"]).ends(1);
    assert_eq!(json.json()["faults"].as_array().map(Vec::len), Some(5));
    assert_eq!(json.json()["faults"][1]["file"], "exports/env/empty/timings.json");
    assert_eq!(json.stderr, "");
    // It is not in the way of those who do not ask for it.
    place.both(&["timings", "show", "--algorithms", "good"]).ends(0);
}

#[test]
fn a_message_is_one_line_and_moves_no_cursor_whatever_the_names_are() {
    let place = Place::new();
    place.write("exports/env/red\u{1b}[31m\nline/timings.json", "");
    let text = place.both(&["timings", "show"]).ends(1);
    assert!(text.stderr.contains("red\\u{1b}[31m\\nline/timings.json: is empty"), "{text:?}");
    assert_eq!(text.stderr.lines().count(), 1, "{text:?}");
    let refused = place.both(&["timings", "show", "--groups", "\u{1b}[31m"]);
    refused.refused(&["the group `\\u{1b}[31m`"]);
}

#[test]
fn no_pipe_in_the_place_of_a_record_holds_a_look_up() {
    let place = Place::new();
    place.timings("env/ippo", &[("ippo_run", &[(0, 1.0, EPYC)])]);
    place.write("exports/env/runs/empty", "");
    for name in ["ippo_0.json", "ippo_1.np"] {
        let path = place.path("exports/env/runs").join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo can be started");
        assert!(made.success());
    }
    place.both(&["timings", "show"]).ends(0).has("env Ippo ippo_run 1 1.000 0 1");
}

#[test]
fn unknown_names_are_refused_with_near_ones() {
    let place = Place::new();
    place.timings("env/main/ippo", &[("ippo_run", &[(0, 1.0, EPYC)])]);
    place.timings("other/icpo", &[("icpo_run", &[(0, 1.0, EPYC)])]);
    let refused = |words: &[&str], parts: &[&str]| {
        place.both(&[&["timings", "show"], words].concat()).refused(parts);
    };
    refused(&["--groups", "env/mian"], &["the group `env/mian`", "did you mean `env/main`?"]);
    refused(&["--groups", "zzz"], &["there are `env/main`, `other`"]);
    refused(&["--algorithms", "ipo"], &["the algorithm `ipo`", "did you mean `ippo`?"]);
    // An algorithm of another group.
    refused(&["--groups", "other", "--algorithms", "ippo"], &["the algorithm `ippo`"]);
    refused(&["--groups", ","], &["names no group"]);
    refused(&["--format", "yaml"], &["`yaml` is not a format"]);
    refused(&["--allow", "x"], &["--allow belongs to `timings check`"]);
    refused(&["--gruops", "x"], &["similar argument exists: '--groups'"]);
    place.rle(&["timings", "shwo"]).refused(&["'shwo'", "similar subcommand exists: 'show'"]);
    place.rle(&["timngs"]).refused(&["similar subcommand exists: 'timings'"]);
    place
        .rle(&["--groups", "other"])
        .refused(&["requires a subcommand", "timings, locks, completions"]);
    place
        .run(lab(), &["timings", "--num-runs", "3"])
        .refused(&["--num-runs belongs to `run`, `list`, `config`, `status`"]);
}

#[test]
fn a_missing_root_is_an_error_and_an_empty_one_is_not() {
    let place = Place::new();
    let text = place.both(&["timings", "show"]).ends(0);
    assert_eq!(text.stdout, "no timings.json below exports\n");
    let json = place.both(&["timings", "show", "--format", "json"]).ends(0).json();
    assert_eq!(json["algorithms"], json!([]));
    let missing = ["timings", "show", "--export-root", "exprots"];
    place.rle(&missing).refused(&["exprots", "does not exist", "--export-root"]);
    for program in [rle(), lab()] {
        let words = ["timings", "--export-root", ""];
        place.run(program, &words).refused(&["--export-root names no directory"]);
    }
    place.write("file", "");
    place.rle(&["timings", "--export-root", "file"]).refused(&["file", "is no directory"]);
}

#[test]
fn a_generated_program_looks_at_its_own_suite_first() {
    let place = Place::new();
    place.run(lab(), &["--algorithms", "alpha"]).ends(0);
    place.timings("env/ippo", &[("ippo_run", &[(0, 1.0, EPYC)])]);
    let own = place.run(lab(), &["timings"]).ends(0).lines();
    assert!(own.contains("\nout Alpha alpha_run 1 "), "{own}");
    assert!(!own.contains("Ippo"), "{own}");
    let all = place.run(lab(), &["timings", "--groups", "all"]).ends(0).lines();
    assert!(all.contains("\nout Alpha alpha_run 1 "), "{all}");
    assert!(all.contains("\nexports/env Ippo ippo_run 1 1.000 0 1\n"), "{all}");
    let words = ["timings", "--export-dir", "exports/env"];
    place.run(lab(), &words).ends(0).has("env Ippo ippo_run 1 1.000 0 1");
    let unused = place.run(lab(), &["timings", "export_dir=never"]);
    unused.refused(&["never", "does not exist"]);
}

#[test]
fn the_program_says_how_it_is_used() {
    let place = Place::new();
    let help = place.rle(&["--help"]).ends(0).stdout;
    for part in ["timings", "locks", "completions", "--export-root"] {
        assert!(help.contains(part), "no {part} in {help}");
    }
    let timings = place.rle(&["timings", "--help"]).ends(0).stdout;
    assert!(timings.contains("show") && timings.contains("check"), "{timings}");
    let locks = place.rle(&["locks", "--help"]).ends(0).stdout;
    assert!(locks.contains("--only-locked") && !help.contains("--only-locked"), "{locks}");
    assert!(!help.contains("--num-runs"), "{help}");
    let bare = place.rle(&[]).ends(2);
    assert_eq!((bare.stdout.as_str(), bare.stderr.contains("Usage: rle")), ("", true));
    let version = place.rle(&["--version"]).ends(0).stdout;
    assert!(version.starts_with("rle ") && version.trim_end().len() > 4, "{version}");
}
