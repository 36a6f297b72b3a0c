//! `timings check`.

use serde_json::json;

use super::support::{EPYC, Place, lab};

#[test]
fn a_stage_that_nobody_declared_is_named_with_a_near_one() {
    let place = Place::new();
    place.timings(
        "a/b/ippo",
        &[
            ("ippo_run", &[(0, 1.0, EPYC)]),
            ("evaluation", &[(0, 1.0, EPYC)]),
            ("evalution", &[(1, 1.0, EPYC)]),
            ("icpo_run", &[(0, 1.0, EPYC)]),
        ],
    );
    let words = ["timings", "check", "--allow", "evaluation,export", "--format", "json"];
    let json = place.rle(&words).ends(1).json();
    let file = "exports/a/b/ippo/timings.json";
    let group = "a/b";
    assert_eq!(
        json["unknown"],
        json!([
            {"group": group, "file": file, "stage": "evalution", "near": "evaluation"},
            // Another algorithm's whole runs have nothing to do in this file.
            {"group": group, "file": file, "stage": "icpo_run", "near": "ippo_run"},
        ])
    );
    assert_eq!((&json["files"], &json["faults"]), (&json!(1), &json!([])));
    let text = place.rle(&["timings", "check", "--allow", "evaluation"]).ends(1);
    text.has("exports/a/b/ippo/timings.json evalution evaluation");
    assert!(text.stdout.ends_with(
        "1 file below exports: 2 stages that nobody declared; declare them in stages!, or name \
         them with --allow\n"
    ));
    let allowed = "--allow=evaluation,evalution";
    let text = place.rle(&["timings", "check", allowed, "--allow", "icpo_run"]).ends(0);
    assert_eq!(text.stdout, "1 file below exports: every stage is known\n");
}

#[test]
fn a_generated_program_knows_what_it_declares_and_what_its_runner_writes() {
    let place = Place::new();
    place.run(lab(), &["--algorithms", "alpha,owner"]).ends(0);
    assert!(place.path("out/_prepared").is_dir());
    // A prepare of it records a stage by hand under a name that stands nowhere else.
    let text = place.run(lab(), &["timings", "check"]).ends(1);
    text.has("out/_prepared/own_step/timings.json solver");
    assert_eq!(text.stdout.lines().count(), 3, "{}", text.stdout);
    place.run(lab(), &["timings", "check", "--allow", "solver"]).ends(0);
    // The standalone program knows none of the declarations.
    let words = ["timings", "check", "--export-root", "."];
    let text = place.rle(&words).ends(1);
    text.has("./out/alpha/timings.json rollout");
    assert!(!text.stdout.contains("alpha_run") && !text.stdout.contains("_prepare\n"));

    place.timings("../out/alpha", &[("rolout", &[(0, 1.0, EPYC)])]);
    let text = place.run(lab(), &["timings", "check", "--allow", "solver"]).ends(1);
    text.has("out/alpha/timings.json rolout rollout");
    place.run(lab(), &["timings", "check", "--allow", "rolout, solver"]).ends(0);
}

#[test]
fn the_file_of_a_prepare_is_checked_too() {
    let place = Place::new();
    place.timings(
        "env/_prepared/shield",
        &[("shield_prepare", &[(0, 1.0, EPYC)]), ("sheild_prepare", &[(0, 1.0, EPYC)])],
    );
    let text = place.both(&["timings", "check"]).ends(1);
    text.has("exports/env/_prepared/shield/timings.json sheild_prepare shield_prepare");
    assert_eq!(text.stdout.lines().count(), 3, "{}", text.stdout);
}

#[test]
fn a_file_that_cannot_be_read_fails_the_check() {
    let place = Place::new();
    place.timings("env/ippo", &[("ippo_run", &[(0, 1.0, EPYC)])]);
    place.both(&["timings", "check"]).ends(0);
    place.write("exports/env/icpo/timings.json", "[]");
    let text = place.both(&["timings", "check"]).ends(1);
    assert_eq!(text.stdout, "1 file below exports: every stage is known\n");
    assert!(text.stderr.starts_with("error: exports/env/icpo/timings.json: "), "{}", text.stderr);
}
