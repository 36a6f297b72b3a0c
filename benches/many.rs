//! Writes source files with many registered algorithms.

use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=many.rs");
    if env::var_os("CARGO_FEATURE_PROGRAMS").is_none() {
        return;
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    for count in [100, 1000] {
        let mut source = String::new();
        for index in 0..count {
            writeln!(
                source,
                "/// Algorithm {index}.\n#[rle::algorithm(name = \"Algorithm {index}\", flag = \"run_{index}\")]\n\
                 fn algorithm_{index}(_ctx: &RunContext, _config: Config) -> rle::Result<RunResult> {{ \
                 Ok(RunResult::new()) }}"
            )
            .expect("writing to a string does not fail");
        }
        fs::write(Path::new(&out).join(format!("many_{count}.rs")), source)
            .expect("OUT_DIR is writable");
    }
    let mut source = String::new();
    for index in 0..1000 {
        writeln!(
            source,
            "inventory::submit! {{ Entry {{ name: \"Algorithm {index}\", slug: \"algorithm_{index}\", \
             flag: \"run_{index}\", doc: \"Algorithm {index}.\", file: file!(), line: line!(), \
             column: column!(), config }} }}"
        )
        .expect("writing to a string does not fail");
    }
    fs::write(Path::new(&out).join("by_hand_1000.rs"), source).expect("OUT_DIR is writable");
}
