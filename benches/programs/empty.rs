//! The least that a Rust program can be: the other side of the comparison.

fn main() {}
