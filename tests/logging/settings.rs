//! Where the settings of logging come from, and what they do.

use std::fs;

use super::events::{curves, steps};
use super::support::{Logs, entries};

/// What of the backends is there below a project's experiment.
fn backends(logs: &Logs, experiment: &str) -> Vec<String> {
    entries(&logs.root().join("work").join(experiment))
}

#[test]
fn options_outrank_set_variables_file_and_code() {
    let logs = Logs::new();
    let file = logs.root().join("suite.toml");
    let text = "[log]\nproject = \"file\"\nname = \"file\"\nbackend = [\"swanlab\"]\n\
                log_dir = \"from_file\"\ntags = [\"a\"]\nflush_interval = \"1s\"\n";
    fs::write(&file, text).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let suite = ("LOGS_SUITE", "wandb");
    let at = |more: &[&str], variables: &[(&str, &str)]| {
        let words = [&config[..], more, &["--rerun", "climber:0"]].concat();
        let ended = logs.run_with(&words, &[&[suite], variables].concat());
        assert_eq!(ended.status, 0, "{ended:?}");
    };
    let ended = logs.run_with(&[], &[suite]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(backends(&logs, "out/_logs/suite/out"), ["wandb"]);
    at(&[], &[]);
    assert_eq!(backends(&logs, "from_file/file/file"), ["swanlab"]);
    let name = ("RLE_LOG_NAME", "variable");
    at(&[], &[name]);
    assert_eq!(backends(&logs, "from_file/file/variable"), ["swanlab"]);
    at(&["--set", "log.name=set", "log.backend=tensorboard,wandb"], &[name]);
    assert_eq!(backends(&logs, "from_file/file/set"), ["tensorboard", "wandb"]);
    let options = ["--log-name", "option", "--log-dir", "elsewhere", "--set", "log.name=set"];
    at(&[&options[..], &["log_backend=tensorboard"]].concat(), &[name]);
    assert_eq!(backends(&logs, "elsewhere/file/option"), ["tensorboard"]);
    assert_eq!(logs.record("climber_0")["log_dir"].as_str().unwrap(), {
        let path = logs.root().join("work/elsewhere/file/option");
        path.to_str().unwrap().to_owned()
    });
}

#[test]
fn none_logs_nothing_and_leaves_the_record_as_it_is() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--log-backend", "none"]).status, 0);
    assert_eq!(entries(&logs.out("_logs")), ["climber_0.log"]);
    let record = logs.record("climber_0");
    assert_eq!(record["metrics"]["height"], 9.0);
    assert_eq!(record.get("log_dir"), None);
}

#[test]
fn how_a_run_is_logged_is_no_part_of_what_it_is() {
    let logs = Logs::new();
    assert_eq!(logs.run(&[]).status, 0);
    let before = fs::read(logs.out("runs/climber_0.json")).unwrap();
    let ended = logs.run(&[
        "--log-backend=wandb",
        "--log-level=debug",
        "--log-mode=offline",
        "--log-project=other",
        "--log-tags=a,b",
    ]);
    assert_eq!(ended.status, 0);
    assert_eq!(fs::read(logs.out("runs/climber_0.json")).unwrap(), before);
    assert_eq!(entries(&logs.out("_logs/other")), Vec::<String>::new());
}

#[test]
fn a_dry_run_logs_nothing() {
    let logs = Logs::new();
    assert_eq!(logs.run(&["--dry-run", "--log-backend", "wandb"]).status, 0);
    assert!(!logs.out("").exists());
}

#[test]
fn what_is_not_accepted_is_named_with_its_neighbour_and_nothing_is_made() {
    let logs = Logs::new();
    let file = logs.root().join("suite.toml");
    let refused = |words: &[&str], variables: &[(&str, &str)], parts: &[&str]| {
        let ended = logs.run_with(words, variables);
        assert_eq!(ended.status, 2, "{words:?} {ended:?}");
        for part in parts {
            assert!(ended.stderr.contains(part), "{words:?} misses {part}: {}", ended.stderr);
        }
        assert!(!logs.out("").exists());
    };
    refused(
        &["--log-backend", "tensorbord"],
        &[],
        &["--log-backend: `tensorbord`", "swanlab, none", "did you mean `tensorboard`?"],
    );
    refused(&["--log-backend", "none,wandb"], &[], &["give `none` alone"]);
    refused(&["--log-mode", "ofline"], &[], &["`ofline`", "did you mean `offline`?"]);
    refused(&["--log-mode=cloud", "--log-backend=wandb"], &[], &["`cloud`", "shared"]);
    refused(&[], &[("LOGS_SUITE", "faulty")], &["`loud` is not a log level"]);
    refused(&["--log-level", "wran"], &[], &["--log-level: `wran`", "did you mean `warn`?"]);
    refused(&[], &[("RLE_LOG_LEVEL", "loud")], &["RLE_LOG_LEVEL: `loud`", "off, error"]);
    refused(&["--set", "log.bakend=wandb"], &[], &["no key `bakend`", "did you mean `backend`?"]);
    refused(&["--set", "log=wandb"], &[], &["log.backend=wandb"]);
    refused(
        &["--log-bakend", "wandb"],
        &[],
        &["--log-bakend", "a similar argument exists: '--log-backend'"],
    );
    refused(&["--log-dir="], &[], &["--log-dir: expected a path"]);
    refused(&["--log-flush-interval=2"], &[], &["--log-flush-interval", "90s"]);
    let config = ["--config", file.to_str().unwrap()];
    fs::write(&file, "[log]\nlevle = \"info\"\n").unwrap();
    refused(&config, &[], &["suite.toml", "no key `levle`", "did you mean `level`?"]);
    fs::write(&file, "[log]\nbackend = \"wanbd\"\n").unwrap();
    refused(&config, &[], &["suite.toml: log.backend: `wanbd`", "did you mean `wandb`?"]);
    fs::write(&file, "log = \"info\"\n").unwrap();
    refused(&config, &[], &["`log` must be a table"]);
}

#[test]
fn the_level_is_the_consoles_unless_the_environment_has_a_filter() {
    let logs = Logs::new();
    let lines = |words: &[&str], variables: &[(&str, &str)]| {
        let words = [words, &["--rerun", "climber:0"]].concat();
        let ended = logs.run_with(&words, variables);
        assert_eq!(ended.status, 0, "{ended:?}");
        [" INFO ", "DEBUG "].map(|level| !ended.lines(level).is_empty())
    };
    assert_eq!(lines(&[], &[]), [true, false]);
    assert_eq!(lines(&["--log-level", "warn"], &[]), [false, false]);
    assert_eq!(lines(&["--log-level", "WARN"], &[("RLE_LOG", "info")]), [true, false]);
    assert_eq!(lines(&["--log-level", "warn"], &[("RUST_LOG", "info")]), [true, false]);
    assert_eq!(lines(&[], &[("RLE_LOG_LEVEL", "error")]), [false, false]);
    assert_eq!(lines(&["--log-level", "warn", "--jobs", "2"], &[]), [false, false]);
    // The slot's own log has it all the same.
    let slot_log = fs::read_to_string(logs.out("_logs/climber_0.log")).unwrap_or_default();
    assert!(!slot_log.contains("DEBUG"), "{slot_log}");
}

#[test]
fn workers_log_as_their_parent_would() {
    let logs = Logs::new();
    let words = ["--jobs", "2", "--num-runs", "3", "--log-name", "wide", "--log-backend"];
    let ended = logs.run(&[&words[..], &["tensorboard,swanlab"]].concat());
    assert_eq!(ended.status, 0, "{ended:?}");
    let root = logs.out("_logs/alps/wide");
    assert_eq!(entries(&root), ["swanlab", "tensorboard"]);
    for slot in ["climber_0", "climber_1", "climber_2"] {
        let found = curves(&root.join("tensorboard").join(slot));
        assert_eq!(steps(&found, "height"), (0..10).collect::<Vec<_>>(), "{slot}");
        assert_eq!(logs.record(slot)["metrics"]["height"], 9.0);
    }
    assert_eq!(entries(&root.join("swanlab")).len(), 3);
}
