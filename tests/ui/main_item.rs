//! Not a function.
#[rle::main]
struct Program;

fn main() { _ = Program; }
