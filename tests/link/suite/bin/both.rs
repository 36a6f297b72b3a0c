//! Algorithms of two libraries, neither of them named.

use link_alpha as _;
use link_beta as _;
use rle::prelude::*;

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("linked").export_dir("export")
}
