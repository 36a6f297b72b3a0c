//! What is logged arrives in the files and in the record.

use serde_json::{Value, json};

use super::events::{curves, holds_text, steps};
use super::support::{Logs, entries};

#[test]
fn what_a_run_logs_is_in_its_curves_and_its_last_values_in_the_record() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--num-runs", "2"]).status, 0);
    assert_eq!(entries(&logs.out("_logs/alps/out/tensorboard")), ["climber_0", "climber_1"]);
    let curves = curves(&logs.events("climber_1"));
    let all: Vec<i64> = (0..10).collect();
    assert_eq!(steps(&curves, "height"), all);
    assert_eq!(steps(&curves, "from/below"), all);
    assert_eq!(curves["warm_up"], [(0, 1.0)]);
    assert_eq!(curves["height"][7], (7, 7.0));
    // A stage is timed at the step last logged, which is its own.
    assert_eq!(steps(&curves, "time_profile/climb"), all);
    assert!(!curves.contains_key("before/any/run"));
    let record = logs.record("climber_1");
    assert_eq!(record["metrics"], json!({"height": 9.0, "from/below": 0.0, "warm_up": 1.0}));
    assert_eq!(record["summary"]["height"], 9.0);
    assert_eq!(record["log_dir"], "_logs/alps/out");
    assert_eq!(record["attempts"][0].get("log_loss"), None);
    for name in ["config.save_every", "env_name", "run_idx", "Climber"] {
        assert!(holds_text(&logs.events("climber_1"), name), "{name}");
    }
}

#[test]
fn a_metric_that_the_algorithm_returns_stands_in_the_record() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--set", "algorithm_configs.climber.act=own"]).status, 0);
    let metrics = &logs.record("climber_0")["metrics"];
    assert_eq!((&metrics["height"], &metrics["other"]), (&json!("my own"), &json!(1)));
    assert_eq!(metrics["warm_up"], 1.0);
}

#[test]
fn odd_names_steps_and_values_are_kept_or_counted() {
    let logs = Logs::new();
    let words = ["--set", "algorithm_configs.climber.act=odd", "--log-backend"];
    let ended = logs.run(&[&words[..], &["tensorboard,wandb,swanlab"]].concat());
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.lines("its name").len(), 1, "{ended:?}");
    let found = curves(&logs.events("climber_0"));
    for name in ["two words", "a/b:c", "🧗", &"x".repeat(1_000)] {
        assert_eq!(found[name], [(20, 1.5)], "{name}");
    }
    assert_eq!(found["kind"], [(22, 1.0), (23, 0.25)]);
    assert_eq!(found["back"], [(24, 1.0), (24, 2.0), (5, 3.0)]);
    assert!(found["nan"][0].1.is_nan());
    let record = logs.record("climber_0");
    assert_eq!(record["metrics"]["nan"], "NaN");
    assert_eq!(record["metrics"]["infinity"], "-Infinity");
    assert_eq!(record["metrics"]["back"], 3.0);
    assert_eq!(record["metrics"]["kind"], 0.25);
    let names: Vec<&String> = record["metrics"].as_object().unwrap().keys().collect();
    assert!(!names.iter().any(|name| name.starts_with("time_profile") || name.is_empty()));
    // The empty name, which no backend has.
    assert_eq!(record["attempts"][0]["log_loss"]["points"], 1);
}

#[test]
fn a_run_that_logs_nothing_leaves_no_files() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--set", "algorithm_configs.climber.act=nothing"]).status, 0);
    assert_eq!(entries(&logs.out("_logs")), ["climber_0.log"]);
    let record = logs.record("climber_0");
    assert_eq!((record.get("log_dir"), &record["metrics"]), (None, &json!({})));
}

#[test]
fn ten_thousand_tags_arrive() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--set", "algorithm_configs.climber.act=many"]).status, 0);
    let found = curves(&logs.events("climber_0"));
    assert_eq!(found.keys().filter(|tag| tag.starts_with("tag/")).count(), 10_000);
    assert_eq!(found["tag/9999"], [(1_000, 9_999.0)]);
    let metrics: Value = logs.record("climber_0")["metrics"].clone();
    assert_eq!(metrics["tag/4321"], 4_321.0);
}
