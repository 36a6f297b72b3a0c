//! `#[rle::main]`: a `main` around the user's, which hands it to the runtime.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args::{self, Runtime, Seen};
use crate::error::Errors;
use crate::item::{Function, Shape};

const ATTRIBUTE: &str = "#[rle::main]";
const SHAPE: Shape =
    Shape { what: "`main`", output: "-> SuiteConfig` or `-> rle::Result<SuiteConfig>" };

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let mut seen = Seen::default();
    for arg in args::split(attr, &mut errors) {
        seen.once(&arg, &mut errors);
        match arg.key() {
            Some(key) if key.text == "crate" => runtime.set(&arg, &mut errors),
            _ => args::unknown(&arg, &["crate"], "nothing, or `crate = path`", &mut errors),
        }
    }
    let written = item.clone();
    let function = Function::parse(item, ATTRIBUTE, &mut errors);
    if let Some(function) = &function {
        check_signature(function, &mut errors);
    }
    match function {
        Some(function) if errors.is_empty() => program(&function, &runtime.path()),
        Some(function) if function.name == "main" => {
            let errors = errors.into_tokens();
            quote! {
                fn main() {
                    #[allow(dead_code)]
                    #written
                }
                #errors
            }
        }
        _ => {
            let errors = errors.into_tokens();
            quote!(#written #errors)
        }
    }
}

fn check_signature(function: &Function, errors: &mut Errors) {
    if function.name != "main" {
        let message = "`#[rle::main]` makes the program: expected `fn main()`";
        errors.push(function.name.span(), message);
    }
    function.must_be_plain(ATTRIBUTE, &SHAPE, errors);
    if let Some(first) = function.params().first() {
        let message = "`main` takes no arguments: the command line is read before it is called";
        errors.push(first.span, message);
    }
}

fn program(function: &Function, rle: &TokenStream) -> TokenStream {
    let main = &function.name;
    let this = function.reference();
    let output = function.output();
    quote_spanned! {Span::mixed_site()=>
        fn #main() -> ::std::process::ExitCode {
            #function

            #rle::__private::run_program::<#output>(
                #this,
                #rle::__private::Program {
                    manifest_dir: ::core::option_env!("CARGO_MANIFEST_DIR").unwrap_or(""),
                    name: ::core::option_env!("CARGO_BIN_NAME")
                        .or(::core::option_env!("CARGO_PKG_NAME"))
                        .unwrap_or(""),
                    version: ::core::option_env!("CARGO_PKG_VERSION").unwrap_or(""),
                    panic_abort: ::core::cfg!(panic = "abort"),
                },
            )
        }
    }
}
