//! Depends on the libraries, and forgets to use them.

use rle::prelude::*;

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("linked").export_dir("export")
}
