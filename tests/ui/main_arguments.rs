//! A `main` with arguments.
use rle::prelude::*;

#[rle::main]
fn main(_args: Vec<String>) -> SuiteConfig { SuiteConfig::new("pursuit") }
