//! A crate that declares no stages.
#[rle::timed("train")]
fn train() {}

fn main() {}
