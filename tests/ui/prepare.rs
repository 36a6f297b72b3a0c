//! What a prepare cannot be.
use rle::prelude::*;

#[rle::algorithm]
fn ippo(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::prepare]
fn no_list(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare()]
fn empty(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(always)]
fn only_always(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo, ippo)]
fn twice(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare("ippo")]
fn text(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo, alway = true)]
fn unknown(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo, always, always)]
fn always_twice(_: &PrepareContext) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo)]
fn no_context() -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo)]
fn with_config(_: &PrepareContext, _: u8) -> rle::Result<u8> { Ok(1) }

#[rle::prepare(ippo)]
async fn asynchronous(_: &PrepareContext) {}

#[rle::prepare(ippo)]
mod module {}

fn main() {
    _ = (no_list, empty, only_always, twice, text, unknown, no_context, with_config);
}
