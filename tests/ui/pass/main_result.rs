//! A `main` that may fail, in a crate without a prelude.
#![no_implicit_prelude]
#![deny(warnings)]

mod rle {}

use ::rle::{Result, SuiteConfig};

#[::rle::main(crate = ::rle)]
fn main() -> Result<SuiteConfig> {
    fn name() -> Result<&'static str, ::std::string::String> {
        ::std::result::Result::Ok("pursuit")
    }
    ::std::result::Result::Ok(SuiteConfig::new(name().map_err(super_name)?).common("just_vis", true))
}

fn super_name(text: ::std::string::String) -> ::std::io::Error {
    ::std::io::Error::other(text)
}
