//! What a suite logs, a kill and a resume in between, arrives in every vendor's own program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::{Server, python, script};
use crate::{swanlab, wandb};

/// Starts the program of the logging tests with all three backends.
fn start(root: &Path, dies_at: &str) -> bool {
    let output = Command::new(env!("CARGO_BIN_EXE_logs"))
        .args(["--num-runs=2", "--checkpoint-enabled", "--export-dir=out"])
        .args(["--log-backend=tensorboard,wandb,swanlab", "--log-tags=night"])
        .current_dir(root.join("work"))
        .env("LOGS_DIE", dies_at)
        .output()
        .unwrap();
    output.status.success()
}

/// The directories of a backend's runs.
fn runs(root: &Path, backend: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("work/out/_logs/alps/out").join(backend)).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_suite_that_was_killed_and_resumed_arrives_whole_everywhere() {
    let packages = ["tensorboard", "wandb", "swanlab"].map(python);
    let [Some(python), Some(_), Some(_)] = packages else { return };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::create_dir_all(root.join("source/src")).unwrap();
    fs::write(root.join("source/Cargo.toml"), "[workspace]\n").unwrap();
    fs::create_dir(root.join("work")).unwrap();
    assert!(!start(root, "6"), "the first run dies after its step 6");
    assert!(start(root, ""), "the second start completes both");
    let all: Vec<i64> = (0..10).collect();

    let logs = root.join("work/out/_logs/alps/out/tensorboard");
    let shown = script(&python, "tensorboard_http.py", [logs.to_str().unwrap(), "2"]);
    for slot in ["climber_0", "climber_1"] {
        for tag in ["height", "from/below", "time_profile/climb"] {
            let points = shown["scalars"][slot][tag].as_array().unwrap();
            let steps: Vec<i64> = points.iter().map(|point| point[1].as_i64().unwrap()).collect();
            assert_eq!(steps, all, "{slot} {tag}");
        }
    }
    let infos = shown["experiment"]["hparamInfos"].as_array().unwrap();
    assert!(infos.iter().any(|info| info["name"] == "config.save_every"), "{infos:?}");

    let directories = runs(root, "wandb");
    assert_eq!(directories.len(), 2);
    let server = Server::start(&python, wandb::SERVER);
    let ids: Vec<String> = directories
        .iter()
        .map(|directory| wandb::send_directory(&server, &python, directory, root))
        .collect();
    let told = server.told();
    for id in &ids {
        let run = &told[id];
        let upsert = &run["upserts"][0];
        assert_eq!((&upsert["project"], &upsert["groupName"]), (&json!("alps"), &json!("Climber")));
        assert!(upsert["config"].as_str().unwrap().contains("save_every"));
        let rows = wandb::rows(run);
        let heights: Vec<(i64, f64)> = rows
            .iter()
            .map(|row| ["_step", "height"].map(|key| wandb::value(row, key).unwrap()))
            .map(|[step, height]| (step.parse().unwrap(), height.parse().unwrap()))
            .collect();
        let expected: Vec<(i64, f64)> = all.iter().map(|step| (*step, *step as f64)).collect();
        assert_eq!(heights, expected, "{id}");
        assert_eq!(run["exit_code"], 0);
    }

    let directories = runs(root, "swanlab");
    assert_eq!(directories.len(), 2);
    for directory in directories {
        let requests = swanlab::send_directory(&python, &directory, root);
        assert_eq!(swanlab::one(&requests, "experiment")["cluster"], "Climber");
        let points = swanlab::points(&requests);
        let heights = points.iter().filter(|(key, ..)| key == "height");
        let mut steps: Vec<i64> = heights.map(|(_, step, _)| *step).collect();
        steps.sort_unstable();
        assert_eq!(steps, all, "{}", directory.display());
        assert_eq!(swanlab::one(&requests, "state")["state"], "FINISHED");
    }
}
