//! A program with 100 registered algorithms.

use rle::prelude::*;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Config {
    lr: f64,
    num_steps: u64,
}

include!(concat!(env!("OUT_DIR"), "/many_100.rs"));

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("bench")
}
