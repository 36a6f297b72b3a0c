//! What `RLE_DEBUG` adds: lines of single calls, a summary after each epoch, debug stages.

use crate::support::Lab;

const QUIET: [(&str, &str); 0] = [];
const DEBUG: [(&str, &str); 1] = [("RLE_DEBUG", "1")];

/// The stages of the timings of `alpha`.
fn stages(lab: &Lab) -> Vec<String> {
    let text = std::fs::read_to_string(lab.out("alpha/timings.json")).unwrap();
    let timings: serde_json::Value = serde_json::from_str(&text).unwrap();
    timings.as_object().unwrap().keys().cloned().collect()
}

/// Log lines without time and level.
fn bodies(log: &str) -> Vec<&str> {
    log.lines()
        .filter_map(|line| line.split_once("INFO ").or(line.split_once("DEBUG ")))
        .map(|(_, body)| body)
        .collect()
}

#[test]
fn without_debug_a_run_says_nothing_of_its_stages() {
    let lab = Lab::new();
    let ended = lab.run_with(&["--num-runs", "1", "--algorithms", "alpha"], &QUIET).ok();
    for text in [ended.stderr, lab.log("alpha_0")] {
        assert!(!text.contains("time_profile") && !text.contains("timing summary"), "{text}");
    }
    assert_eq!(stages(&lab), ["alpha_run", "rollout", "train"]);
}

#[test]
fn with_debug_each_call_and_each_epoch_is_logged() {
    let lab = Lab::new();
    let words =
        ["--num-runs", "1", "--algorithms", "alpha", "--set", "algorithm_configs.alpha.steps=2"];
    let ended = lab.run_with(&words, &DEBUG).ok();
    let log = lab.log("alpha_0");
    for text in [&ended.stderr, &log] {
        for (stage, calls) in [("rollout", 2), ("rollout_inner", 2), ("train", 2)] {
            let begin = format!("INFO time_profile/{stage}: ");
            assert_eq!(text.matches(&begin).count(), calls, "{stage} in {text}");
        }
        assert_eq!(text.matches("DEBUG timing summary:").count(), 2, "{text}");
    }
    let lines = bodies(&log);
    let at = lines.iter().position(|line| *line == "timing summary:").unwrap();
    let shape = |line: &str| {
        line.split_whitespace()
            .map(|word| {
                word.split_once('=').map_or(word.to_owned(), |(key, value)| match key {
                    "count" => format!("count={value}"),
                    _ => format!("{key}={}", value.len()),
                })
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let shapes: Vec<String> = lines[at + 1..at + 6].iter().map(|line| shape(line)).collect();
    assert_eq!(
        shapes,
        [
            "lab:",
            "rollout count=1 total=9 avg=9",
            "train count=1 total=9 avg=9",
            "environments:",
            "rollout_inner count=1 total=9 avg=9",
        ],
        "{log}"
    );
    let column = |line: &str| line.find("count=").unwrap();
    assert_eq!(column(lines[at + 2]), column(lines[at + 5]), "aligned over groups: {log}");
    assert!(lines[at + 6].starts_with("rollout "), "the shares of the phases: {log}");
    assert_eq!(stages(&lab), ["alpha_run", "rollout", "rollout_inner", "train"]);
}

#[test]
fn workers_are_told_too() {
    let lab = Lab::new();
    let words = ["--num-runs", "2", "--algorithms", "alpha", "--jobs", "2"];
    let variables = [("RLE_DEBUG", "1"), ("RLE_VERBOSE", "0"), ("LAB_TELL", "RLE_VERBOSE")];
    lab.run_with(&words, &variables).ok();
    let mut calls = lab.calls();
    calls.sort();
    assert_eq!(calls[..2], ["alpha:0 RLE_VERBOSE=0", "alpha:1 RLE_VERBOSE=0"]);
    for run in ["alpha_0", "alpha_1"] {
        let log = lab.log(run);
        assert!(log.contains("time_profile/rollout_inner: "), "{log}");
        assert!(log.contains("DEBUG timing summary:"), "{log}");
    }
}

#[test]
fn a_filter_of_the_users_goes_before_on_the_console() {
    let lab = Lab::new();
    let words = ["--num-runs", "1", "--algorithms", "alpha"];
    let ended = lab.run_with(&words, &[("RLE_DEBUG", "1"), ("RLE_LOG", "warn")]).ok();
    assert_eq!(ended.stderr.matches("time_profile").count(), 0, "{}", ended.stderr);
    assert!(lab.log("alpha_0").contains("DEBUG timing summary:"), "the slot's file has it all");
}

#[test]
fn a_value_that_is_none_is_said() {
    let lab = Lab::new();
    let words = ["--num-runs", "1", "--algorithms", "alpha"];
    let ended = lab.run_with(&words, &[("RLE_DEBUG", "loud\u{1b}"), ("RLE_CLOCK", "sundial")]).ok();
    let text = ended.stderr;
    assert!(text.contains(r"RLE_DEBUG is `loud\u{1b}`, expected 0 or 1; 1 is used"), "{text}");
    assert!(
        text.contains("RLE_CLOCK is `sundial`, expected `auto` or `system`; `auto` is used"),
        "{text}"
    );
}
