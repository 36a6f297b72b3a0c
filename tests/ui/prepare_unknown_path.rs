//! A prepare for a function that does not exist.
use rle::prelude::*;

#[rle::algorithm]
fn shielded_ippo(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::prepare(shielded_ipo)]
fn near(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(shielded_ippo, algorithms::shielded_ippo)]
fn module(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

fn main() {}
