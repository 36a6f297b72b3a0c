//! Signatures that no algorithm can have: each told once, and the function still exists.
use rle::prelude::*;

#[rle::algorithm]
async fn asynchronous(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
const fn constant(_: &RunContext) -> rle::Result<RunResult> { panic!() }

#[rle::algorithm]
unsafe fn unchecked(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
extern "C" fn foreign(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn generic<T>(_: &RunContext, _: T) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn opaque(_: &RunContext, _: impl Default) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn nothing() -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn too_much(_: &RunContext, _: u8, _: u8) -> rle::Result<RunResult> { Ok(RunResult::new()) }

#[rle::algorithm]
fn no_value(_: &RunContext) {}

struct Method;

impl Method {
    #[rle::algorithm]
    fn method(&self) -> rle::Result<RunResult> { Ok(RunResult::new()) }
}

trait Bodyless {
    #[rle::algorithm]
    fn bodyless(_: &RunContext) -> rle::Result<RunResult>;
}

#[rle::algorithm]
struct NoFunction;

// Several faults of one function are told together, with those of the options.
#[rle::algorithm(nmae = "x")]
async fn several() {}

fn main() {
    _ = (nothing, no_value, too_much, Method::method, NoFunction);
    let _later: u8 = "later errors are still told";
}
