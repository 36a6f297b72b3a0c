//! Two libraries with one slug.

use link_alpha as _;
use link_twin as _;
use rle::prelude::*;

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("linked").export_dir("export")
}
