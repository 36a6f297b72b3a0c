//! `#[rle::prepare]`: the function, and one registration that names its algorithms by their paths.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::algorithm::{location, with_registration};
use crate::args::{self, Arg, Form, Runtime, Seen};
use crate::error::Errors;
use crate::item::{Function, Shape};
use crate::tokens::is_path;

const ATTRIBUTE: &str = "#[rle::prepare]";
const KNOWN: [&str; 2] = ["always", "crate"];
const EXPECTED: &str = "the path of an algorithm's function, `always` or `crate = path`";
const SHAPE: Shape = Shape { what: "a prepare", output: "-> rle::Result<T>" };

#[derive(Default)]
struct Options {
    always: bool,
    algorithms: Vec<Algorithm>,
}

struct Algorithm {
    path: TokenStream,
    text: String,
}

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let options = Options::parse(attr, &mut runtime, &mut errors);
    let written = item.clone();
    let registration = Function::parse(item, ATTRIBUTE, &mut errors).map(|function| {
        check_signature(&function, &mut errors);
        register(&options, &function, &runtime.path())
    });
    with_registration(&written, registration, errors)
}

impl Options {
    fn parse(attr: TokenStream, runtime: &mut Runtime, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut seen = Seen::default();
        let args = args::split(attr, errors);
        for arg in &args {
            match &arg.form {
                Form::Word(word) if word == "always" => {
                    seen.once(arg, errors);
                    options.always = true;
                }
                Form::Assigned(key, _) if key.text == "crate" => {
                    seen.once(arg, errors);
                    runtime.set(arg, errors);
                }
                Form::Word(_) | Form::Value(_) => options.serve(arg, errors),
                _ => args::unknown(arg, &KNOWN, EXPECTED, errors),
            }
        }
        if options.algorithms.is_empty() && errors.is_empty() {
            let span = args.first().map_or_else(Span::call_site, |arg| arg.span);
            errors.push(
                span,
                "a prepare serves at least one algorithm: expected `#[rle::prepare(function)]`",
            );
        }
        options
    }

    fn serve(&mut self, arg: &Arg, errors: &mut Errors) {
        let path = arg.tokens();
        if !is_path(&path) {
            errors.push(arg.span, format!("expected {EXPECTED}"));
            return;
        }
        let text = path.to_string().replace(' ', "");
        if self.algorithms.iter().any(|other| other.text == text) {
            errors.push(arg.span, format!("`{text}` is named twice"));
        }
        self.algorithms.push(Algorithm { path, text });
    }
}

fn check_signature(function: &Function, errors: &mut Errors) {
    function.must_be_plain(ATTRIBUTE, &SHAPE, errors);
    let params = function.params();
    if params.is_empty() {
        let message = "a prepare takes its context: expected `(ctx: &PrepareContext)`";
        errors.push(function.params_span(), message);
    }
    if let Some(second) = params.get(1) {
        let message = "a prepare takes its context alone: read the config with `ctx.config::<T>()`";
        errors.push(second.span, message);
    }
}

fn register(options: &Options, function: &Function, rle: &TokenStream) -> TokenStream {
    let span = Span::mixed_site();
    let (this, allowance) = (function.reference(), function.allowance());
    let (name, doc, always) = (function.plain_name().text, &function.doc, options.always);
    let algorithms = options.algorithms.iter().map(|Algorithm { path, text }| {
        quote_spanned! {span=>
            #rle::__private::PreparedAlgorithm {
                path: #text,
                type_id: || #rle::__private::type_id_of(&#path),
            }
        }
    });
    let location = location(rle);
    quote_spanned! {span=>
        #rle::__private::inventory::submit! {
            #rle::__private::PrepareEntry {
                name: #name,
                always: #always,
                algorithms: &[#(#algorithms),*],
                doc: #doc,
                location: #location,
                #allowance
                run: |__rle_context| #rle::__private::run_prepare(__rle_context, #this),
            }
        }
    }
}
