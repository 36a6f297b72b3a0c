//! An associated function is no place for a registration.
use rle::prelude::*;

struct Learner;

impl Learner {
    #[rle::algorithm]
    fn learn(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }
}

fn main() {}
