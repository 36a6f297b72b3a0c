//! The event files are read by TensorBoard itself.

use std::path::{Path, PathBuf};

use rle::metrics::{Backend, RunLogger, RunOutcome};
use serde_json::{Value as Json, json};

use crate::support::{log_steps, options, python, resumed, run, script};

const ODD_TAGS: [&str; 6] =
    ["train/loss", "with spaces", "a:b", "/edge/", "emoji 🎉 été", "line\nbreak"];

fn slot_dir(log_dir: &Path, slot: &str) -> PathBuf {
    log_dir.join("pursuit/first/tensorboard").join(slot)
}

fn scalars(python: &Path, directory: &Path) -> Json {
    script(python, "read_events.py", [directory])[directory.to_str().unwrap()].take()
}

fn steps_and_values(scalars: &Json, tag: &str) -> Vec<(i64, String)> {
    let points = scalars[tag].as_array().unwrap_or_else(|| panic!("no tag {tag}"));
    points
        .iter()
        .map(|point| (point[0].as_i64().unwrap(), point[2].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn odd_tags_steps_and_values_are_read_back() {
    let Some(python) = python("tensorboard") else { return };
    let dir = tempfile::tempdir().unwrap();
    let run = run("ippo", 0);
    let logger = RunLogger::start(&options(dir.path(), Backend::TensorBoard), &run);
    let sink = logger.sink();
    let long = "x".repeat(1_000);
    for tag in ODD_TAGS.iter().chain([&long.as_str(), &""]) {
        sink.log(tag, 1.5, 7);
    }
    for (value, step) in [
        (f64::NAN, 0),
        (f64::INFINITY, 1),
        (f64::NEG_INFINITY, 1 << 24),
        (0.1, (1 << 24) + 1),
        (1e300, 1 << 52),
        (-2.0, 3),
        (-3.0, 3),
        (-4.0, -5),
    ] {
        sink.log("value", value, step);
    }
    for tag in 0..10_000 {
        sink.log(&format!("many/{tag}"), f64::from(tag), 1);
    }
    let report = logger.finish(RunOutcome::Complete);
    assert_eq!((report.refused, report.lost()), (1, 1));

    let scalars = scalars(&python, &slot_dir(dir.path(), "ippo_0"));
    assert_eq!(scalars.as_object().unwrap().len(), ODD_TAGS.len() + 1 + 1 + 10_000);
    for tag in ODD_TAGS.iter().chain([&long.as_str()]) {
        assert_eq!(steps_and_values(&scalars, tag), [(7, "1.5".to_owned())], "{tag}");
    }
    let expected = [
        (0, "nan"),
        (1, "inf"),
        (1 << 24, "-inf"),
        ((1 << 24) + 1, "0.10000000149011612"),
        (1 << 52, "inf"),
        (3, "-2.0"),
        (3, "-3.0"),
        (-5, "-4.0"),
    ];
    let found = steps_and_values(&scalars, "value");
    let found: Vec<_> = found.iter().map(|(step, value)| (*step, value.as_str())).collect();
    assert_eq!(found, expected);
    assert_eq!(steps_and_values(&scalars, "many/9999"), [(1, "9999.0".to_owned())]);
}

#[test]
fn a_resumed_run_continues_its_curve_without_doubled_or_missing_steps() {
    let Some(python) = python("tensorboard") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (options, run) = (options(dir.path(), Backend::TensorBoard), run("ippo", 0));
    let read = || {
        let scalars = scalars(&python, &slot_dir(dir.path(), "ippo_0"));
        steps_and_values(&scalars, "loss")
    };
    let expected = |ranges: &[(f64, std::ops::Range<i32>)]| -> Vec<(i64, String)> {
        let points = ranges.iter().flat_map(|(attempt, steps)| {
            steps.clone().map(move |step| (step, attempt + f64::from(step)))
        });
        points.map(|(step, value)| (step.into(), format!("{value:?}"))).collect()
    };
    log_steps(&options, &run, 0.0, 0..150, None);
    log_steps(&options, &resumed(&run, 100), 1_000.0, 101..130, Some(RunOutcome::Interrupted));
    assert_eq!(read(), expected(&[(0.0, 0..101), (1_000.0, 101..130)]));
    // One that does the checkpoint's step again, and one that has nothing more to do.
    log_steps(&options, &resumed(&run, 120), 2_000.0, 120..140, None);
    log_steps(&options, &resumed(&run, 135), 3_000.0, 0..0, Some(RunOutcome::Complete));
    assert_eq!(read(), expected(&[(0.0, 0..101), (1_000.0, 101..120), (2_000.0, 120..136)]));
    // From the start: nothing of before is shown, and nothing is deleted.
    log_steps(&options, &run, 5_000.0, 0..3, Some(RunOutcome::Complete));
    assert_eq!(read(), expected(&[(5_000.0, 0..3)]));
    let kept = std::fs::read_dir(slot_dir(dir.path(), "ippo_0")).unwrap().count();
    assert_eq!(kept, 5);
}

#[test]
fn the_server_shows_every_run_point_and_hyperparameter() {
    let Some(python) = python("tensorboard") else { return };
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), Backend::TensorBoard);
    let mut other = run("mappo", 0);
    other.config.insert("clip", 0.25);
    other.config.insert("lr", 0.5);
    log_steps(&options, &run("ippo", 0), 0.0, 0..50, Some(RunOutcome::Complete));
    // Failed first: the end of the resumed run is what counts.
    let failed = RunOutcome::Failed("no luck".to_owned());
    log_steps(&options, &run("ippo", 1), 0.0, 0..2_000, Some(failed));
    log_steps(
        &options,
        &resumed(&run("ippo", 1), 999),
        1.0,
        1_000..1_500,
        Some(RunOutcome::Complete),
    );
    log_steps(&options, &other, 0.0, 0..10, Some(RunOutcome::Failed("no luck".to_owned())));

    let root = dir.path().join("pursuit/first/tensorboard");
    let shown = script(&python, "tensorboard_http.py", [root.to_str().unwrap(), "3"]);
    let loss = shown["scalars"]["ippo_1"]["loss"].as_array().unwrap();
    assert_eq!(loss.len(), 1_500);
    for (step, point) in loss.iter().enumerate() {
        let expected = if step < 1_000 { step } else { step + 1 };
        assert_eq!((&point[1], &point[2]), (&json!(step), &json!(expected as f64)));
    }
    assert_eq!(shown["scalars"]["mappo_0"]["loss"].as_array().unwrap().len(), 10);

    let infos = shown["experiment"]["hparamInfos"].as_array().unwrap();
    let mut names: Vec<_> = infos.iter().map(|info| info["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["clip", "lr", "net.act", "net.bias", "net.layers", "seed"]);
    let groups = shown["groups"]["sessionGroups"].as_array().unwrap();
    let group = |name: &str| {
        groups.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("{groups:?}"))
    };
    assert_eq!(group("IPPO")["hparams"]["lr"], 0.0003);
    assert_eq!(group("IPPO")["hparams"]["net.layers"], "[64,64]");
    assert_eq!(group("IPPO")["hparams"]["net.bias"], true);
    assert_eq!(group("MAPPO")["hparams"]["clip"], 0.25);
    let statuses = |name: &str| -> Vec<Json> {
        let sessions = group(name)["sessions"].as_array().unwrap();
        sessions.iter().map(|session| session["status"].clone()).collect()
    };
    assert_eq!(statuses("IPPO"), ["STATUS_SUCCESS", "STATUS_SUCCESS"]);
    assert_eq!(statuses("MAPPO"), ["STATUS_FAILURE"]);
}
