//! The attribute macros of the `rle` crate.
//!
//! Nothing here decides anything at run time: an expansion is the function as written, and either
//! one registration of plain data or one guard line. Use them through `rle`, which documents the
//! whole.
#![forbid(unsafe_code)]

mod algorithm;
mod args;
mod body;
mod error;
mod item;
mod main_fn;
mod name;
mod prepare;
mod stages;
mod timed;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn algorithm(attr: TokenStream, item: TokenStream) -> TokenStream {
    algorithm::expand(attr.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn prepare(attr: TokenStream, item: TokenStream) -> TokenStream {
    prepare::expand(attr.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn timed(attr: TokenStream, item: TokenStream) -> TokenStream {
    timed::expand(attr.into(), item.into()).into()
}

#[proc_macro]
pub fn timed_block(input: TokenStream) -> TokenStream {
    timed::expand_block(input.into()).into()
}

#[proc_macro]
pub fn stages(input: TokenStream) -> TokenStream {
    stages::expand(input.into()).into()
}

#[proc_macro_attribute]
pub fn main(attr: TokenStream, item: TokenStream) -> TokenStream {
    main_fn::expand(attr.into(), item.into()).into()
}
