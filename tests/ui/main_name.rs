//! Not called `main`.
use rle::prelude::*;

#[rle::main]
fn start() -> SuiteConfig { SuiteConfig::new("pursuit") }

fn main() { _ = start(); }
