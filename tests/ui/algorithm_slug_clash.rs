//! Two algorithms of one crate with one slug: both places are shown.
use rle::prelude::*;

mod first {
    use super::*;

    #[rle::algorithm(name = "IPPO")]
    fn one(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }
}

#[rle::algorithm]
fn ippo(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

// Only one of two is compiled.
#[cfg(any())]
#[rle::algorithm]
fn q(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
#[cfg(all())]
fn q(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

fn main() {}
