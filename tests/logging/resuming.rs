//! Curves of runs that die, go on, and are done again.

use std::fs;
use std::process::Command;

use super::events::{curves, steps};
use super::support::{Logs, entries};

fn all() -> Vec<i64> {
    (0..10).collect()
}

const SAVING: [&str; 1] = ["--checkpoint-enabled"];

#[test]
fn a_killed_run_goes_on_without_doubled_or_missing_steps() {
    for (dies_at, last_kept) in [("6", 3), ("4", 3), ("9", 7)] {
        let logs = Logs::new();
        let ended = logs.run_with(&SAVING, &[("LOGS_DIE", dies_at)]);
        assert_ne!(ended.status, 0);
        let before = curves(&logs.events("climber_0"));
        let died_at: i64 = dies_at.parse().unwrap();
        assert_eq!(steps(&before, "height"), (0..=died_at).collect::<Vec<_>>());
        assert!(died_at > last_kept, "nothing is superseded");
        let ended = logs.run(&SAVING);
        assert_eq!(ended.status, 0, "{ended:?}");
        let after = curves(&logs.events("climber_0"));
        for tag in ["height", "from/below", "time_profile/climb"] {
            assert_eq!(steps(&after, tag), all(), "{tag}, died at {dies_at}");
        }
        // What was logged before the checkpoint alone is a metric all the same.
        let record = logs.record("climber_0");
        assert_eq!(record["metrics"]["warm_up"], 1.0);
        assert_eq!(record["attempts"][1]["resumed_from"], (last_kept + 1) / 4);
    }
}

#[test]
fn what_is_logged_before_a_checkpoint_is_in_the_files_before_it_counts() {
    let logs = Logs::new();
    // Flushed by nothing but the checkpoint: the interval is longer than any test.
    let words = ["--checkpoint-enabled", "--log-flush-interval", "1h"];
    let ended = logs.run_with(&words, &[("LOGS_ABORT", "5")]);
    assert_ne!(ended.status, 0);
    let found = curves(&logs.events("climber_0"));
    assert_eq!(steps(&found, "height"), [0, 1, 2, 3]);
    assert!(logs.out("climber/checkpoints/run_0/manifest.json").exists());
    assert_eq!(logs.run(&words).status, 0);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), all());
}

#[test]
fn a_resumed_run_has_the_record_of_an_unbroken_one() {
    let logs = Logs::new();
    let ended = logs.run(&["verify", "--interruption", "--log-level", "warn"]);
    assert_eq!(ended.status, 0, "{ended:?}");
    // Trials log nothing.
    assert!(!logs.out("_logs/alps").exists());
}

#[test]
fn a_run_from_the_start_shows_nothing_of_an_attempt_that_failed() {
    let logs = Logs::new();
    assert_eq!(logs.run_with(&[], &[("LOGS_FAIL", "6")]).status, 1);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), (0..=6).collect::<Vec<_>>());
    assert_eq!(logs.run(&[]).status, 0);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), all());
    assert_eq!(entries(&logs.events("climber_0")).len(), 2, "what was there is kept");
}

#[test]
fn curves_are_superseded_with_their_record_and_come_back_with_it() {
    let logs = Logs::new();
    let backends = ["--log-backend", "tensorboard,wandb,swanlab"];
    assert_eq!(logs.run(&[&backends[..], &["--num-runs=2"]].concat()).status, 0);
    let kept = entries(&logs.out("_logs/alps/out/wandb"));
    let rerun = [&backends[..], &["--rerun=climber:0", "algorithm_configs.climber.steps=5"]];
    assert_eq!(logs.run(&rerun.concat()).status, 0);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), [0, 1, 2, 3, 4]);
    assert_eq!(steps(&curves(&logs.events("climber_1")), "height"), all());
    let superseded = logs.out("runs/_superseded");
    let [archive] = entries(&superseded).try_into().expect("one archive");
    let place = superseded.join(&archive);
    assert_eq!(steps(&curves(&place.join("logs/tensorboard/climber_0")), "height"), all());
    assert_eq!(entries(&place.join("logs")), ["swanlab", "tensorboard", "wandb"]);
    let record = super::support::read_json(&place.join("climber_0.json"));
    assert_eq!(record["log_dir"], format!("runs/_superseded/{archive}/logs"));
    // Back in the place of what is thrown away for it.
    fs::remove_dir_all(logs.out("_logs")).unwrap();
    for left in ["runs/climber_0.json", "climber"] {
        let left = logs.out(left);
        if left.is_dir() { fs::remove_dir_all(left) } else { fs::remove_file(left) }.unwrap();
    }
    let ended = logs.run(&["archive", "restore", &archive]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), all());
    assert_eq!(logs.record("climber_0")["log_dir"], "_logs/alps/out");
    let back = entries(&logs.out("_logs/alps/out/wandb"));
    assert!(back.len() == 1 && kept.contains(&back[0]), "{back:?} of {kept:?}");
}

#[test]
fn a_restarted_set_takes_its_curves_with_it() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--num-runs=2"]).status, 0);
    assert_eq!(logs.run(&["--num-runs=2", "--restart-completed-runs"]).status, 0);
    let archived = logs.out("runs/_archived_complete_runs");
    let [set] = entries(&archived).try_into().expect("one set");
    for run in 0..2 {
        let slot = format!("climber_{run}");
        let old = archived.join(&set).join(format!("run_{run}/logs/tensorboard")).join(&slot);
        assert_eq!(steps(&curves(&old), "height"), all());
        assert_eq!(steps(&curves(&logs.events(&slot)), "height"), all());
        assert_eq!(entries(&logs.events(&slot)).len(), 1);
    }
}

#[test]
fn a_run_that_is_ended_by_a_signal_has_logged_what_it_did() {
    let logs = Logs::new();
    let words = ["--log-flush-interval", "1h"];
    assert_eq!(logs.run_with(&words, &[("LOGS_TERM", "2")]).status, 3);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), [0, 1, 2]);
    assert_eq!(logs.record("climber_0")["status"], "interrupted");
}

#[test]
fn a_run_that_stops_when_asked_goes_on_with_its_curves() {
    let logs = Logs::new();
    let path = super::sending::tool(&logs, "wandb", 0);
    let online = ["--log-backend=tensorboard,wandb", "--log-mode=online", "--checkpoint-enabled"];
    let variables = [("PATH", path.as_str())];
    let ended = logs.run_with(&online, &[&variables[..], &[("LOGS_STOP", "5")]].concat());
    assert_eq!(ended.status, 3, "{ended:?}");
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), (0..8).collect::<Vec<_>>());
    assert_eq!(super::sending::calls(&logs), Vec::<String>::new(), "it is not whole yet");
    assert_eq!(logs.run_with(&online, &variables).status, 0);
    assert_eq!(steps(&curves(&logs.events("climber_0")), "height"), all());
    assert_eq!(super::sending::calls(&logs).len(), 1);
    assert_eq!(entries(&logs.out("_logs/alps/out/wandb")).len(), 1, "one run there too");
}

/// TensorBoard's own reader, where there is one.
#[test]
fn tensorboard_itself_sees_the_run_before_and_after_it_goes_on() {
    let python = std::env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python).args(["-c", "import tensorboard"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        let required = std::env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "`{python}` cannot import tensorboard, and RLE_REQUIRE_PEERS is 1");
        eprintln!("SKIPPED: `{python}` cannot import tensorboard");
        return;
    }
    let logs = Logs::new();
    let seen = || -> serde_json::Value {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/read_events.py");
        let directory = logs.events("climber_0");
        let output = Command::new(&python).arg(script).arg(&directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        found[directory.to_str().unwrap()].take()
    };
    let steps = |tags: &serde_json::Value, tag: &str| -> Vec<i64> {
        let points = tags[tag].as_array().unwrap();
        points.iter().map(|point| point[0].as_i64().unwrap()).collect()
    };
    assert_ne!(logs.run_with(&SAVING, &[("LOGS_DIE", "6")]).status, 0);
    let tags = seen();
    assert_eq!(steps(&tags, "height"), (0..=6).collect::<Vec<_>>());
    assert_eq!(logs.run(&SAVING).status, 0);
    let tags = seen();
    for tag in ["height", "from/below", "time_profile/climb"] {
        assert_eq!(steps(&tags, tag), all(), "{tag}");
    }
    assert_eq!(steps(&tags, "warm_up"), [0]);
}
