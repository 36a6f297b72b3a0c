//! Algorithms of a library, and the stages that its users time too.

use rle::prelude::*;

rle::stages! { rollout, train }

/// Registered here, run by a program that never names it.
#[rle::algorithm(name = "Alpha")]
fn alpha(ctx: &RunContext) -> rle::Result<RunResult> {
    Ok(RunResult::new().metric("steps", train(ctx.seed())))
}

#[rle::timed("train")]
fn train(seed: u64) -> u64 {
    seed + 1
}
