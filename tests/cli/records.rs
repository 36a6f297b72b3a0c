//! What a record and the timings hold.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Lab, names, read_json, text, tree};

fn wild(lab: &Lab, act: &str, with: &str, more: &[&str]) -> crate::support::Ended {
    let act = format!("algorithm_configs.wild.act={act}");
    let with = format!("algorithm_configs.wild.with={with}");
    let words = ["--algorithms", "wild", "--set", &act, "--set", &with];
    lab.run(&[&words[..], more].concat())
}

#[test]
fn a_record_has_every_field_and_the_head_comes_first() {
    let lab = Lab::new();
    lab.run(&["--base-seed", "7", "--num-runs", "2"]).ok();
    let raw = fs::read_to_string(lab.out("runs/beta_1.json")).unwrap();
    let keys: Vec<&str> = raw
        .lines()
        .filter_map(|line| line.strip_prefix("  \"").and_then(|rest| rest.split('"').next()))
        .collect();
    let expected = "schema_version status request algorithm run_idx seed seeds environment \
                    common_config provenance required_artifacts artifact_paths hardware_id \
                    started_at finished_at seconds attempts summary artifacts checkpoint log_dir \
                    metrics episode_history";
    assert_eq!(keys.join(" "), expected);
    let record = lab.record("beta_1");
    assert_eq!(record["status"], "complete");
    assert_eq!((&record["schema_version"], &record["run_idx"]), (&1.into(), &1.into()));
    assert_eq!(record["algorithm"]["name"], "Beta w/ \"β\", v2");
    assert_eq!(record["algorithm"]["slug"], "beta");
    assert_eq!(record["seed"], 8);
    assert_eq!(record["seeds"], json!({ "learner": 8 }));
    assert_eq!(record["environment"]["config"]["start"], 1_u64 << 60);
    assert_eq!(record["request"]["schema_version"], 1);
    let hash = text(&record["request"]["hash"]);
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    let policy = &record["artifact_paths"]["policy"];
    assert_eq!(policy["path"], "beta/artifacts/run_1/policy.txt");
    assert_eq!((&policy["kind"], &policy["bytes"]), (&"file".into(), &14.into()));
    assert_eq!(text(&policy["sha256"]).len(), 64);
    assert_eq!(record["artifact_paths"]["curves"]["kind"], "directory");
    for time in
        [&record["started_at"], &record["finished_at"], &record["attempts"][0]["started_at"]]
    {
        let time = text(time);
        assert!(time.len() == 27 && time.ends_with('Z') && time.starts_with("20"), "{time}");
    }
    assert_eq!(record["attempts"].as_array().unwrap().len(), 1);
    assert!(record["attempts"][0]["pid"].as_u64().unwrap() > 0);
    assert_eq!(record["summary"]["episodes"], 3);
    assert_eq!(record["summary"]["return"], 0.5003);
    assert_eq!(record["summary"]["note"], "as asked");
    assert_eq!(record["artifacts"], json!({ "format": "text" }));
    assert_eq!(record["episode_history"][1]["agent_returns"], json!({ "agent_0": 0.5 }));
    assert!(
        names(lab.out("runs"))
            .iter()
            .all(|name| { name.ends_with(".json") || name.ends_with(".lock") }),
        "leftovers in {:?}",
        names(lab.out("runs"))
    );
}

#[test]
fn seeds_and_numbers_above_two_to_the_53_stay_exact_and_apart() {
    let lab = Lab::new();
    let run = |seed: &str| {
        lab.run(&["--algorithms", "alpha", "--base-seed", seed]).ok();
        (lab.record("alpha_0"), fs::read_to_string(lab.out("runs/alpha_0.json")).unwrap())
    };
    let (first, raw) = run("9007199254740993");
    assert!(raw.contains("\"seed\": 9007199254740993,"), "{raw}");
    let (second, _) = run("9007199254740992");
    assert_ne!(first["request"]["hash"], second["request"]["hash"]);
    let (last, raw) = run("18446744073709551615");
    assert!(raw.contains("\"learner\": 18446744073709551615"), "{raw}");
    assert_eq!(last["seed"], u64::MAX);
    let steps = "common_config.limits.steps=9007199254740993";
    lab.run(&["--algorithms", "alpha", "--set", steps]).ok();
    assert_eq!(
        lab.record("alpha_0")["common_config"]["limits"]["steps"],
        9_007_199_254_740_993_u64
    );
}

#[test]
fn every_metric_comes_back_as_it_went_in() {
    let lab = Lab::new();
    wild(&lab, "metrics", "", &[]).ok();
    let record = lab.record("wild_0");
    assert_eq!(record["metrics"]["loss"], json!([1.0, "NaN", "Infinity", "-Infinity"]));
    assert_eq!(record["metrics"]["grid"], json!([[1, 2], [], [3]]));
    assert_eq!(record["episode_history"][0]["cum_reward"], "NaN");
    assert!(record["metrics"].get("time_profile/rollout").is_none());
    let timings = read_json(&lab.out("wild/timings.json"));
    assert_eq!(timings["rollout"]["total_seconds"], 1.0);
    let records = rle::load_records(lab.out("")).unwrap();
    let [record] = records.as_slice() else { panic!("{} records", records.len()) };
    let loss: Vec<f64> = record.metric("loss").unwrap();
    assert!(loss[0] == 1.0 && loss[1].is_nan());
    assert_eq!(loss[2..], [f64::INFINITY, f64::NEG_INFINITY]);
    assert!(record.metric::<f64>("diverged").unwrap().is_nan());
    assert_eq!(record.metric::<Vec<Vec<u8>>>("grid").unwrap(), [vec![1, 2], vec![], vec![3]]);
    assert_eq!(record.metric::<u64>("large").unwrap(), u64::MAX);
    assert_eq!(record.metric::<i64>("negative").unwrap(), i64::MIN);
    assert_eq!(record.metric::<f32>("tenth").unwrap(), 0.1_f32);
    assert_eq!(record.metric::<String>("text").unwrap(), "Ünïcode \"quoted\"\n\u{0}");
    assert_eq!(record.metric::<Option<u8>>("nothing").unwrap(), None);
    let episode = &record.episode_history[0];
    assert!(episode.cum_reward.is_nan());
    assert_eq!(episode.extra["goals"].as_u64(), Some(9_007_199_254_740_993));
    assert!(record.head.summary["loss"].as_f64() == Some(1.0), "the last finite value");
    assert!(!record.head.summary.contains_key("diverged"));
    let error = record.metric::<f64>("los").unwrap_err().to_string();
    assert!(error.contains("wild:0 has no metric `los`; did you mean `loss`?"), "{error}");
    wild(&lab, "metrics", "", &[]).ok();
    assert_eq!(lab.calls(), ["run wild:0"], "NaN is no reason to run again");
}

#[test]
fn values_that_no_record_can_hold_fail_the_slot_by_name() {
    let lab = Lab::new();
    let failed = |act: &str, parts: &[&str]| {
        let ended = wild(&lab, act, "", &[]).ends(1);
        let record = lab.record("wild_0");
        assert_eq!(record["status"], "failed");
        for part in parts {
            assert!(text(&record["error"]).contains(part), "no `{part}` in {}", record["error"]);
            assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
        }
    };
    failed("word metric", &["metric `verdict` cannot be stored", "string \"NaN\" is reserved"]);
    failed("keyed metric", &["metric `table` cannot be stored"]);
    failed("track twice", &["tracked output `output` is given twice"]);
    failed(
        "track missing",
        &["tracked outputs are missing", "`policy`", "out/no/policy", "`curves`"],
    );
}

#[test]
fn artifact_names_that_would_leave_the_run_directory() {
    let lab = Lab::new();
    let outside = lab.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let before = tree(&outside, true);
    let outside = outside.to_str().unwrap().to_owned();
    let refused = |act: &str, with: &str, problem: &str| {
        let ended = wild(&lab, act, with, &[]).ends(1);
        let error = text(&lab.record("wild_0")["error"]);
        for part in ["the artifact name `", problem, "out/wild/artifacts/run_0"] {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
        assert!(ended.line("wild:0").contains(problem), "{}", ended.stdout);
        assert_eq!(
            names(lab.out("wild/artifacts")),
            if act == "link" { &["run_0"][..] } else { &[] }
        );
    };
    refused("name", "../x", "has a part that is empty, `.` or `..`");
    refused("name", "a/../../../x", "has a part that is empty, `.` or `..`");
    refused("name", "", "is empty");
    refused("name", "a//b", "has a part that is empty");
    refused("name", &format!("{outside}/x"), "is absolute");
    refused("link", &outside, "leaves through the symbolic link");
    assert!(tree(std::path::Path::new(&outside), true) == before);
    assert_eq!(names(lab.out("")), ["_logs", "runs", "wild"]);
    wild(&lab, "name", "a/b.. c/ü", &[]).ok();
    assert!(lab.out("wild/artifacts/run_0/a/b.. c/ü").is_file());
}

#[test]
fn two_slots_may_not_track_one_path() {
    let lab = Lab::new();
    let ended = wild(&lab, "track", "shared.txt", &["--num-runs", "2"]).ends(1);
    assert!(ended.line("wild:0").contains("complete"), "{}", ended.stdout);
    let line = ended.line("wild:1");
    assert!(line.contains("output `output`") && line.contains("out/shared.txt"), "{line}");
    assert!(line.contains("tracked by slot wild:0 too"), "{line}");
    assert_eq!(lab.record("wild_1")["status"], "failed");
    assert_eq!(lab.record("wild_1")["artifact_paths"], json!({}));
    assert_eq!(lab.record("wild_0")["status"], "complete");
    // Below or above another's path is no better.
    let ended = wild(&lab, "track", "../../source/Cargo.toml", &[]).ok();
    assert!(ended.stderr.contains("_superseded"), "{}", ended.stderr);
    let path = text(&lab.record("wild_0")["artifact_paths"]["output"]["path"]);
    assert!(path.starts_with('/') && path.ends_with("source/Cargo.toml"), "{path}");
}

/// `(run_idx, label, calls)` of the entries of a stage.
fn entries(timings: &Value, stage: &str) -> Vec<(Option<u64>, Option<String>, Option<u64>)> {
    let runs = timings[stage]["runs"].as_array().unwrap_or_else(|| panic!("no {stage}: {timings}"));
    let total: f64 = runs.iter().map(|run| run["seconds"].as_f64().unwrap()).sum();
    assert!((timings[stage]["total_seconds"].as_f64().unwrap() - total).abs() < 1e-9);
    let entry = |run: &Value| {
        assert!(text(&run["hardware_id"]).starts_with("hw_"));
        let label = run["label"].as_str().map(ToOwned::to_owned);
        (run["run_idx"].as_u64(), label, run["calls"].as_u64())
    };
    runs.iter().map(entry).collect()
}

#[test]
fn timings_hold_one_entry_a_run_with_the_calls_of_each_stage() {
    let lab = Lab::new();
    let words = ["--algorithms", "alpha", "--num-runs", "2"];
    let steps = ["--set", "algorithm_configs.alpha.steps=5"];
    lab.run(&[&words[..], &steps].concat()).ok();
    let timings = read_json(&lab.out("alpha/timings.json"));
    let stages: Vec<&String> = timings.as_object().unwrap().keys().collect();
    assert_eq!(stages, ["alpha_run", "rollout", "train"]);
    assert_eq!(entries(&timings, "alpha_run"), [(Some(0), None, None), (Some(1), None, None)]);
    for stage in ["rollout", "train"] {
        assert_eq!(entries(&timings, stage), [(Some(0), None, Some(5)), (Some(1), None, Some(5))]);
    }
    let seconds = |stem: &str| lab.record(stem)["seconds"].as_f64().unwrap();
    assert_eq!(timings["alpha_run"]["runs"][1]["seconds"].as_f64().unwrap(), seconds("alpha_1"));
    // Reuse measures nothing; a second computation replaces nothing of the other run.
    lab.run(&[&words[..], &steps].concat()).ok();
    assert_eq!(read_json(&lab.out("alpha/timings.json")), timings);
    lab.run(&[&words[..], &steps, &["--rerun", "alpha:1"]].concat()).ok();
    let again = read_json(&lab.out("alpha/timings.json"));
    let of_run = |idx: u64| {
        entries(&again, "alpha_run").iter().filter(|(run, ..)| *run == Some(idx)).count()
    };
    assert_eq!((of_run(0), of_run(1)), (1, 1));
    let hardware = read_json(&lab.out("alpha/timings_hardware.json"));
    let known: BTreeMap<String, Value> =
        serde_json::from_value(hardware["hardware"].clone()).unwrap();
    assert!(known.contains_key(&text(&timings["train"]["runs"][0]["hardware_id"])));
}
