//! Code is known by its contents: what is committed, or written elsewhere, repeats nothing.

use std::fs;
use std::path::Path;
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
    git_in(&bench.path("source"), arguments);
}

fn git_in(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=tester", "-c", "user.email=tester@example.invalid"])
        .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
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

/// Computes once, and a second start reuses it all; gives what the record knows of the sources.
fn runs_and_is_reused(bench: &Bench) -> serde_json::Value {
    bench.run(&ASKED).assert_status(0);
    assert_reused(bench);
    let source = provenance(bench);
    assert!(source["tree_sha256"].is_string(), "{source}");
    source
}

fn reason(source: &serde_json::Value) -> &str {
    source["reason"].as_str().unwrap_or_default()
}

/// A repository beside the sources, with one commit.
fn upstream(bench: &Bench) -> std::path::PathBuf {
    let upstream = bench.path("upstream");
    fs::create_dir_all(upstream.join("src")).unwrap();
    fs::write(upstream.join("Cargo.toml"), "[workspace]\n").unwrap();
    fs::write(upstream.join("src/lib.rs"), "pub fn step() {}\n").unwrap();
    git_in(&upstream, &["init", "--quiet"]);
    for more in [false, true] {
        fs::write(upstream.join("src/more.rs"), format!("// {more}\n")).unwrap();
        git_in(&upstream, &["add", "."]);
        git_in(&upstream, &["commit", "--quiet", "-m", "a state of the sources"]);
    }
    upstream
}

#[test]
fn a_repository_without_a_commit_runs() {
    let bench = Bench::new();
    write(&bench, "src/lib.rs", "\n");
    git(&bench, &["init", "--quiet"]);
    let source = runs_and_is_reused(&bench);
    assert!(source["revision"].is_null() && !reason(&source).is_empty(), "{source}");
}

#[test]
fn a_detached_head_runs() {
    let bench = computed();
    git(&bench, &["checkout", "--quiet", "--detach"]);
    let source = runs_and_is_reused(&bench);
    assert!(source["revision"].is_string(), "{source}");
}

#[test]
fn a_shallow_clone_a_worktree_and_a_submodule_run() {
    let shallow = Bench::new();
    let url = format!("file://{}", upstream(&shallow).display());
    fs::remove_dir_all(shallow.path("source")).unwrap();
    git_in(&shallow.path("outside"), &["clone", "--quiet", "--depth", "1", &url, "../source"]);
    assert!(runs_and_is_reused(&shallow)["revision"].is_string());

    let linked = Bench::new();
    let main = upstream(&linked);
    fs::remove_dir_all(linked.path("source")).unwrap();
    git_in(&main, &["worktree", "add", "--quiet", "../source"]);
    assert!(runs_and_is_reused(&linked)["revision"].is_string());

    let nested = computed();
    let url = format!("file://{}", upstream(&nested).display());
    let allow = "protocol.file.allow=always";
    git(&nested, &["-c", allow, "submodule", "--quiet", "add", &url, "vendor"]);
    git(&nested, &["commit", "--quiet", "-m", "a module of another repository"]);
    assert!(runs_and_is_reused(&nested)["revision"].is_string());
    write(&nested, "vendor/src/lib.rs", "pub fn step() { /* another */ }\n");
    let status = nested.status(&ASKED);
    assert_eq!(status[1].2, "provenance.source.tree_sha256: vendor/src/lib.rs changed");
}

#[test]
fn refused_ownership_and_a_missing_git_run() {
    let bench = computed();
    bench.set("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    bench.set("GIT_CONFIG_GLOBAL", "/dev/null");
    bench.set("GIT_CONFIG_SYSTEM", "/dev/null");
    assert_reused(&bench);
    let again = [&ASKED[..], &["--rerun", "gamma:0"]].concat();
    bench.run(&again).assert_status(0);
    let source = provenance(&bench);
    assert!(source["revision"].is_null() && !reason(&source).is_empty(), "{source}");

    let bench = computed();
    bench.set("PATH", "/nowhere");
    assert_reused(&bench);
    bench.run(&again).assert_status(0);
    let source = provenance(&bench);
    assert!(source["revision"].is_null() && reason(&source).contains("git"), "{source}");
}
