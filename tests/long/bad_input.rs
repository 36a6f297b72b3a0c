//! What is refused in words before anything is touched on disk, and what is never trusted.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::running::{interrupted, record_in, science};
use crate::support::{Lab, names, read_json};

const SAVING: [&str; 3] = ["--algorithms", "steady", "--checkpoint-enabled"];

#[test]
fn options_that_say_nothing_usable() {
    let lab = Lab::new();
    lab.refuses(&["--retries", "-1"], &["--retries: `-1` is not a whole number"]);
    lab.refuses(&["--retries", "often"], &["--retries: `often`"]);
    lab.refuses(&["retries=-1"], &["--retries: `-1`"]);
    lab.refuses(&["--timeout", "soon"], &["--timeout: `soon` is not a duration", "90s"]);
    lab.refuses(&["--timeout", "90"], &["--timeout: `90` is not a duration", "unit"]);
    lab.refuses(&["--timeout", "-5s"], &["--timeout: `-5s`"]);
    lab.refuses(&["--stop-after="], &["--stop-after", "is not a duration"]);
    lab.refuses(&["--on-busy", "perhaps"], &["--on-busy: `perhaps` is none of wait, skip, fail"]);
    lab.refuses(&["--jobs", "0"], &["--jobs is 0", "at least 1"]);
    lab.refuses(&["--jobs", "all"], &["--jobs: `all`"]);
    lab.refuses(&["--fail-fast", "perhaps"], &["--fail-fast: `perhaps`"]);
    lab.refuses(&["--checkpoint-enabled=2"], &["--checkpoint-enabled: `2`"]);
    let none = [("CUDA_VISIBLE_DEVICES", "")];
    lab.refuses_with(&["--gpus-per-run", "1"], &none, &["--gpus-per-run 1 needs 1 GPUs", "0 are"]);
    lab.refuses_with(&[], &[("RLE_RETRIES", "-1")], &["RLE_RETRIES: `-1`"]);
    lab.refuses_with(&[], &[("RLE_TIMEOUT", "soon")], &["RLE_TIMEOUT: `soon`"]);
    lab.write("work/suite.toml", "retries = -1\n");
    lab.refuses(&["--config=suite.toml"], &["suite.toml: retries", "`-1`"]);
    lab.write("work/suite.toml", "timeout = 90\n");
    lab.refuses(&["--config=suite.toml"], &["suite.toml: timeout", "`90`", "unit"]);
}

#[test]
fn options_of_another_command() {
    let lab = Lab::new();
    for (words, option, owner) in [
        (&["run", "--keep", "3"][..], "--keep", "archive prune"),
        (&["--yes"], "--yes", "archive prune"),
        (&["status", "--interruption"], "--interruption", "verify"),
        (&["verify", "--why=alpha:0"], "--why", "status"),
        (&["verify", "--keep=3"], "--keep", "archive prune"),
    ] {
        lab.refuses(words, &[option, &format!("belongs to `{owner}`")]);
    }
    lab.refuses(
        &["run", "prune"],
        &["unexpected argument 'prune'", "lab run [OPTIONS] [key=value ...]"],
    );
}

#[test]
fn seeds_and_provenance_that_contradict() {
    let lab = Lab::new();
    lab.refuses_with(
        &["--num-runs=2"],
        &[("LAB_SUITE", "wrong seeds")],
        &["seeds_by_run of run 1", "`learner` must be base seed + run index = 1, found 5"],
    );
    // The mapping itself is good for base seed 5.
    let good = [("LAB_SUITE", "seeds")];
    lab.run_with(&["--algorithms=alpha", "--num-runs=2", "--base-seed=5"], &good).ok();
    lab.refuses_with(&["--num-runs=2", "--base-seed=4"], &good, &["learner", "= 5, found 6"]);
    for mode in ["capture", "supplied"] {
        for key in ["source", "runtime", "packages", "executable", "metadata"] {
            let words = [format!("--provenance={key}=mine"), format!("--provenance-mode={mode}")];
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            lab.refuses(&words, &[&format!("`{key}` is reserved")]);
        }
    }
    lab.refuses(&["--provenance", "ticket"], &["--provenance", "`ticket` has no `=`"]);
}

/// Changes every manifest of a run's checkpoints.
fn edit_manifests(home: &Path, change: impl Fn(&mut Value)) {
    let generations = names(home).into_iter().filter(|name| name.starts_with("generation_"));
    let paths = generations.map(|name| home.join(name).join("manifest.json"));
    for path in paths.chain([home.join("manifest.json")]) {
        let mut manifest = read_json(&path);
        change(&mut manifest);
        fs::write(path, manifest.to_string()).unwrap();
    }
}

#[test]
fn a_manifest_of_a_newer_version_stops_the_start() {
    let lab = Lab::new();
    interrupted(&lab, &SAVING, "steady:0@4");
    edit_manifests(&lab.out("steady/checkpoints/run_0"), |manifest| {
        manifest["schema_version"] = json!(99);
    });
    for more in [&[][..], &["--jobs=2"], &["--rerun=steady:0"], &["--resume-checkpoints=false"]] {
        lab.refuses(&[&SAVING[..], more].concat(), &["manifest.json", "newer version", "99"]);
    }
    let ended = lab.run(&["verify", "--algorithms=steady"]).ends(1);
    assert!(ended.stdout.contains("newer version"), "{}", ended.stdout);
}

#[test]
fn a_manifest_of_another_slot_or_request_is_moved_aside() {
    for (field, value, said) in [
        ("run_idx", json!(1), "belongs to run 1, not to run 0"),
        ("request_hash", json!("0".repeat(64)), "another request"),
    ] {
        let lab = Lab::new();
        lab.run(&[&SAVING[..], &["--export-dir=whole"]].concat()).ok();
        interrupted(&lab, &SAVING, "steady:0@4");
        edit_manifests(&lab.out("steady/checkpoints/run_0"), |manifest| {
            manifest[field] = value.clone();
        });
        lab.calls();
        let ended = lab.run(&SAVING).ok();
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        assert_eq!(lab.calls(), ["run steady:0"], "from the start");
        assert_eq!(names(lab.out("runs/_superseded")).len(), 1);
        let whole = record_in(&lab, "whole", "steady_0");
        assert_eq!(science(&lab.record("steady_0")), science(&whole));
    }
}

#[test]
fn a_payload_outside_the_checkpoint_is_never_read() {
    let lab = Lab::new();
    let secret = lab.write("work/secret.txt", "7\n");
    for path in ["../../../../secret.txt", secret.to_str().unwrap(), "generation_3/../../x"] {
        interrupted(&lab, &SAVING, "steady:0@4");
        let home = lab.out("steady/checkpoints/run_0");
        edit_manifests(&home, |manifest| manifest["payloads"][0]["path"] = json!(path));
        let found = lab.run(&["verify", "--algorithms=steady"]).ends(1);
        assert!(found.stdout.contains("leaves the checkpoint's directory"), "{}", found.stdout);
        lab.calls();
        let ended = lab.run(&SAVING).ok();
        assert!(ended.stderr.contains("leaves the checkpoint's directory"), "{}", ended.stderr);
        assert_eq!(lab.calls(), ["run steady:0"], "from the start");
        fs::remove_dir_all(lab.out("")).unwrap();
    }
}

#[test]
fn a_payload_that_is_a_link_out_of_the_checkpoint_is_never_read() {
    let lab = Lab::new();
    interrupted(&lab, &SAVING, "steady:0@4");
    let payload = lab.out("steady/checkpoints/run_0/generation_3/rng.txt");
    // The very bytes, elsewhere.
    let outside = lab.work().join("rng.txt");
    fs::rename(&payload, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &payload).unwrap();
    lab.calls();
    lab.run(&SAVING).ok();
    assert_eq!(lab.calls()[1], "resumed steady:0 at 4", "from the generation before");
}

#[test]
fn a_torn_manifest_falls_back_to_the_generation_before() {
    let lab = Lab::new();
    lab.run(&[&SAVING[..], &["--export-dir=whole"]].concat()).ok();
    for torn in ["", "{\"schema_version\": 1", "{}"] {
        interrupted(&lab, &SAVING, "steady:0@4");
        let home = lab.out("steady/checkpoints/run_0");
        fs::write(home.join("generation_3/manifest.json"), torn).unwrap();
        fs::write(home.join("manifest.json"), torn).unwrap();
        lab.calls();
        let ended = lab.run(&SAVING).ok();
        assert!(ended.stderr.contains("passed over"), "{}", ended.stderr);
        assert_eq!(lab.calls()[1], "resumed steady:0 at 4");
        let whole = record_in(&lab, "whole", "steady_0");
        assert_eq!(science(&lab.record("steady_0")), science(&whole));
        fs::remove_dir_all(lab.out("")).unwrap();
    }
}
