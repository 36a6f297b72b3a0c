//! Reuse across a named difference, and every difference in words.

use serde_json::Value;

use crate::support::{Lab, text};

const ALPHA: [&str; 2] = ["--algorithms", "alpha"];

fn fields(record: &Value) -> Vec<String> {
    let accepted = record["accepted"].as_array().expect("a list of acceptances");
    let fields = accepted.iter().flat_map(|entry| entry["differences"].as_array().unwrap());
    fields.map(text).collect()
}

#[test]
fn an_accepted_difference_is_written_down_and_honoured_from_then_on() {
    for jobs in ["--jobs=1", "--jobs=2"] {
        let lab = Lab::new();
        lab.run(&ALPHA).ok();
        let before = lab.record("alpha_0");
        lab.write("source/src/main.rs", "fn main() { quicker() }\n");
        assert_eq!(lab.to_run(&ALPHA).len(), 1);
        let accept = [&ALPHA[..], &["--accept", "provenance.source", jobs]].concat();
        assert!(lab.to_run(&accept).is_empty());
        assert!(lab.record("alpha_0").get("accepted").is_none(), "a plan touches nothing");
        lab.calls();
        let ended = lab.run(&accept).ok();
        assert!(ended.line("alpha:0").contains("reused"), "{}", ended.stdout);
        assert!(lab.calls().is_empty());
        let record = lab.record("alpha_0");
        assert_eq!(fields(&record), ["provenance.source.tree_sha256"]);
        assert_eq!(
            (&record["request"], &record["provenance"]),
            (&before["request"], &before["provenance"])
        );
        assert_eq!(record["metrics"], before["metrics"]);
        let again = lab.run(&[&ALPHA[..], &[jobs]].concat()).ok();
        assert!(again.line("alpha:0").contains("reused"), "{}", again.stdout);
        // Another difference is another question.
        lab.write("source/src/main.rs", "fn main() { slower() }\n");
        assert_eq!(lab.to_run(&ALPHA).len(), 1);
    }
}

#[test]
fn only_what_is_named_is_accepted() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    let other = ["--set=algorithm_configs.alpha.lr=0.125", "--set=algorithm_configs.alpha.steps=3"];
    let accept = [&ALPHA[..], &other[..], &["--accept=algorithm.config.lr"]].concat();
    assert!(lab.to_run(&accept).is_empty());
    lab.run(&accept).ok();
    assert_eq!(fields(&lab.record("alpha_0")), ["algorithm.config.lr"]);
    assert_eq!(lab.record("alpha_0")["algorithm"]["config"]["lr"], 0.0003);
    // A longer name is no part of it, a table that holds it is.
    let two = [&ALPHA[..], &["--set=algorithm_configs.alpha.layers=[1]", other[0]]].concat();
    let one = [&two[..], &["--accept=algorithm.config.layers"]].concat();
    let to_run = lab.to_run(&one);
    assert!(to_run[0].1.iter().any(|reason| reason.contains("algorithm.config.lr")), "{to_run:?}");
    assert!(lab.to_run(&[&two[..], &["--accept=algorithm.config"]].concat()).is_empty());
    let both = ["--accept=algorithm.config.layers", "--accept", "algorithm.config.lr"];
    assert!(lab.to_run(&[&two[..], &both].concat()).is_empty());
}

#[test]
fn a_path_that_no_request_has_is_refused() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    for (path, near) in [
        ("algorithm.config.lrr", "algorithm.config.lr"),
        ("provenance.sorce", "provenance.source"),
        ("", "provenance.source"),
        ("lr", "provenance.source"),
    ] {
        lab.refuses(&[&ALPHA[..], &["--accept", path]].concat(), &["--accept", path, near]);
        lab.refuses(
            &[&["status"], &ALPHA[..], &["--accept", path]].concat(),
            &["--accept", path, near],
        );
    }
}

#[test]
fn a_changed_output_is_never_accepted() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    std::fs::write(lab.out("alpha/artifacts/run_0/policy.txt"), "tampered").unwrap();
    let accept = [&ALPHA[..], &["--accept=provenance.source"]].concat();
    assert_eq!(lab.to_run(&accept).len(), 1);
}

#[test]
fn status_says_every_difference_of_a_slot_in_full() {
    let lab = Lab::new();
    lab.run(&ALPHA).ok();
    lab.write("source/src/main.rs", "fn main() { changed() }\n");
    let words = [
        &["status"],
        &ALPHA[..],
        &["--num-runs=2", "--set=algorithm_configs.alpha.lr=0.125", "--set=env_config.map=big"],
        &["--why", "alpha:0"],
    ]
    .concat();
    let before = lab.tree();
    let ended = lab.run(&words).ok();
    for part in [
        "algorithm.config.lr",
        "record  0.0003",
        "request 0.125",
        "environment.config.map",
        "\"small\"",
        "\"big\"",
        "provenance.source.tree_sha256",
        "src/main.rs",
    ] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains("alpha:1"), "{}", ended.stdout);
    let json = lab.run(&[&words[..], &["--format=json"]].concat()).ok().json();
    assert_eq!(json["slots"].as_array().unwrap().len(), 1);
    assert_eq!(json["slots"][0]["reasons"].as_array().unwrap().len(), 3);
    assert!(lab.tree() == before);
    let unknown = [&words[..words.len() - 1], &["alhpa:0"]].concat();
    lab.refuses(&unknown, &["--why alhpa:0", "alpha:0"]);
    lab.refuses(&["run", "--why=alpha:0"], &["--why", "`status`"]);
}
