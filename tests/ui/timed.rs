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

#[rle::timed("train", metrics)]
fn metric_near() {}

#[rle::timed("train", debug = true)]
fn debug_with_value() {}

#[rle::timed("train", metric("loss"))]
fn metric_with_value() {}

#[rle::timed("train", debug, metric, debug)]
fn debug_twice() {}

#[rle::timed("train", group)]
fn group_without_name() {}

#[rle::timed("train", group = PolicyGroup)]
fn group_word() {}

#[rle::timed("train", group = " ")]
fn group_empty() {}

#[rle::timed("train", group = "two\nlines")]
fn group_lines() {}

#[rle::timed("train", grup = "policies")]
fn group_near() {}

#[rle::timed(debug, "train")]
fn debug_first() {}

fn main() {
    rle::timed_block!("train");
    rle::timed_block!({});
    rle::timed_block!("train-step", {});
    constant();
    let _later: u8 = "later errors are still told";
}
