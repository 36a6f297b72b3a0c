//! A `main` that returns nothing.
#[rle::main]
fn main() {}
