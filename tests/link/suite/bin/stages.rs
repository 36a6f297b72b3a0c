//! An algorithm of the program's own that times the stages of a library.

use link_alpha::stages;
use rle::prelude::*;

/// The program's own.
#[rle::algorithm(name = "Local")]
fn local(ctx: &RunContext) -> rle::Result<RunResult> {
    Ok(RunResult::new().metric("steps", rollout(ctx.seed())))
}

#[rle::timed("rollout")]
fn rollout(seed: u64) -> u64 {
    seed + 2
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("linked").export_dir("export")
}
