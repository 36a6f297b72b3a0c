//! What a newcomer sees first: three runs of three learners, and a second start that is free.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use support::{Home, read_json};

const LEARNERS: [&str; 3] = ["reinforce", "cem", "q_learning"];
const RUNS: u32 = 3;

/// What counts as balancing: of the 500 steps that an episode has at most.
const BALANCED: f64 = 400.0;

/// The rows of the printed table: outcomes by slot.
fn outcomes(table: &str) -> BTreeMap<String, String> {
    let rows = table.lines().filter(|line| line.contains(':'));
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    rows.filter_map(row).collect()
}

fn all_slots(outcome: &str) -> BTreeMap<String, String> {
    let runs = |learner| (0..RUNS).map(move |run| format!("{learner}:{run}"));
    LEARNERS.into_iter().flat_map(runs).map(|slot| (slot, outcome.to_owned())).collect()
}

#[test]
fn three_runs_of_each_learner_balance_the_pole_and_the_second_start_computes_nothing() {
    let home = Home::new();
    let table = home.run(&["--num-runs", "3"]);
    assert_eq!(outcomes(&table), all_slots("complete"), "{table}");
    assert!(table.contains("9 complete, 0 reused"), "{table}");

    let balances = |learner: &&str| {
        (0..RUNS).all(|run| {
            let record = home.record(&format!("{learner}_{run}"));
            assert_eq!(record["status"], "complete");
            record["metrics"]["evaluation_return"].as_f64().unwrap() >= BALANCED
        })
    };
    assert!(LEARNERS.iter().filter(|learner| balances(learner)).count() >= 2);
    for learner in LEARNERS {
        let timings = read_json(&home.export().join(learner).join("timings.json"));
        for stage in [&format!("{learner}_run"), "rollout", "train", "evaluation"] {
            let runs = timings[stage]["runs"].as_array().unwrap().iter();
            let mut runs: Vec<_> = runs.map(|run| run["run_idx"].as_u64().unwrap()).collect();
            runs.sort_unstable();
            assert_eq!(runs, [0, 1, 2], "{stage} of {learner}");
        }
    }

    let records = || LEARNERS.map(|learner| (0..RUNS).map(move |run| format!("{learner}_{run}")));
    let read =
        || -> Vec<_> { records().into_iter().flatten().map(|slot| home.record(&slot)).collect() };
    let first = read();
    let begun = Instant::now();
    let table = home.run(&["--num-runs", "3"]);
    let took = begun.elapsed();
    assert_eq!(outcomes(&table), all_slots("reused"), "{table}");
    assert!(table.contains("0 complete, 9 reused"), "{table}");
    assert_eq!(read(), first);
    assert!(took < Duration::from_secs(2), "{took:?}");
}
