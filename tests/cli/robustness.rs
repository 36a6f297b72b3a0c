//! Odd places, odd environments, closed streams.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::support::{Ended, Lab, names, text};

#[test]
fn export_directories_of_any_name() {
    let lab = Lab::new();
    let long = format!("{}/{}", "x".repeat(255), "y".repeat(255));
    for name in
        ["my results", "it's \"quoted\"", "日本 ü", "line\nbreak", "-dash", "a=b", "$HOME;*", &long]
    {
        let option = format!("--export-dir={name}");
        lab.run(&["--algorithms", "alpha", &option]).ok();
        let directory = lab.work().join(name);
        assert!(directory.join("runs/alpha_0.json").is_file(), "{name:?}");
        let ended = lab.run(&["--algorithms", "alpha", &option, "--format", "json"]).ok();
        assert_eq!(ended.json()["slots"][0]["outcome"], "reused", "{name:?}");
        assert_eq!(rle::load_records(&directory).unwrap().len(), 1, "{name:?}");
        assert!(lab.run(&["status", &option]).ok().stdout.contains("1 reused, 1 to run"));
    }
    let two_words = ["--algorithms", "alpha", "--export-dir", "my results"];
    assert!(lab.run(&two_words).ok().stdout.contains("1 reused"));
}

#[test]
fn words_that_are_no_text_are_refused() {
    let lab = Lab::new();
    let before = lab.tree();
    let odd = OsStr::from_bytes(b"--export-dir=\xff");
    let ended = Ended::of(lab.command([odd]).output().unwrap());
    ended.refused(&["not valid UTF-8"]);
    assert!(lab.tree() == before);
    let mut command = lab.command(["status"]);
    command.env("RLE_NUM_RUNS", OsStr::from_bytes(b"\xff"));
    Ended::of(command.output().unwrap()).refused(&["RLE_NUM_RUNS", "not valid UTF-8"]);
    assert!(lab.tree() == before);
    // Variables of others are none of our business.
    let mut command = lab.command(["status"]);
    command.env("OTHER", OsStr::from_bytes(b"\xff"));
    Ended::of(command.output().unwrap()).ok();
}

#[test]
fn a_label_of_any_kind_stays_out_of_file_names() {
    let lab = Lab::new();
    let ended = lab.run(&["--algorithms", "Beta w/ \"β\", v2"]).ok();
    assert!(ended.stderr.contains("Beta w/ \"β\", v2 run 0 started"), "{}", ended.stderr);
    assert_eq!(names(lab.out("")), ["_logs", "beta", "runs"]);
    assert_eq!(text(&lab.record("beta_0")["algorithm"]["name"]), "Beta w/ \"β\", v2");
}

#[test]
fn another_language_of_the_user_changes_nothing() {
    let lab = Lab::new();
    let turkish = [("LC_ALL", "tr_TR.UTF-8"), ("LANG", "de_DE.UTF-8"), ("TZ", "Asia/Kathmandu")];
    lab.run_with(&["--run-beta", "FALSE", "--set", "env_config.wind=1.5"], &turkish).ok();
    assert!(text(&lab.record("alpha_0")["started_at"]).ends_with('Z'));
    let plain = lab.run(&["status", "run_beta=false", "--set", "env_config.wind=1.5"]).ok();
    assert!(plain.stdout.contains("1 reused, 0 to run"), "{}", plain.stdout);
    lab.refuses_with(&["--run-beta", "İ"], &turkish, &["`İ` is not a boolean"]);
}

#[test]
fn a_bare_environment_is_enough() {
    let lab = Lab::new();
    let source = lab.root().join("source");
    let mut command = lab.command(["--algorithms", "alpha"]);
    Ended::of(command.env_clear().env("LAB_SOURCE", &source).output().unwrap()).ok();
    assert_eq!(lab.record("alpha_0")["status"], "complete");
    // Neither is git, nor a source tree: the executable is the identity then.
    let bare = lab.root().join("bare");
    fs::create_dir(&bare).unwrap();
    let words = ["--algorithms", "alpha", "--export-dir", "bare"];
    let mut command = lab.command(words);
    Ended::of(command.env_clear().env("LAB_SOURCE", &bare).output().unwrap()).ok();
    let record = crate::support::read_json(&lab.work().join("bare/runs/alpha_0.json"));
    assert_eq!(text(&record["provenance"]["executable"]["sha256"]).len(), 64);
    assert!(record["provenance"]["source"]["reason"].is_string());
}

#[test]
fn a_current_directory_that_is_gone_is_told() {
    let lab = Lab::new();
    let mut command = Command::new("sh");
    command.arg("-c").arg("rmdir \"$PWD\"; \"$0\" \"$@\"").arg(env!("CARGO_BIN_EXE_lab"));
    let program = lab.command(["--algorithms", "alpha"]);
    command.current_dir(lab.work()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ended::of(command.output().unwrap()).refused(&["export directory", "out", "No such file"]);
    fs::create_dir(lab.work()).unwrap();
}

/// Runs the program under a shell that redirects it; its status is the shell's.
fn redirected(lab: &Lab, words: &[&str], redirection: &str) -> Ended {
    let script = format!("\"$0\" \"$@\" {redirection}");
    let program = lab.command(words);
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_lab")]).args(words);
    command.current_dir(lab.work()).env_clear().stdin(Stdio::null());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ended::of(command.output().unwrap())
}

#[test]
fn closed_and_broken_streams_cost_no_run() {
    let lab = Lab::new();
    let status = "; exit ${PIPESTATUS[0]}";
    for (idx, redirection) in [
        ">&-",
        "2>&-",
        ">&- 2>&- <&-",
        &format!("| true{status}"),
        &format!("2>&1 | true{status}"),
        "2> /dev/full",
    ]
    .into_iter()
    .enumerate()
    {
        let seed = idx.to_string();
        let ended = redirected(&lab, &["--algorithms", "alpha", "--base-seed", &seed], redirection);
        assert_eq!(ended.status, 0, "{redirection}: {}", ended.stderr);
        let record = lab.record("alpha_0");
        assert_eq!((&record["status"], &record["seed"]), (&"complete".into(), &idx.into()));
        for words in [&["status"][..], &["list"], &["--help"], &["--num-runs", "x"]] {
            let ended = redirected(&lab, words, redirection);
            let expected = if words.len() == 2 { 2 } else { 0 };
            assert_eq!(ended.status, expected, "{words:?} {redirection}: {}", ended.stderr);
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_table_that_cannot_be_written_is_said_and_does_not_undo_the_run() {
    let lab = Lab::new();
    let ended = redirected(&lab, &["--algorithms", "alpha"], "> /dev/full");
    assert!(ended.stderr.contains("standard output"), "{}", ended.stderr);
    assert_eq!(ended.status, 0, "the slots are complete");
    assert_eq!(lab.record("alpha_0")["status"], "complete");
}

#[test]
fn lines_of_progress_go_to_stderr_only() {
    let lab = Lab::new();
    let ended = lab.run(&["--format", "json"]).ok();
    ended.json();
    assert!(ended.stderr.contains("Alpha run 0 started"), "{}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}'), "escapes off a terminal: {}", ended.stderr);
    let quiet = lab.run_with(&["--rerun", "alpha:0"], &[("RLE_LOG", "off")]).ok();
    assert_eq!(quiet.stderr, "");
}
