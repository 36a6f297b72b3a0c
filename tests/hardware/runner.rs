//! When the runner asks for hardware, and for whom.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::gpus::{A16, A100, library};

const WARNING: &str = "the GPUs are not described";

/// The program `lab` with a stand-in for the GPUs' driver, in a directory of its own.
struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_lab"))
            .args(words)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LD_LIBRARY_PATH", library("whole"))
            .env("LAB_TRACE", self.dir.path().join("trace"))
            .envs(variables.iter().copied())
            .output()
            .expect("the program can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn warnings(&self, words: &[&str], variables: &[(&str, &str)]) -> usize {
        String::from_utf8_lossy(&self.run(words, variables).stderr).matches(WARNING).count()
    }

    fn json(&self, path: &str) -> Value {
        let path = Path::new("out").join(path);
        let bytes = std::fs::read(self.dir.path().join(path)).expect("a file");
        serde_json::from_slice(&bytes).expect("a file of JSON")
    }
}

#[test]
fn a_driver_is_asked_when_a_run_begins_and_then_once() {
    let lab = Lab::new();
    let broken = [("FAKE_GPUS", A16), ("FAKE_FAILS", "nvmlInit_v2")];
    for words in [&["--help"][..], &["list"], &["--dry-run"]] {
        assert_eq!(lab.warnings(words, &broken), 0, "{words:?}");
    }
    // Two algorithms with two runs each, and none of them fails.
    assert_eq!(lab.warnings(&["--num-runs", "2"], &broken), 1);
    assert_eq!(lab.warnings(&["--num-runs", "2"], &broken), 0);
}

#[test]
fn each_worker_describes_the_gpu_that_it_was_given() {
    let lab = Lab::new();
    let gpus = [A16, A100].join(";");
    let variables = [("FAKE_GPUS", gpus.as_str()), ("CUDA_VISIBLE_DEVICES", "GPU-a1,GPU-b1")];
    lab.run(&["--jobs", "2", "--gpus-per-run", "1"], &variables);
    let mut names: Vec<String> = ["alpha", "beta"]
        .map(|slug| {
            let id = lab.json(&format!("runs/{slug}_0.json"))["hardware_id"].clone();
            let described = lab.json(&format!("{slug}/timings_hardware.json"));
            let gpus = described["hardware"][id.as_str().expect("an id")]["gpus"].clone();
            assert_eq!(gpus.as_array().map(Vec::len), Some(1), "{described}");
            gpus[0]["name"].as_str().expect("a name").to_owned()
        })
        .into();
    names.sort();
    assert_eq!(names, ["NVIDIA A100-SXM4-40GB", "NVIDIA A16"]);
}
