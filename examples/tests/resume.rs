//! Each learner, killed again and again, comes to the result of its unbroken run.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod support;

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::thread;
use std::time::{Duration, Instant};

use support::Home;

/// How often a learner has to go on from a checkpoint.
const RESUMED: usize = 7;

/// How long a start is waited for before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A moment between now and then.
fn random(longest: Duration) -> Duration {
    let part = RandomState::new().hash_one(()) % 1000;
    longest * u32::try_from(part).unwrap() / 1000
}

/// Kills runs until they were resumed often enough, and compares what they come to.
fn survives_kills(slug: &str, setting: &str) {
    let arguments = ["--num-runs", "1", "--algorithms", slug, "--set", setting];
    let unbroken = Home::new();
    let begun = Instant::now();
    unbroken.run(&arguments);
    let usual = begun.elapsed();
    let arguments = [&arguments[..], &["--checkpoint-enabled"]].concat();
    let mut resumed = 0;
    while resumed < RESUMED {
        assert!(begun.elapsed() < PATIENCE, "it was resumed {resumed} times only");
        let home = Home::new();
        resumed += kill_and_end(&home, slug, &arguments, usual);
        compare(&home, &unbroken, slug);
    }
    println!("{slug} was resumed {resumed} times");
}

/// Kills a run each time that it saved another checkpoint, lets it end, and returns how often it
/// went on from a checkpoint.
fn kill_and_end(home: &Home, slug: &str, arguments: &[&str], usual: Duration) -> usize {
    let manifest = home.export().join(slug).join("checkpoints/run_0/manifest.json");
    for _ in 0..RESUMED {
        let before = fs::read(&manifest).ok();
        let mut start = home.start(arguments);
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
    }
    home.run(arguments);
    let record = home.record(&format!("{slug}_0"));
    let attempts = record["attempts"].as_array().unwrap().iter();
    attempts.filter(|attempt| attempt["resumed_from"].is_u64()).count()
}

fn compare(home: &Home, unbroken: &Home, slug: &str) {
    let [record, reference] = [home, unbroken].map(|home| home.record(&format!("{slug}_0")));
    assert_eq!(record["status"], "complete");
    assert!(!reference["episode_history"].as_array().unwrap().is_empty());
    assert!(reference["artifact_paths"]["policy"]["sha256"].is_string());
    for field in ["metrics", "episode_history", "artifact_paths", "summary", "request"] {
        assert!(record[field] == reference[field], "{field} of {slug} differs");
    }
    let [policy, unbroken] = [home, unbroken].map(|home| {
        fs::read(home.export().join(slug).join("artifacts/run_0/policy.json")).unwrap()
    });
    assert!(policy == unbroken, "the policy of {slug} differs");
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
