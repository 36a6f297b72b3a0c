//! A request's hash does not depend on the features of `serde_json` that some other crate of
//! the build turns on.

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
