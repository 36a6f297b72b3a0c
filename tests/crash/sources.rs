//! Code is known by its contents: what is committed, or written elsewhere, repeats nothing.

use std::fs;
use std::process::Command;

use crate::steps::Bench;

/// One slot each of two algorithms, below the sources.
const ASKED: [&str; 6] =
    ["--algorithms", "alpha,gamma", "--num-runs", "1", "--export-dir", "source/results"];

fn write(bench: &Bench, name: &str, text: &str) {
    let path = bench.path("source").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(bench: &Bench, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=tester", "-c", "user.email=tester@example.invalid"])
        .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(bench.path("source"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn commit_all(bench: &Bench) {
    git(bench, &["add", "Cargo.toml", "src", "README.md"]);
    git(bench, &["commit", "--quiet", "-m", "a state of the sources"]);
}

/// A package in a repository, computed once.
fn computed() -> Bench {
    let bench = Bench::new();
    write(&bench, "src/ppo.rs", "pub fn step() {}\n");
    write(&bench, "src/lib.rs", "pub mod ppo;\n");
    write(&bench, "README.md", "A package.\n");
    git(&bench, &["init", "--quiet"]);
    commit_all(&bench);
    let first = bench.run(&ASKED);
    first.assert_status(0);
    assert_eq!(first.begun(), ["groundwork", "alpha-0", "gamma-0"]);
    bench
}

fn assert_reused(bench: &Bench) {
    let status = bench.status(&ASKED);
    assert!(status.iter().all(|(_, action, _)| action == "reuse"), "{status:?}");
    let ended = bench.run(&ASKED);
    ended.assert_status(0);
    assert!(ended.begun().is_empty(), "{}", ended.said);
}

fn provenance(bench: &Bench) -> serde_json::Value {
    let record = fs::read(bench.path("source/results/runs/gamma_0.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    record["provenance"]["source"].clone()
}

#[test]
fn results_written_among_the_sources_change_nothing() {
    let bench = computed();
    assert_eq!(provenance(&bench)["vcs"], "git");
    assert_eq!(provenance(&bench)["dirty"], false);
    write(&bench, "results/gamma/generated.rs", "fn not_a_source() {}\n");
    assert_reused(&bench);
    let again = bench.run(&[&ASKED[..], &["--rerun", "gamma:0"]].concat());
    again.assert_status(0);
    assert_eq!(provenance(&bench)["dirty"], false, "results do not make the tree dirty");
}

#[test]
fn changed_sources_are_named_and_computed_again() {
    let bench = computed();
    write(&bench, "src/ppo.rs", "pub fn step() { /* another */ }\n");
    write(&bench, "src/new.rs", "\n");
    for (slot, action, reasons) in bench.status(&ASKED) {
        assert_eq!(action, "run", "{slot}");
        let named = "src/new.rs added, src/ppo.rs changed";
        assert_eq!(reasons, format!("provenance.source.tree_sha256: {named}"));
    }
    let ended = bench.run(&ASKED);
    ended.assert_status(0);
    assert_eq!(ended.begun(), ["groundwork", "alpha-0", "gamma-0"]);
    assert!(ended.said.contains("src/ppo.rs changed"), "{}", ended.said);
    assert_eq!(provenance(&bench)["dirty"], true);
    fs::remove_file(bench.path("source/src/new.rs")).unwrap();
    assert_eq!(bench.status(&ASKED)[0].2, "provenance.source.tree_sha256: src/new.rs removed");
}

#[test]
fn committing_what_was_run_repeats_nothing() {
    let bench = computed();
    write(&bench, "src/ppo.rs", "pub fn step() { /* another */ }\n");
    bench.run(&ASKED).assert_status(0);
    commit_all(&bench);
    assert_reused(&bench);
}

#[test]
fn a_commit_of_documents_repeats_nothing() {
    let bench = computed();
    write(&bench, "README.md", "A package with a text.\n");
    commit_all(&bench);
    assert_reused(&bench);
}

#[test]
fn sources_without_a_repository_serve_as_well() {
    let bench = Bench::new();
    write(&bench, "src/lib.rs", "\n");
    bench.run(&ASKED).assert_status(0);
    let source = provenance(&bench);
    assert!(source["vcs"].is_null() && source["revision"].is_null(), "{source}");
    assert!(source["tree_sha256"].is_string() && source["reason"].is_string(), "{source}");
    assert_reused(&bench);
    write(&bench, "src/lib.rs", "fn more() {}\n");
    let status = bench.status(&ASKED);
    assert_eq!(status[1].2, "provenance.source.tree_sha256: src/lib.rs changed");
}
