//! Each learner, killed again and again, comes to the result of its unbroken run.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod support;

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::thread;
use std::time::{Duration, Instant};

use support::Home;

/// Kills that a learner has to go through.
const KILLS: usize = 8;

/// How long a start is waited for before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A moment between now and then.
fn random(longest: Duration) -> Duration {
    let part = RandomState::new().hash_one(()) % 1000;
    longest * u32::try_from(part).unwrap() / 1000
}

/// Kills a run each time that it saved another checkpoint, and compares what it comes to.
fn survives_kills(slug: &str, setting: &str) {
    let arguments = ["--num-runs", "1", "--algorithms", slug, "--set", setting];
    let slot = format!("{slug}_0");
    let unbroken = Home::new();
    let begun = Instant::now();
    unbroken.run(&arguments);
    let usual = begun.elapsed();
    let reference = unbroken.record(&slot);

    let home = Home::new();
    let arguments: Vec<&str> = arguments.into_iter().chain(["--checkpoint-enabled"]).collect();
    let manifest = home.export().join(slug).join("checkpoints/run_0/manifest.json");
    let mut resumed = 0;
    for _ in 0..KILLS {
        let before = fs::read(&manifest).ok();
        let mut start = home.start(&arguments);
        let begun = Instant::now();
        while fs::read(&manifest).ok() == before && start.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "no checkpoint is saved");
            thread::yield_now();
        }
        thread::sleep(random(usual / 40));
        start.kill().unwrap();
        if start.wait().unwrap().success() {
            break;
        }
        let attempts = home.record(&slot)["attempts"].as_array().unwrap().clone();
        resumed += usize::from(attempts.last().unwrap()["resumed_from"].is_u64());
    }
    println!("{slug} was resumed {resumed} times by kills");
    assert!(resumed >= 2, "it was resumed {resumed} times only");
    home.run(&arguments);

    let record = home.record(&slot);
    assert_eq!(record["status"], "complete");
    assert!(record["attempts"].as_array().unwrap().len() > resumed);
    assert!(!reference["episode_history"].as_array().unwrap().is_empty());
    assert!(reference["artifact_paths"]["policy"]["sha256"].is_string());
    for field in ["metrics", "episode_history", "artifact_paths", "summary", "request"] {
        assert!(record[field] == reference[field], "{field} of {slug} differs");
    }
    let policy = |home: &Home| {
        fs::read(home.export().join(slug).join("artifacts/run_0/policy.json")).unwrap()
    };
    assert!(policy(&home) == policy(&unbroken), "the policy of {slug} differs");
}

#[test]
fn reinforce_killed_at_random_moments_comes_to_the_result_of_its_unbroken_run() {
    survives_kills("reinforce", "algorithm_configs.reinforce.iterations=30");
}

#[test]
fn cem_killed_at_random_moments_comes_to_the_result_of_its_unbroken_run() {
    survives_kills("cem", "algorithm_configs.cem.iterations=120");
}

#[test]
fn q_learning_killed_at_random_moments_comes_to_the_result_of_its_unbroken_run() {
    survives_kills("q_learning", "algorithm_configs.q_learning.episodes=3000");
}
