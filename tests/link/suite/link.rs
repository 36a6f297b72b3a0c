//! Algorithms that other crates register.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A program of this package; `cargo test` builds its examples beside the tests.
fn program(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().unwrap().with_file_name("examples").join(name)
}

fn run(program: &Path, directory: &Path, arguments: &[&str]) -> Ended {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn json(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Runs what cannot start, and checks that it has touched nothing.
fn refused(program: &Path, arguments: &[&str]) -> String {
    let directory = TempDir::new().unwrap();
    let ended = run(program, directory.path(), arguments);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "something was created");
    ended.stderr
}

/// The metric of a record, and the stages that were timed for its algorithm.
fn found(export: &Path, record: &str, metric: &str) -> (Option<f64>, Vec<String>) {
    let slug = record.split('_').next().unwrap();
    let value = &json(export.join("runs").join(format!("{record}.json")))["metrics"][metric];
    let timings = json(export.join(slug).join("timings.json"));
    (value.as_f64(), timings.as_object().unwrap().keys().cloned().collect())
}

#[test]
fn algorithms_of_two_libraries_run_without_being_named() {
    let directory = TempDir::new().unwrap();
    let program = &program("link-both");
    let ended = run(program, directory.path(), &["run", "--num-runs", "2"]);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let export = directory.path().join("export");
    let stages = |words: [&str; 2]| words.map(ToOwned::to_owned).to_vec();
    assert_eq!(found(&export, "alpha_1", "steps"), (Some(2.0), stages(["alpha_run", "train"])));
    assert_eq!(found(&export, "beta_0", "product"), (Some(2.0), stages(["beta_run", "learn"])));
}

#[test]
fn a_program_times_the_stages_of_a_library() {
    let directory = TempDir::new().unwrap();
    let program = &program("link-stages");
    let ended = run(program, directory.path(), &[]);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let (steps, stages) = found(&directory.path().join("export"), "local_0", "steps");
    assert_eq!(steps, Some(2.0));
    assert_eq!(stages, ["local_run", "rollout"]);
}

#[test]
fn the_list_is_in_the_order_of_the_sources() {
    let directory = TempDir::new().unwrap();
    for (program, names) in
        [(program("link-both"), ["Alpha", "Beta"]), (program("link-stages"), ["Alpha", "Local"])]
    {
        let listed = run(&program, directory.path(), &["list"]).stdout;
        let places = names.map(|name| listed.find(name).expect(name));
        assert!(places.is_sorted(), "{listed}");
        assert!(listed.contains("rollout") && listed.contains("train"), "{listed}");
    }
}

#[test]
fn a_program_that_uses_no_library_is_told_what_to_do() {
    let program = &program("link-forgotten");
    for arguments in [&[][..], &["--dry-run"], &["status"]] {
        let said = refused(program, arguments);
        assert!(said.contains("this program has no algorithm"), "{said}");
        assert!(said.contains("use that_crate as _;"), "{said}");
    }
}

fn assert_clash(program: &Path) {
    for arguments in [&[][..], &["list"], &["status"], &["--algorithms", "alpha"]] {
        let said = refused(program, arguments);
        assert!(said.contains("the same slug `alpha`"), "{said}");
        for place in ["tests/link/alpha/lib.rs:8", "tests/link/twin/lib.rs:6"] {
            assert!(said.contains(place), "{said}");
        }
    }
}

#[test]
fn one_slug_in_two_libraries_stops_every_command() {
    assert_clash(&program("link-clash"));
}

/// A release build has no debug assertions; without its optimisation it is quicker built.
#[test]
fn one_slug_in_two_libraries_is_found_without_debug_assertions_too() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "link-suite",
            "--example",
            "link-clash",
        ])
        .args(["--config", "profile.dev.debug-assertions=false"])
        .args(["--config", "profile.dev.opt-level=0", "--config", "profile.dev.debug=0"])
        .args(["--config", "profile.dev.package.'*'.opt-level=0"])
        .args(["--config", "profile.dev.incremental=false"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("the cargo that runs this test can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_clash(&target.join("debug/examples/link-clash"));
}
