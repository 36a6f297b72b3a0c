//! A program, and its `main` as written.
#![forbid(unsafe_code)]
#![deny(warnings)]

/// Documented.
#[rle::main]
#[allow(unused_variables)]
fn main() -> rle::SuiteConfig {
    #![allow(unused_mut)]
    let mut unused = 1;
    rle::SuiteConfig::new("pursuit").common("just_vis", true)
}
