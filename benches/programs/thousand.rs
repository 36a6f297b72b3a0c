//! A program with 1000 registered algorithms.

use rle::prelude::*;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Config {
    lr: f64,
    num_steps: u64,
}

include!(concat!(env!("OUT_DIR"), "/many_1000.rs"));

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("bench")
}
