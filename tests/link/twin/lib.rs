//! An algorithm with the slug of another library's.

use rle::prelude::*;

/// Another author's alpha.
#[rle::algorithm(name = "Alpha")]
fn another_alpha(_: &RunContext) -> rle::Result<RunResult> {
    Ok(RunResult::new())
}
