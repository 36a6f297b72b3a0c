//! The offline runs are sent by SwanLab's own tool.

use std::fs;
use std::path::Path;

use rle::metrics::{Backend, LogReport, RunLogger, RunOutcome};
use serde_json::{Value as Json, json};

use crate::support::{Server, log_steps, options, python, resumed, run};

const SERVER: &str = "fake_swanlab.py";

/// Sends the directory of a report: all requests that the server got, by their path's last part.
fn send(python: &Path, report: &LogReport, home: &Path) -> Vec<(String, Json)> {
    send_directory(python, &report.backends[0].directory, home)
}

pub(crate) fn send_directory(python: &Path, directory: &Path, home: &Path) -> Vec<(String, Json)> {
    let server = Server::start(python, SERVER);
    let id = directory.file_name().unwrap().to_str().unwrap().rsplit('-').next().unwrap();
    let mut command = server.tool(python, "swanlab", home);
    let output = command.args(["sync", "--id", id]).arg(directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = server.told();
    let requests = told.as_array().unwrap().iter().map(|request| {
        let path = request["path"].as_str().unwrap();
        let body = request["body"].as_str().unwrap();
        let body = serde_json::from_str(body).unwrap_or_default();
        (path.rsplit('/').next().unwrap().to_owned(), body)
    });
    requests.collect()
}

/// The only request of that kind.
pub(crate) fn one<'a>(requests: &'a [(String, Json)], path: &str) -> &'a Json {
    let mut matching = requests.iter().filter(|(last, _)| last == path);
    let (_, body) = matching.next().unwrap_or_else(|| panic!("no {path} in {requests:?}"));
    assert!(matching.next().is_none(), "several {path}");
    body
}

/// All points: key, step and value as JSON.
pub(crate) fn points(requests: &[(String, Json)]) -> Vec<(String, i64, Json)> {
    let scalars =
        requests.iter().filter(|(path, body)| path == "metrics" && body["type"] == "scalar");
    let points = scalars.flat_map(|(_, body)| body["metrics"].as_array().unwrap());
    let point = |point: &Json| {
        let key = point["key"].as_str().unwrap().to_owned();
        (key, point["index"].as_i64().unwrap(), point["data"].clone())
    };
    points.map(point).collect()
}

#[test]
fn a_run_arrives_with_its_config_group_points_and_state() {
    let Some(python) = python("swanlab") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut run = run("ippo", 1);
    run.project = "pursuit 100%".to_owned();
    run.config.insert("tiny", 1e-7);
    run.config.insert("\"odd\": key\n", "text: \"with\"\nlines");
    let logger = RunLogger::start(&options(dir.path(), Backend::Swanlab), &run);
    let sink = logger.sink();
    let long = "x".repeat(1_000);
    for step in [0, 1, 5, 3, 5] {
        sink.log("train/loss", 0.5, step);
    }
    sink.log_many(&[("a b:c 🎉", 0.1), ("/edge/", 0.2), ("edge", 0.3), (&long, 0.4)], 0);
    sink.log_many(&[("nan", f64::NAN), ("up", f64::INFINITY)], 2);
    sink.log("train/loss", 0.5, -1);
    for tag in 0..10_000 {
        sink.log(&format!("many/{tag}"), f64::from(tag), 1);
    }
    let report = logger.finish(RunOutcome::Failed("no luck".to_owned()));
    assert_eq!((report.lost(), report.backends[0].unfit), (0, 1));
    // The directory is copied to where it can be sent from.
    let original = &report.backends[0].directory;
    let moved = original.with_file_name(format!("run-moved-{}", id_of(original)));
    fs::rename(original, &moved).unwrap();
    let mut report = report;
    report.backends[0].directory = moved;

    let requests = send(&python, &report, dir.path());
    let experiment = one(&requests, "experiment");
    assert_eq!(experiment["name"], "first-ippo_1");
    assert_eq!(experiment["cluster"], "IPPO");
    assert_eq!(experiment["labels"], json!([{"name": "test"}]));
    assert!(requests.iter().any(|(path, _)| path == "pursuit_100_"), "{requests:?}");
    let config = &one(&requests, "profile")["config"];
    assert_eq!(config["lr"]["value"], 0.0003);
    assert_eq!(config["tiny"]["value"], 1e-7);
    assert_eq!(config["net"]["value"], json!({"act": "tanh", "bias": true, "layers": [64, 64]}));
    assert_eq!(config["\"odd\": key\n"]["value"], "text: \"with\"\nlines");
    assert_eq!(one(&requests, "state")["state"], "CRASHED");
    assert!(requests.iter().any(|(_, body)| body["metrics"][0]["message"] == "no luck"));

    let points = points(&requests);
    let of = |wanted: &str| -> Vec<(i64, Json)> {
        let matching = points.iter().filter(|(key, ..)| key == wanted);
        matching.map(|(_, step, value)| (*step, value.clone())).collect()
    };
    // The vendor's tool sends the first point of a step.
    assert_eq!(of("train/loss"), [0, 1, 5, 3].map(|step| (step, json!(0.5))));
    assert_eq!(of("a b:c 🎉"), [(0, json!(0.1))]);
    assert_eq!(of("edge"), [(0, json!(0.3))]);
    assert_eq!(of("nan"), [(2, json!("nan"))]);
    assert_eq!(of("many/9999"), [(1, json!(9_999.0))]);
    let changed = |start: &str| points.iter().any(|(key, ..)| key.starts_with(start));
    assert!(changed("edge-") && changed("xxxxx"));
    assert!(points.iter().all(|(key, ..)| key.chars().count() <= 512));
}

fn id_of(directory: &Path) -> &str {
    directory.file_name().unwrap().to_str().unwrap().rsplit('-').next().unwrap()
}

#[test]
fn a_resumed_run_goes_on_in_its_own_file() {
    let Some(python) = python("swanlab") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (options, run) = (options(dir.path(), Backend::Swanlab), run("ippo", 0));
    log_steps(&options, &run, 0.0, 0..9, Some(RunOutcome::Complete));
    log_steps(&options, &run, 0.0, 0..150, None);
    log_steps(&options, &resumed(&run, 100), 1e3, 101..130, Some(RunOutcome::Interrupted));
    let report =
        log_steps(&options, &resumed(&run, 120), 2e3, 120..140, Some(RunOutcome::Complete));
    let root = dir.path().join("pursuit/first/swanlab");
    // The one that was set aside when the run began anew, and this one.
    assert_eq!(fs::read_dir(root).unwrap().count(), 2);
    let requests = send(&python, &report, dir.path());
    let found: Vec<_> =
        points(&requests).into_iter().map(|(_, step, value)| (step, value)).collect();
    let value = |step: i32| {
        let attempt = match step {
            ..101 => 0.0,
            101..120 => 1e3,
            _ => 2e3,
        };
        (i64::from(step), json!(attempt + f64::from(step)))
    };
    assert_eq!(found, (0..140).map(value).collect::<Vec<_>>());
    assert_eq!(one(&requests, "state")["state"], "FINISHED");
    assert_eq!(one(&requests, "columns").as_array().unwrap().len(), 1);
}
