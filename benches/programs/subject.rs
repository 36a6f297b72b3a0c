//! A program whose runs do nothing but calculate.

use std::hint::black_box;

use rle::prelude::*;

#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Config {
    rounds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { rounds: 200_000_000 }
    }
}

#[rle::algorithm(name = "Subject")]
fn subject(ctx: &RunContext, config: Config) -> rle::Result<RunResult> {
    let mut state = ctx.seed() | 1;
    for _ in 0..config.rounds {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    Ok(RunResult::new().metric("state", state))
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("bench")
}
