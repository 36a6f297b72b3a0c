//! `#[rle::timed]` on every kind of function, against a runtime of our own that counts.
#![allow(missing_docs)]

fn main() {}
