//! What cannot be timed, and options that are not accepted.
rle::stages! { train }

#[rle::timed("train")]
const fn constant() {}

#[rle::timed("train")]
struct NoFunction;

trait Policy {
    #[rle::timed("train")]
    fn act(&self);
}

#[rle::timed]
fn no_stage() {}

#[rle::timed(in = stages)]
fn only_options() {}

#[rle::timed("train", in)]
fn no_place() {}

#[rle::timed(match)]
fn bare_keyword() {}

#[rle::timed("train-step")]
fn dashed() {}

#[rle::timed("Train")]
fn uppercase() {}

#[rle::timed("")]
fn empty() {}

#[rle::timed("type")]
fn keyword() {}

#[rle::timed("checkpoint.")]
fn half() {}

#[rle::timed(3)]
fn number() {}

#[rle::timed("train", "rollout")]
fn two_stages() {}

#[rle::timed("train", im = stages)]
fn unknown_near() {}

#[rle::timed("train", sample)]
fn unknown() {}

#[rle::timed("train", in = "stages")]
fn place_text() {}

#[rle::timed("train", in = stages, in = stages)]
fn place_twice() {}

fn main() {
    rle::timed_block!("train");
    rle::timed_block!({});
    rle::timed_block!("train-step", {});
    constant();
    let _later: u8 = "later errors are still told";
}
