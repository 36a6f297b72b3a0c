//! Signatures whose types are wrong: the compiler's own errors, at the function.
use rle::prelude::*;

#[rle::algorithm]
fn by_value(_: RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn another_context(_: &PrepareContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn bare_result(_: &RunContext) -> RunResult { RunResult::new() }

#[rle::algorithm]
fn another_value(_: &RunContext) -> rle::Result<f64> { Ok(1.0) }

#[rle::algorithm]
fn no_error(_: &RunContext) -> Result<RunResult, u8> { Err(1) }

#[derive(serde::Serialize, serde::Deserialize)]
struct NotAConfig;

struct NotAValue;

#[rle::algorithm]
fn config(_: &RunContext, _: NotAConfig) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::prepare(by_value)]
fn not_serialisable(_: &PrepareContext) -> rle::Result<NotAValue> { Ok(NotAValue) }

#[rle::prepare(by_value)]
fn of_a_run(_: &RunContext) -> rle::Result<u8> { Ok(1) }

fn main() {}
