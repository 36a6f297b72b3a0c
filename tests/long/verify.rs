//! What records and checkpoints vouch for, looked at again.

use std::fs;

use crate::running::interrupted;
use crate::support::{Lab, names, tree};

const SAVING: [&str; 3] = ["--algorithms", "steady", "--checkpoint-enabled"];

#[test]
fn outputs_and_checkpoints_are_hashed_again() {
    let lab = Lab::new();
    let all = ["verify", "--algorithms=alpha,steady"];
    lab.run(&["--algorithms=alpha", "--num-runs=2"]).ok();
    interrupted(&lab, &SAVING, "steady:0@4");
    let before = lab.tree();
    let ended = lab.run(&all).ok();
    assert!(ended.stdout.contains("all as stored"), "{}", ended.stdout);
    assert!(ended.stdout.contains("3 records, 4 tracked outputs"), "{}", ended.stdout);
    assert!(lab.tree() == before, "looking changes nothing");

    let payload = lab.out("steady/checkpoints/run_0/generation_3/rng.txt");
    let good = fs::read(&payload).unwrap();
    let mut bad = good.clone();
    bad[0] ^= 1;
    fs::write(&payload, bad).unwrap();
    let ended = lab.run(&all).ends(1);
    let line = ended.line("steady:0");
    assert!(line.contains("`generation_3/rng.txt` changed"), "{line}");
    fs::write(&payload, good).unwrap();
    lab.run(&all).ok();

    fs::write(lab.out("alpha/artifacts/run_1/policy.txt"), "tampered").unwrap();
    fs::remove_file(lab.out("alpha/artifacts/run_0/policy.txt")).unwrap();
    let ended = lab.run(&all).ends(1);
    assert!(ended.line("alpha:1").contains("output `policy` changed"), "{}", ended.stdout);
    assert!(ended.line("alpha:0").contains("output `policy` is missing"), "{}", ended.stdout);
    let json = lab.run(&[&all[..], &["--format=json"]].concat()).ends(1).json();
    assert_eq!(json["findings"].as_array().unwrap().len(), 2, "{json}");
}

fn proof(lab: &Lab, more: &[&str]) -> crate::support::Ended {
    let scratch = lab.root().join("scratch");
    fs::create_dir_all(&scratch).unwrap();
    let before = tree(&lab.work(), true);
    let words = [&["verify", "--interruption", "--algorithms=steady"], more].concat();
    let ended = lab.run_with(&words, &[("TMPDIR", scratch.to_str().unwrap()), ("LAB_TRACE", "")]);
    assert_eq!(names(&scratch), [""; 0], "the scratch directory is removed");
    assert!(tree(&lab.work(), true) == before, "nothing of the suite is touched");
    ended
}

#[test]
fn a_learner_that_resumes_as_if_unbroken_passes() {
    let lab = Lab::new();
    lab.run(&SAVING).ok();
    let ended = proof(&lab, &[]).ok();
    assert!(ended.stdout.contains("equal their unbroken runs: steady:0"), "{}", ended.stdout);
    let short =
        ["save_every=1", "steps=2"].map(|set| format!("--set=algorithm_configs.steady.{set}"));
    proof(&lab, &[&short[0], &short[1], "--run-numbers=0"]).ok();
}

#[test]
fn a_trial_takes_over_no_limit_of_the_suite() {
    let lab = Lab::new();
    let options = ["--gpus-per-run=1", "--retries=2", "--stop-after=0s", "--fail-fast", "--jobs=3"];
    proof(&lab, &options).ok();
    let words = ["verify", "--interruption", "--algorithms=steady"];
    let ended = lab.run_with(&words, &[("LAB_SUITE", "limited")]).ok();
    assert!(ended.stdout.contains("equal their unbroken runs: steady:0"), "{}", ended.stdout);
}

#[test]
fn a_learner_that_forgets_its_generator_is_caught() {
    let lab = Lab::new();
    let ended = proof(&lab, &["--set=algorithm_configs.steady.forgets=true"]).ends(1);
    let line = ended.line("steady:0");
    assert!(line.contains("metric `return` differs at [2]"), "{line}");
    assert!(line.contains("unbroken") && line.contains("resumed"), "{line}");
}

#[test]
fn a_learner_that_cannot_be_stopped_proves_nothing() {
    let lab = Lab::new();
    for (key, value) in [("save_every", "0"), ("stops", "silent"), ("stops", "deaf")] {
        let ended =
            proof(&lab, &[&format!("--set=algorithm_configs.steady.{key}={value}")]).ends(1);
        let line = ended.line("steady:0");
        assert!(line.contains("saves no checkpoint") && line.contains("should_stop()"), "{line}");
    }
}
