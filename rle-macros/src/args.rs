//! The options of an attribute: `key`, `key = value`, `key(..)` or a plain value, between commas.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::LitStr;

use crate::error::Errors;
use crate::name::{Name, did_you_mean, nearest};
use crate::tokens::{collect, first_span, is_path, is_punct};

/// One option as written.
pub(crate) struct Arg {
    pub(crate) form: Form,
    /// The first token.
    pub(crate) span: Span,
}

/// The shape of an option.
pub(crate) enum Form {
    /// `key`
    Word(Ident),
    /// `key = tokens`
    Assigned(Name, TokenStream),
    /// `key(tokens)`
    List(Name, Group),
    /// Anything else: a literal, a path, a block.
    Value(TokenStream),
}

/// The options of an attribute, in order. A comma with nothing before it is an error.
pub(crate) fn split(tokens: TokenStream, errors: &mut Errors) -> Vec<Arg> {
    let mut args = Vec::new();
    let mut chunk = Vec::new();
    for tree in tokens {
        if !is_punct(&tree, ',') {
            chunk.push(tree);
        } else if chunk.is_empty() {
            errors.push(tree.span(), "expected an option before this comma");
        } else {
            args.push(Arg::new(std::mem::take(&mut chunk)));
        }
    }
    if !chunk.is_empty() {
        args.push(Arg::new(chunk));
    }
    args
}

impl Arg {
    fn new(trees: Vec<TokenTree>) -> Self {
        let span = trees[0].span();
        Self { form: Form::new(trees), span }
    }

    /// The key, where the option has one.
    pub(crate) fn key(&self) -> Option<Name> {
        match &self.form {
            Form::Word(word) => Some(Name::of(word)),
            Form::Assigned(key, _) | Form::List(key, _) => Some(key.clone()),
            Form::Value(_) => None,
        }
    }

    /// A plain value, a single word among them, as written.
    pub(crate) fn tokens(&self) -> TokenStream {
        match &self.form {
            Form::Word(ident) => ident.to_token_stream(),
            Form::Value(tokens) => tokens.clone(),
            Form::Assigned(..) | Form::List(..) => TokenStream::new(),
        }
    }

    /// Whether the option has no value; one that has is an error.
    pub(crate) fn switch(&self, errors: &mut Errors) -> bool {
        let is_word = matches!(self.form, Form::Word(_));
        if let (false, Some(key)) = (is_word, self.key()) {
            errors.push(key.span, format!("`{0}` takes no value: expected `{0}`", key.text));
        }
        is_word
    }

    /// The string of `key = "string"`.
    pub(crate) fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        let key = self.key()?;
        let Form::Assigned(_, tokens) = &self.form else {
            errors.push(key.span, format!("expected `{0} = \"..\"`", key.text));
            return None;
        };
        let literal = syn::parse2(tokens.clone()).ok();
        if literal.is_none() {
            let message = format!("expected a string: `{} = \"..\"`", key.text);
            errors.push(first_span(tokens).unwrap_or(key.span), message);
        }
        literal
    }

    /// The path of `key = path`.
    pub(crate) fn path(&self, errors: &mut Errors) -> Option<TokenStream> {
        let key = self.key()?;
        match &self.form {
            Form::Assigned(_, tokens) if is_path(tokens) => Some(tokens.clone()),
            Form::Assigned(_, tokens) => {
                let message = format!("expected a path: `{} = a::b`", key.text);
                errors.push(first_span(tokens).unwrap_or(key.span), message);
                None
            }
            _ => {
                errors.push(key.span, format!("expected `{} = path`", key.text));
                None
            }
        }
    }
}

impl Form {
    fn new(mut trees: Vec<TokenTree>) -> Self {
        let TokenTree::Ident(first) = &trees[0] else { return Self::Value(collect(trees)) };
        let key = Name::of(first);
        match trees.get(1) {
            None => Self::Word(first.clone()),
            Some(equals) if is_punct(equals, '=') => {
                Self::Assigned(key, collect(trees.split_off(2)))
            }
            Some(TokenTree::Group(list))
                if trees.len() == 2 && list.delimiter() == Delimiter::Parenthesis =>
            {
                Self::List(key, list.clone())
            }
            Some(_) => Self::Value(collect(trees)),
        }
    }
}

/// Refuses an unknown option; the message suggests the nearest known one.
pub(crate) fn unknown(arg: &Arg, known: &[&str], expected: &str, errors: &mut Errors) {
    let message = match arg.key() {
        Some(key) => {
            let near = did_you_mean(nearest(&key.text, known));
            format!("unknown option `{}`{near}: expected {expected}", key.text)
        }
        None => format!("expected {expected}"),
    };
    errors.push(arg.span, message);
}

/// The keys seen so far; a key given twice is an error.
#[derive(Default)]
pub(crate) struct Seen(Vec<String>);

impl Seen {
    pub(crate) fn once(&mut self, arg: &Arg, errors: &mut Errors) {
        let Some(key) = arg.key() else { return };
        if self.0.contains(&key.text) {
            errors.push(key.span, format!("`{}` is given twice", key.text));
        }
        self.0.push(key.text);
    }
}

/// The runtime crate as the expansion names it: `::rle` unless `crate = path` says otherwise.
pub(crate) struct Runtime(Option<TokenStream>);

impl Runtime {
    pub(crate) const fn default() -> Self {
        Self(None)
    }

    pub(crate) fn set(&mut self, arg: &Arg, errors: &mut Errors) {
        if let Some(path) = arg.path(errors) {
            self.set_path(path);
        }
    }

    pub(crate) fn set_path(&mut self, path: TokenStream) {
        self.0 = Some(path);
    }

    pub(crate) fn path(&self) -> TokenStream {
        self.0.clone().unwrap_or_else(|| quote!(::rle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> TokenStream {
        text.parse().unwrap()
    }

    #[test]
    fn options_take_four_forms() {
        let mut errors = Errors::default();
        let args =
            split(tokens(r#""x", always, name = "a, b", requires(a = "p"), a::b,"#), &mut errors);
        assert!(errors.is_empty());
        assert_eq!(args.len(), 5);
        assert!(matches!(&args[0].form, Form::Value(_)));
        assert!(matches!(&args[1].form, Form::Word(key) if key == "always"));
        assert_eq!(args[2].string(&mut errors).unwrap().value(), "a, b");
        assert!(matches!(&args[3].form, Form::List(key, _) if key.text == "requires"));
        assert!(matches!(&args[4].form, Form::Value(path) if is_path(path)));
    }

    #[test]
    fn stray_commas_are_errors() {
        let mut errors = Errors::default();
        assert_eq!(split(tokens(", a,, b"), &mut errors).len(), 2);
        assert_eq!(errors.messages().len(), 2);
    }

    #[test]
    fn unknown_option_names_the_near_one() {
        let mut errors = Errors::default();
        let args = split(tokens("nmae = 1"), &mut errors);
        unknown(&args[0], &["name"], "`name`", &mut errors);
        assert_eq!(
            errors.messages(),
            ["unknown option `nmae` (did you mean `name`?): expected `name`"]
        );
    }
}
