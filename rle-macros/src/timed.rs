//! `#[rle::timed]` and `timed_block!`: one guard line at the start of a body.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::LitStr;

use crate::args::{self, Arg, Form, Runtime, Seen};
use crate::body;
use crate::error::Errors;
use crate::item::Function;
use crate::name::{did_you_mean, is_keyword, is_lower_snake, to_slug};
use crate::tokens::{group_of, is_path, ungrouped};

const ATTRIBUTE: &str = "#[rle::timed]";
const KNOWN: [&str; 5] = ["debug", "metric", "group", "in", "crate"];
const EXPECTED: &str = "`debug`, `metric`, `group = \"..\"`, `in = path` or `crate = path`";
/// Options that cannot be the name of a stage.
const KEYWORDS: [&str; 2] = ["in", "crate"];
const MISSING: &str = "expected the stage: `\"train\"`, declared by `rle::stages!`";

#[derive(Default)]
struct Options {
    stage: Option<Stage>,
    /// Where the stage is declared, if not in `crate::stages`.
    place: Option<TokenStream>,
    debug: bool,
    metric: bool,
    group: Option<LitStr>,
}

/// A stage as written.
enum Stage {
    /// Its words, each with the span that errors about it point at.
    Below(Vec<Ident>),
    /// A path from `crate`, `self`, `super` or `::` on, which says itself where it begins.
    Rooted(TokenStream),
}

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let args = args::split(attr, &mut errors);
    let options = Options::parse(&args, &mut runtime, &mut errors);
    let written = item.clone();
    let timed = Function::parse(item, ATTRIBUTE, &mut errors).and_then(|function| {
        let before = errors.count();
        function.needs_body(ATTRIBUTE, &mut errors);
        if let Some(span) = function.qualifier("const") {
            let message = "a `const fn` cannot be timed: it may run while the program is compiled";
            errors.push(span, message);
        }
        let guard = options.guard(&runtime.path(), function.qualifier("async").is_some())?;
        (errors.count() == before).then(|| function.with_prologue(guard))
    });
    let mut tokens = timed.unwrap_or(written);
    tokens.extend(errors.into_tokens());
    tokens
}

pub(crate) fn expand_block(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let mut args = args::split(input, &mut errors);
    let block = args.pop_if(|arg| arg.block().is_some()).and_then(|arg| arg.block());
    if block.is_none() {
        let span = args.last().map_or_else(Span::call_site, |arg| arg.span);
        errors.push(span, "expected a block at the end: `timed_block!(\"train\", { .. })`");
    }
    let options = Options::parse(&args, &mut runtime, &mut errors);
    let guard = block
        .as_ref()
        .and_then(|block| options.guard(&runtime.path(), body::awaits(block.stream())));
    let timed = match (block, guard) {
        (Some(block), Some(guard)) => Some(body::insert(&block, guard)),
        (block, _) => block,
    };
    if errors.is_empty() {
        return timed.into_token_stream();
    }
    let errors = errors.into_tokens();
    quote!({ #errors #timed })
}

impl Options {
    fn parse(args: &[Arg], runtime: &mut Runtime, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut seen = Seen::default();
        let mut has_stage = false;
        for (at, arg) in args.iter().enumerate() {
            let is_stage = at == 0 && arg.is_plain() && !arg.is_key_of(&KEYWORDS);
            let key = arg.key().map(|key| key.text);
            if !is_stage && key.as_deref().is_some_and(|key| KNOWN.contains(&key)) {
                seen.once(arg, errors);
            }
            match key.as_deref() {
                _ if is_stage => {
                    has_stage = true;
                    options.stage = Stage::parse(arg, errors);
                }
                Some("debug") => options.debug = arg.switch(errors),
                Some("metric") => options.metric = arg.switch(errors),
                Some("group") => options.group = group_name(arg, errors).or(options.group),
                Some("in") => options.place = arg.path(errors).or(options.place),
                Some("crate") => runtime.set(arg, errors),
                Some(_) => args::unknown(arg, &KNOWN, EXPECTED, errors),
                None => {
                    let message = format!("one stage, then options: expected {EXPECTED}");
                    errors.push(arg.span, message);
                }
            }
        }
        if !has_stage {
            let span = args.first().map_or_else(Span::call_site, |arg| arg.span);
            errors.push(span, MISSING);
        }
        options
    }

    /// The guard line; `None` where the stage is unknown.
    fn guard(&self, rle: &TokenStream, is_async: bool) -> Option<TokenStream> {
        let stage = match self.stage.as_ref()? {
            Stage::Rooted(path) => path.clone(),
            Stage::Below(words) => {
                // Pointing at the literal, but ours: no `unused_qualifications` for the user.
                let span = words[0].span().resolved_at(Span::mixed_site());
                let declared = quote_spanned!(span=> crate::stages);
                let place = self.place.as_ref().unwrap_or(&declared);
                let words = words.iter().map(|word| {
                    let span = word.span();
                    quote_spanned!(span=> ::#word)
                });
                quote!(#place #(#words)*)
            }
        };
        let span = Span::mixed_site();
        let enter = match (is_async, self.debug) {
            (false, false) => "enter",
            (false, true) => "enter_in_debug",
            (true, false) => "enter_async",
            (true, true) => "enter_async_in_debug",
        };
        let enter = Ident::new(enter, span);
        let guard = Ident::new(body::GUARD, span);
        let group = self.group.as_ref().map(|name| quote_spanned!(span=> .in_group(#name)));
        let metric = self.metric.then(|| quote_spanned!(span=> .with_metric()));
        Some(quote_spanned! {span=>
            let #guard = {
                static SITE: #rle::__private::Site =
                    #rle::__private::Site::new(#stage, ::core::module_path!())
                    #group #metric;
                SITE.#enter()
            };
        })
    }
}

/// The name of `group = ".."`: a line of a summary begins with it.
fn group_name(arg: &Arg, errors: &mut Errors) -> Option<LitStr> {
    let name = arg.string(errors)?;
    let text = name.value();
    let problem = if text.trim().is_empty() {
        "the group's name is empty"
    } else if text.contains(char::is_control) {
        "the group's name contains a control character"
    } else {
        return Some(name);
    };
    errors.push(name.span(), format!("{problem}: expected a string of one line"));
    None
}

impl Stage {
    fn parse(arg: &Arg, errors: &mut Errors) -> Option<Self> {
        let tokens = arg.tokens();
        if let Ok(literal) = syn::parse2::<LitStr>(tokens.clone()) {
            return Self::from_literal(&literal, errors);
        }
        let trees = ungrouped(tokens.clone());
        if !is_path(&tokens) {
            errors.push(arg.span, MISSING);
            return None;
        }
        let idents = trees.iter().filter_map(|tree| match tree {
            TokenTree::Ident(ident) => Some(ident.clone()),
            _ => None,
        });
        let roots = ["crate", "self", "super", "$crate"];
        match trees.first() {
            Some(TokenTree::Ident(first)) if !roots.iter().any(|root| first == root) => {
                let words: Vec<_> = idents.collect();
                if let Some(keyword) = words.iter().find(|word| is_keyword(&word.to_string())) {
                    errors.push(keyword.span(), MISSING);
                    return None;
                }
                Some(Self::Below(words))
            }
            _ => Some(Self::Rooted(tokens)),
        }
    }

    fn from_literal(literal: &LitStr, errors: &mut Errors) -> Option<Self> {
        let (text, span) = (literal.value(), literal.span());
        let is_name = |word: &str| is_lower_snake(word) && !is_keyword(word);
        if text.split('.').all(is_name) {
            return Some(Self::Below(text.split('.').map(|word| Ident::new(word, span)).collect()));
        }
        let fixed = text.split('.').map(to_slug).collect::<Vec<_>>().join(".");
        let near = did_you_mean(fixed.split('.').all(is_name).then_some(&fixed));
        let problem = match text.as_str() {
            "" => "the stage name is empty".to_owned(),
            _ => format!("`{text}` is not a valid stage name{near}"),
        };
        let message = format!(
            "{problem}: expected a name declared by `rle::stages!`, such as `train` or `checkpoint.save`"
        );
        errors.push(span, message);
        None
    }
}

impl Arg {
    fn is_plain(&self) -> bool {
        matches!(self.form, Form::Word(_) | Form::Value(_))
    }

    fn is_key_of(&self, keys: &[&str]) -> bool {
        self.key().is_some_and(|key| keys.contains(&key.text.as_str()))
    }

    fn block(&self) -> Option<proc_macro2::Group> {
        let Form::Value(tokens) = &self.form else { return None };
        match ungrouped(tokens.clone()).as_slice() {
            [tree] => group_of(tree, Delimiter::Brace).cloned(),
            _ => None,
        }
    }
}
