//! Stages that are not declared: the compiler's own error, at the literal.
rle::stages! { rollout, train, checkpoint { save, load } }

#[rle::timed("trian")]
fn near() {}

#[rle::timed(rolout)]
fn near_identifier() {}

#[rle::timed("checkpoint.safe")]
fn in_a_group() {}

#[rle::timed("checkpoint")]
fn a_group() {}

#[rle::timed("chekpoint.save")]
fn no_such_group() {}

#[rle::timed("train", in = crate::other)]
fn elsewhere() {}

fn main() {
    rle::timed_block!("trian", {});
}
