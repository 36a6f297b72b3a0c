//! What `main` cannot be.
#[rle::main(threads = 4)]
async fn main(_args: Vec<String>) {}
