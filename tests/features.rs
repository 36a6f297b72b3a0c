//! What does and does not depend on features: a request's hash is the same whichever features of
//! `serde_json` some other crate of the build turns on, and a build for timings alone is small.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const FEATURES: [&str; 6] = [
    "",
    "preserve_order",
    "arbitrary_precision",
    "float_roundtrip",
    "raw_value",
    "preserve_order arbitrary_precision float_roundtrip raw_value",
];

fn printed_with(features: &str) -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/features/Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--features", features, "--manifest-path"])
        .arg(manifest)
        .env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/features"))
        .output()
        .expect("the cargo that runs this test can be started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "with `{features}`: {errors}");
    String::from_utf8(output.stdout).expect("JSON text is UTF-8")
}

#[test]
fn texts_and_hashes_are_the_same_under_every_feature_of_serde_json() {
    let plain = printed_with(FEATURES[0]);
    assert_eq!(plain.lines().count(), 12);
    assert!(plain.contains(r#""_":[0,0,0,1e-7,1e+21],"a":100,"b":1}"#), "{plain}");
    assert!(plain.contains(r#""seed":18446744073709551615"#), "{plain}");
    for features in &FEATURES[1..] {
        assert_eq!(printed_with(features), plain, "with `{features}`");
    }
}

#[test]
fn a_program_without_a_suite_keeps_times() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/timing_only/Cargo.toml");
    for _ in 0..2 {
        let output = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--locked", "--manifest-path"])
            .arg(&manifest)
            .env("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/timing_only"))
            .current_dir(&dir)
            .output()
            .expect("the cargo that runs this test can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("UTF-8 on stdout");
        assert!(text.contains("quick_run: 3 runs, runs [0, 1, 2]\n"), "{text}");
    }
    // A second start replaces the times of the same runs, and adds none.
    let file = dir.path().join("exports/sorting/quick/timings.json");
    let file = std::fs::read(file).expect("the times");
    let file: serde_json::Value = serde_json::from_slice(&file).expect("JSON");
    for stage in ["generate", "quick_run", "sort"] {
        let runs = file[stage]["runs"].as_array().expect("a list");
        assert_eq!(runs.len(), 3, "{file}");
        assert!(runs.iter().all(|run| run["seconds"].as_f64().is_some_and(|x| x > 0.0)), "{file}");
    }
}

/// The crates of a build, by name and version.
fn crates_with(features: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "-p", "rle", "-e", "normal", "--prefix", "none"])
        .args(features)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("the cargo that runs this test can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names of crates are UTF-8");
    let line = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

/// Of those that a build for timings alone must not have, the ones that it has.
fn of_the_suite(crates: &BTreeSet<String>) -> Vec<&str> {
    const SUITE: [&str; 10] = [
        "anyhow",
        "clap",
        "glob",
        "inventory",
        "nvml-wrapper",
        "rle-macros",
        "serde_ignored",
        "signal-hook",
        "toml",
        "tracing-subscriber",
    ];
    let names = crates.iter().filter_map(|line| line.split(' ').next());
    names.filter(|name| SUITE.contains(name)).collect()
}

#[test]
fn a_build_for_timings_alone_has_few_crates_and_none_of_the_suites() {
    let alone = crates_with(&["--no-default-features"]);
    assert!(alone.contains("rle v0.1.0"), "{alone:?}");
    assert_eq!(of_the_suite(&alone), [""; 0]);
    assert!(alone.len() <= 50, "{} crates: {alone:?}", alone.len());
    // The look itself sees them where they are.
    assert_eq!(of_the_suite(&crates_with(&[])).len(), 10);
    let suite = crates_with(&["--no-default-features", "--features", "suite"]);
    assert!(
        !suite.iter().any(|line| line.starts_with("clap ") || line.starts_with("miniz_oxide "))
    );
}
