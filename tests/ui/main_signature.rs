//! What `main` cannot be.
use rle::prelude::*;

#[rle::main(threads = 4)]
async fn main(_args: Vec<String>) {}
