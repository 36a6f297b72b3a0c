//! The offline runs are read and sent by W&B's own tool.

use std::fs;
use std::path::{Path, PathBuf};

use rle::metrics::{Backend, LogReport, RunLogger, RunOutcome};
use serde_json::{Value as Json, json};

use crate::support::{Server, log_steps, options, python, resumed, run};

pub(crate) const SERVER: &str = "fake_wandb.py";

/// Sends the directory of a report, and returns the run's id.
fn send(server: &Server, python: &Path, report: &LogReport, home: &Path) -> String {
    send_directory(server, python, &report.backends[0].directory, home)
}

/// Sends a directory, and returns the run's id.
pub(crate) fn send_directory(
    server: &Server,
    python: &Path,
    directory: &Path,
    home: &Path,
) -> String {
    let mut command = server.tool(python, "wandb", home);
    let output = command.arg("sync").arg(directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let name = directory.file_name().unwrap().to_str().unwrap();
    name.splitn(4, '-').nth(3).unwrap().to_owned()
}

/// The rows as W&B's server keeps them: JSON with the bare words of Python.
pub(crate) fn rows(run: &Json) -> Vec<String> {
    run["history"].as_array().unwrap().iter().map(|row| row.as_str().unwrap().to_owned()).collect()
}

/// The value that a row holds under a key.
pub(crate) fn value<'a>(row: &'a str, key: &str) -> Option<&'a str> {
    let key = format!("{}:", json!(key));
    let rest = &row[row.find(&key)? + key.len()..];
    Some(rest[..rest.find([',', '}']).unwrap()].trim())
}

fn steps_and_losses(run: &Json) -> Vec<(i64, f64)> {
    let parse = |row: &String| {
        let number = |key| value(row, key).unwrap_or_else(|| panic!("{key} in {row}"));
        (number("_step").parse().unwrap(), number("loss").parse().unwrap())
    };
    rows(run).iter().map(parse).collect()
}

fn expected(ranges: &[(f64, std::ops::Range<i32>)]) -> Vec<(i64, f64)> {
    let points = ranges.iter().flat_map(|(attempt, steps)| {
        steps.clone().map(move |step| (step.into(), attempt + f64::from(step)))
    });
    points.collect()
}

fn run_directories(log_dir: &Path) -> Vec<PathBuf> {
    let root = log_dir.join("pursuit/first/wandb");
    let mut directories: Vec<_> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    directories.sort();
    directories
}

#[test]
fn a_run_arrives_with_its_config_group_rows_summary_and_exit_code() {
    let Some(python) = python("wandb") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut run = run("ippo", 1);
    run.project = "pur/suit: 100%".to_owned();
    let logger = RunLogger::start(&options(dir.path(), Backend::Wandb), &run);
    let sink = logger.sink();
    let long = "x".repeat(1_000);
    for step in 0..3_i32 {
        sink.log_many(&[("train/loss", f64::from(step)), ("a b:c 🎉", 0.1)], step.into());
        sink.log(&long, 2.5e-9, step.into());
        // The last one of a step counts.
        sink.log("train/loss", f64::from(step) + 0.5, step.into());
    }
    sink.log_many(&[("nan", f64::NAN), ("up", f64::INFINITY), ("down", f64::NEG_INFINITY)], 10);
    // Behind, and so not for W&B.
    sink.log("train/loss", 9.0, 2);
    for tag in 0..10_000 {
        sink.log(&format!("many/{tag}"), f64::from(tag), 20);
    }
    let report = logger.finish(RunOutcome::Failed("no luck".to_owned()));
    assert_eq!((report.lost(), report.backends[0].unfit), (0, 1));

    let server = Server::start(&python, SERVER);
    let id = send(&server, &python, &report, dir.path());
    assert!(id.starts_with("ippo_1-"));
    let told = server.told();
    let run = &told[&id];
    let upsert = &run["upserts"][0];
    assert_eq!(upsert["project"], "pur_suit_ 100_");
    assert_eq!(upsert["groupName"], "IPPO");
    assert_eq!(upsert["displayName"], "first-ippo_1");
    assert_eq!(upsert["tags"], json!(["test"]));
    let config: Json = serde_json::from_str(upsert["config"].as_str().unwrap()).unwrap();
    assert_eq!(config["lr"]["value"], 0.0003);
    assert_eq!(config["net"]["value"], json!({"act": "tanh", "bias": true, "layers": [64, 64]}));

    let rows = rows(run);
    assert_eq!(rows.len(), 5);
    for (step, row) in rows[..3].iter().enumerate() {
        assert_eq!(value(row, "_step"), Some(step.to_string().as_str()));
        assert_eq!(value(row, "train/loss"), Some(format!("{step}.5").as_str()));
        assert_eq!(value(row, "a b:c 🎉"), Some("0.1"));
        assert_eq!(value(row, &long).unwrap().parse(), Ok(2.5e-9));
    }
    assert_eq!(value(&rows[3], "_step"), Some("10"));
    let bare = ["nan", "up", "down"].map(|key| value(&rows[3], key).unwrap());
    assert_eq!(bare, ["NaN", "Infinity", "-Infinity"]);
    assert_eq!(value(&rows[4], "many/9999").unwrap().parse(), Ok(9_999.0));
    let summary = run["summary"].as_str().unwrap();
    assert_eq!(value(summary, "train/loss"), Some("2.5"));
    assert_eq!(value(summary, "many/17").unwrap().parse(), Ok(17.0));
    assert_eq!(value(summary, "nan"), value(&rows[3], "nan"));
    assert_eq!(value(summary, "_step"), Some("20"));
    assert_eq!(run["exit_code"], 1);
}

#[test]
fn a_run_that_was_not_sent_goes_on_in_its_own_file() {
    let Some(python) = python("wandb") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (options, run) = (options(dir.path(), Backend::Wandb), run("ippo", 0));
    log_steps(&options, &run, 0.0, 0..150, None);
    log_steps(&options, &resumed(&run, 100), 1e3, 101..130, Some(RunOutcome::Interrupted));
    let report =
        log_steps(&options, &resumed(&run, 120), 2e3, 120..140, Some(RunOutcome::Complete));
    assert_eq!(run_directories(dir.path()).len(), 1);
    let server = Server::start(&python, SERVER);
    let id = send(&server, &python, &report, dir.path());
    let told = server.told();
    let told = &told[&id];
    let curve = expected(&[(0.0, 0..101), (1e3, 101..120), (2e3, 120..140)]);
    assert_eq!(steps_and_losses(told), curve);
    let loss = value(told["summary"].as_str().unwrap(), "loss");
    assert_eq!(loss.unwrap().parse(), Ok(2_139.0));
    assert_eq!(told["exit_code"], 0);
    // Of the two that were gone back behind.
    let directory = &report.backends[0].directory;
    let aside = fs::read_dir(directory)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().to_str().unwrap().contains(".superseded-"));
    assert_eq!(aside.count(), 2);
}

#[test]
fn a_run_that_was_sent_goes_on_after_the_steps_that_the_server_has() {
    let Some(python) = python("wandb") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (options, run) = (options(dir.path(), Backend::Wandb), run("ippo", 0));
    let server = Server::start(&python, SERVER);
    let first = log_steps(&options, &run, 0.0, 0..150, Some(RunOutcome::Interrupted));
    let id = send(&server, &python, &first, dir.path());
    log_steps(&options, &resumed(&run, 100), 1e3, 101..200, None);
    let report =
        log_steps(&options, &resumed(&run, 180), 2e3, 181..220, Some(RunOutcome::Complete));
    assert_eq!(run_directories(dir.path()).len(), 2);
    assert_eq!(send(&server, &python, &report, dir.path()), id);
    let told = server.told();
    let curve = expected(&[(0.0, 0..150), (1e3, 150..181), (2e3, 181..220)]);
    assert_eq!(steps_and_losses(&told[&id]), curve);
    assert_eq!(told[&id]["exit_code"], 0);
}

#[test]
fn a_run_from_the_start_sets_aside_what_was_not_sent() {
    let Some(python) = python("wandb") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (options, run) = (options(dir.path(), Backend::Wandb), run("ippo", 0));
    log_steps(&options, &run, 0.0, 0..9, None);
    let report = log_steps(&options, &run, 1e3, 0..5, Some(RunOutcome::Complete));
    assert_eq!(run_directories(dir.path()).len(), 2);
    let server = Server::start(&python, SERVER);
    // All that lies there, as a user would send it.
    let root = dir.path().join("pursuit/first/wandb");
    let mut command = server.tool(&python, "wandb", dir.path());
    let output = command.arg("sync").arg(root).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = server.told();
    assert_eq!(told.as_object().unwrap().len(), 1, "{told}");
    let id = report.backends[0].directory.to_str().unwrap().rsplit("ippo_0-").next().unwrap();
    assert_eq!(steps_and_losses(&told[&format!("ippo_0-{id}")]), expected(&[(1e3, 0..5)]));
}
