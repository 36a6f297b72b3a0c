//! A `main` that returns something else.
#[rle::main]
fn main() -> Result<u32, String> { Ok(1) }
