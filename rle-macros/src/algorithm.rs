//! `#[rle::algorithm]`: the function, one registration, one exported macro named after the slug.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use crate::args::{self, Arg, Form, Runtime, Seen};
use crate::built_in::BUILT_IN_FLAGS;
use crate::error::Errors;
use crate::item::{Function, Shape};
use crate::name::{Name, is_lower_snake, is_lower_word, to_slug};

const ATTRIBUTE: &str = "#[rle::algorithm]";
const KNOWN: [&str; 5] = ["name", "slug", "flag", "requires", "crate"];
const EXPECTED: &str = "`name`, `slug`, `flag`, `requires(..)` or `crate`";
const SHAPE: Shape = Shape { what: "an algorithm", output: "-> rle::Result<RunResult>" };
const SLUG_MAX_BYTES: usize = 100;

#[derive(Default)]
struct Options {
    name: Option<Name>,
    slug: Option<Name>,
    flag: Option<Name>,
    requires: Vec<Requirement>,
}

struct Requirement {
    label: Name,
    path: syn::LitStr,
    fingerprint: bool,
}

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let options = Options::parse(attr, &mut runtime, &mut errors);
    let written = item.clone();
    let registration = Function::parse(item, ATTRIBUTE, &mut errors).and_then(|function| {
        check_signature(&function, &mut errors);
        let name = options.name.clone().unwrap_or_else(|| function.plain_name());
        let slug = slug(&options, &name, &mut errors);
        let is_good = errors.is_empty();
        is_good.then(|| register(&options, &function, &name, &slug, &runtime.path()))
    });
    with_registration(&written, registration, errors)
}

impl Options {
    fn parse(attr: TokenStream, runtime: &mut Runtime, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut seen = Seen::default();
        for arg in args::split(attr, errors) {
            let key = arg.key().map(|key| key.text);
            if key.as_deref() != Some("requires") {
                seen.once(&arg, errors);
            }
            match key.as_deref() {
                Some("name") => options.name = text(&arg, errors),
                Some("slug") => options.slug = text(&arg, errors),
                Some("flag") => options.flag = flag(&arg, errors),
                Some("requires") => options.require(&arg, errors),
                Some("crate") => runtime.set(&arg, errors),
                _ => args::unknown(&arg, &KNOWN, EXPECTED, errors),
            }
        }
        options
    }

    fn require(&mut self, arg: &Arg, errors: &mut Errors) {
        let Some(requirement) = Requirement::parse(arg, errors) else { return };
        if self.requires.iter().any(|other| other.label.text == requirement.label.text) {
            let message = format!("`{}` is required twice", requirement.label.text);
            errors.push(requirement.label.span, message);
        }
        self.requires.push(requirement);
    }
}

impl Requirement {
    fn parse(arg: &Arg, errors: &mut Errors) -> Option<Self> {
        const FORM: &str =
            "expected `requires(label = \"path\")` or `requires(label = \"path\", fingerprint)`";
        let Form::List(_, list) = &arg.form else {
            errors.push(arg.span, FORM);
            return None;
        };
        let mut parts = args::split(list.stream(), errors).into_iter();
        let Some(first) = parts.next() else {
            errors.push(list.span(), FORM);
            return None;
        };
        let Form::Assigned(label, _) = &first.form else {
            errors.push(first.span, FORM);
            return None;
        };
        let path = first.string(errors)?;
        if path.value().is_empty() {
            errors.push(path.span(), format!("the path of `{}` is empty", label.text));
        }
        let mut fingerprint = false;
        for part in parts {
            match &part.form {
                Form::Word(word) if word == "fingerprint" && !fingerprint => fingerprint = true,
                Form::Assigned(..) => errors.push(
                    part.span,
                    "`requires(..)` takes one artifact: write another `requires(..)` for this one",
                ),
                _ => errors.push(part.span, FORM),
            }
        }
        Some(Self { label: label.clone(), path, fingerprint })
    }
}

fn text(arg: &Arg, errors: &mut Errors) -> Option<Name> {
    arg.string(errors).map(|text| Name { text: text.value(), span: text.span() })
}

fn flag(arg: &Arg, errors: &mut Errors) -> Option<Name> {
    let flag = text(arg, errors)?;
    let word = &flag.text;
    if !is_lower_snake(word) {
        let message = format!(
            "`{word}` is not a valid flag name: expected `[a-z][a-z0-9_]*`, such as `run_ippo`"
        );
        errors.push(flag.span, message);
    } else if BUILT_IN_FLAGS.contains(&word.as_str()) {
        let message = format!("`{word}` is the name of a built-in option: choose another flag");
        errors.push(flag.span, message);
    }
    Some(flag)
}

fn slug(options: &Options, name: &Name, errors: &mut Errors) -> Name {
    let given = options.slug.clone();
    let slug = given.clone().unwrap_or_else(|| Name { text: to_slug(&name.text), ..name.clone() });
    let word = &slug.text;
    let problem = if given.is_none() && word.is_empty() {
        format!(
            "`{}` has no ASCII letter or digit to make a slug of: give `slug = \"..\"`",
            name.text
        )
    } else if word.is_empty() {
        "the slug is empty: expected `[a-z0-9_]+`, such as `shielded_ippo`".to_owned()
    } else if !is_lower_word(word) {
        format!("`{word}` is not a valid slug: expected `[a-z0-9_]+`, such as `shielded_ippo`")
    } else if word.starts_with('_') {
        format!(
            "the slug `{word}` begins with `_`, which is reserved for the framework's own folders"
        )
    } else if word == "runs" {
        "the slug `runs` is the folder of the records: give another `slug = \"..\"`".to_owned()
    } else if word.len() > SLUG_MAX_BYTES {
        let length = word.len();
        format!("the slug has {length} bytes: give a `slug = \"..\"` of at most {SLUG_MAX_BYTES}")
    } else {
        return slug;
    };
    errors.push(slug.span, problem);
    slug
}

fn check_signature(function: &Function, errors: &mut Errors) {
    function.must_be_plain(ATTRIBUTE, &SHAPE, errors);
    let params = function.params();
    if params.is_empty() {
        errors.push(
            function.params_span(),
            "an algorithm takes its context, and its config if it has one: expected \
             `(ctx: &RunContext)` or `(ctx: &RunContext, config: Config)`",
        );
    }
    if let Some(third) = params.get(2) {
        errors.push(
            third.span,
            "an algorithm takes its context and at most one config: add fields to the config instead",
        );
    }
}

fn register(
    options: &Options,
    function: &Function,
    name: &Name,
    slug: &Name,
    rle: &TokenStream,
) -> TokenStream {
    let span = Span::mixed_site();
    let (this, allowance) = (function.reference(), function.allowance());
    let (name, doc) = (&name.text, &function.doc);
    let flag = options.flag.as_ref().map_or_else(
        || quote_spanned!(span=> ::core::option::Option::None),
        |Name { text, .. }| quote_spanned!(span=> ::core::option::Option::Some(#text)),
    );
    let requires = options.requires.iter().map(|Requirement { label, path, fingerprint }| {
        let label = &label.text;
        quote_spanned! {span=>
            #rle::__private::Requirement { label: #label, path: #path, fingerprint: #fingerprint }
        }
    });
    // Both places name the type with the user's own tokens, so that a missing `Default` is reported
    // once, at the user's place.
    let config_type = function.params().into_iter().nth(1).and_then(|param| param.ty);
    let (config, run) = config_type.map_or_else(
        || (quote_spanned!(span=> none()), quote_spanned!(span=> run_plain)),
        |ty| {
            let run = quote_spanned!(span=> run_with_config::<#ty, _>);
            (quote_spanned!(span=> of::<#ty>()), run)
        },
    );
    let slug_text = &slug.text;
    let guard = slug_guard(slug);
    let location = location(rle);
    quote_spanned! {span=>
        #rle::__private::inventory::submit! {
            #rle::__private::AlgorithmEntry {
                name: #name,
                slug: #slug_text,
                flag: #flag,
                requires: &[#(#requires),*],
                doc: #doc,
                location: #location,
                #allowance
                type_id: || #rle::__private::type_id_of(&#this),
                config: #rle::__private::ConfigType::#config,
                #allowance
                run: |__rle_context| #rle::__private::#run(__rle_context, #this),
            }
        }
        #guard
    }
}

/// The function as written, followed by its registration or by the errors.
///
/// The macro prescribes the signature, so lints that object to it are switched off.
pub(crate) fn with_registration(
    function: &TokenStream,
    registration: Option<TokenStream>,
    errors: Errors,
) -> TokenStream {
    let registration = registration.filter(|_| errors.is_empty());
    let errors = errors.into_tokens();
    let allowance = registration.as_ref().map(|_| {
        quote_spanned! {Span::mixed_site()=>
            #[allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)]
        }
    });
    quote_spanned!(Span::mixed_site()=> #allowance #function #registration #errors)
}

/// An exported macro named after the slug: two of them in one crate do not compile, and the
/// compiler shows both places.
fn slug_guard(slug: &Name) -> TokenStream {
    let span = slug.span.resolved_at(Span::mixed_site());
    let name = Ident::new(&format!("__rle_algorithm_{}", slug.text), span);
    quote_spanned! {span=>
        #[doc(hidden)]
        #[macro_export]
        #[allow(non_local_definitions)]
        macro_rules! #name {
            () => {};
        }
    }
}

/// The place of the attribute, filled in by the compiler.
pub(crate) fn location(rle: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        #rle::__private::Location {
            file: ::core::file!(),
            line: ::core::line!(),
            column: ::core::column!(),
        }
    }
}
