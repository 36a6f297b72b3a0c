//! The head of an annotated function. Its body, and every token of it, stay as written.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

use crate::body;
use crate::error::Errors;
use crate::name::Name;
use crate::tokens::{
    AngleDepth, group_of, is_attribute, is_ident, is_punct, skip_visibility, split_attributes,
};

/// A function, its head taken apart.
pub(crate) struct Function {
    /// All tokens, as written.
    trees: Vec<TokenTree>,
    /// `const`, `async`, `unsafe`, `extern` before the `fn`.
    qualifiers: Vec<Ident>,
    pub(crate) name: Ident,
    generics: Option<Span>,
    params: Group,
    output: Option<TokenStream>,
    has_body: bool,
    /// The first paragraph of the doc comment, in one line.
    pub(crate) doc: String,
    is_deprecated: bool,
}

/// One parameter of a function.
pub(crate) struct Param {
    /// The tokens after the colon; `None` for `self` and its like.
    pub(crate) ty: Option<TokenStream>,
    pub(crate) is_receiver: bool,
    pub(crate) span: Span,
}

/// What an attribute that registers functions calls them, for its messages.
pub(crate) struct Shape {
    /// `an algorithm`, `a prepare`, ...
    pub(crate) what: &'static str,
    /// The expected return type, such as `-> rle::Result<RunResult>`.
    pub(crate) output: &'static str,
}

impl Function {
    /// Parses the head. Another item than a function is an error at its keyword.
    pub(crate) fn parse(item: TokenStream, attribute: &str, errors: &mut Errors) -> Option<Self> {
        let trees = flatten(item);
        let (attributes, head) = split_attributes(&trees);
        let doc = body::first_paragraph(attributes);
        let is_deprecated = attributes.iter().any(|tree| is_attribute(tree, "deprecated"));
        let after_visibility = skip_visibility(head);
        let Some((qualifiers, signature)) = qualifiers(after_visibility) else {
            let span = after_visibility.first().map_or_else(Span::call_site, TokenTree::span);
            let kind = kind_of(after_visibility);
            errors.push(span, format!("`{attribute}` goes on a function, not on {kind}"));
            return None;
        };
        let parsed = Signature::parse(signature);
        let Some(Signature { name, generics, params, output, has_body }) = parsed else {
            errors.push(signature[0].span(), format!("`{attribute}` cannot read this function"));
            return None;
        };
        Some(Self {
            trees,
            qualifiers,
            name,
            generics,
            params,
            output,
            has_body,
            doc,
            is_deprecated,
        })
    }

    /// The name without `r#`.
    pub(crate) fn plain_name(&self) -> Name {
        Name::of(&self.name)
    }

    /// The name for generated code: at the user's span, but hidden from lints.
    pub(crate) fn reference(&self) -> Ident {
        let mut name = self.name.clone();
        name.set_span(name.span().resolved_at(Span::mixed_site()));
        name
    }

    /// The attribute that a field needs which refers to a deprecated function.
    pub(crate) fn allowance(&self) -> Option<TokenStream> {
        self.is_deprecated.then(|| quote_spanned!(Span::mixed_site()=> #[allow(deprecated)]))
    }

    pub(crate) fn qualifier(&self, word: &str) -> Option<Span> {
        self.qualifiers.iter().find(|ident| *ident == word).map(Ident::span)
    }

    pub(crate) fn output(&self) -> Option<&TokenStream> {
        self.output.as_ref()
    }

    pub(crate) fn params_span(&self) -> Span {
        self.params.span()
    }

    pub(crate) fn params(&self) -> Vec<Param> {
        let mut params = Vec::new();
        let mut current = Vec::new();
        let mut depth = AngleDepth::default();
        for tree in self.params.stream() {
            if depth.is_outside(&tree) && is_punct(&tree, ',') {
                params.extend(Param::new(&std::mem::take(&mut current)));
            } else {
                current.push(tree);
            }
        }
        params.extend(Param::new(&current));
        params
    }

    /// Refuses a function without a body.
    pub(crate) fn needs_body(&self, attribute: &str, errors: &mut Errors) {
        if !self.has_body {
            let message = format!("`{attribute}` needs a function with a body");
            errors.push(self.trees.last().map_or_else(Span::call_site, TokenTree::span), message);
        }
    }

    /// Refuses what keeps a function from being registered: qualifiers, generic parameters, `self`,
    /// no return value, no body.
    pub(crate) fn must_be_plain(&self, attribute: &str, shape: &Shape, errors: &mut Errors) {
        let what = shape.what;
        for qualifier in &self.qualifiers {
            errors.push(qualifier.span(), format!("{what} cannot be `{qualifier}`"));
        }
        if let Some(span) = self.generics {
            errors.push(span, format!("{what} cannot have generic parameters"));
        }
        for param in self.params() {
            let implied = param.ty.and_then(|ty| find_ident(ty, "impl"));
            if param.is_receiver {
                let message = format!("{what} is a free function: it cannot take `self`");
                errors.push(param.span, message);
            } else if let Some(span) = implied {
                errors.push(span, format!("{what} cannot have generic parameters"));
            }
        }
        if self.output.is_none() {
            let message = format!("{what} returns a value: expected `{}`", shape.output);
            errors.push(self.params.span_close(), message);
        }
        self.needs_body(attribute, errors);
    }

    /// The function with statements at the start of its body, after inner attributes and leading
    /// items: there the order means nothing, and `clippy::items_after_statements` stays quiet.
    pub(crate) fn with_prologue(mut self, prologue: TokenStream) -> TokenStream {
        if let Some(TokenTree::Group(group)) = self.trees.pop() {
            self.trees.push(TokenTree::Group(body::insert(&group, prologue)));
        }
        self.into_token_stream()
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.trees.iter().cloned());
    }
}

impl Param {
    fn new(trees: &[TokenTree]) -> Option<Self> {
        let (_, bare) = split_attributes(trees);
        let span = bare.first()?.span();
        let colon = single_colon(bare);
        let pattern = &bare[..colon.unwrap_or(bare.len())];
        let is_receiver = pattern.last().is_some_and(|tree| is_ident(tree, "self"));
        let ty = colon.map(|at| bare[at + 1..].iter().cloned().collect());
        Some(Self { ty, is_receiver, span })
    }
}

struct Signature {
    name: Ident,
    generics: Option<Span>,
    params: Group,
    output: Option<TokenStream>,
    has_body: bool,
}

impl Signature {
    /// Reads `fn name<..>(..) -> .. where .. { .. }`.
    fn parse(trees: &[TokenTree]) -> Option<Self> {
        let TokenTree::Ident(name) = trees.get(1)? else { return None };
        let generics = trees.get(2).filter(|tree| is_punct(tree, '<')).map(TokenTree::span);
        let mut depth = AngleDepth::default();
        let (at, params) = trees.iter().enumerate().skip(2).find_map(|(at, tree)| {
            let outside = depth.is_outside(tree);
            group_of(tree, Delimiter::Parenthesis).filter(|_| outside).map(|group| (at, group))
        })?;
        let (last, rest) = trees[at + 1..].split_last()?;
        let output = match rest {
            [dash, angle, ty @ ..] if is_punct(dash, '-') && is_punct(angle, '>') => {
                Some(ty.iter().take_while(|tree| !is_ident(tree, "where")).cloned().collect())
            }
            _ => None,
        };
        let has_body = group_of(last, Delimiter::Brace).is_some();
        (has_body || is_punct(last, ';')).then(|| Self {
            name: name.clone(),
            generics,
            params: params.clone(),
            output,
            has_body,
        })
    }
}

/// The item out of the invisible groups that `$item:item` and `$body:block` come in.
fn flatten(item: TokenStream) -> Vec<TokenTree> {
    let mut trees: Vec<_> = item.into_iter().collect();
    while let Some(TokenTree::Group(group)) = trees.last()
        && group.delimiter() == Delimiter::None
    {
        let inner = group.stream();
        trees.pop();
        trees.extend(inner);
    }
    trees
}

/// The qualifiers of a function, and what follows them from `fn` on; `None` for another item.
fn qualifiers(trees: &[TokenTree]) -> Option<(Vec<Ident>, &[TokenTree])> {
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(ident) if ident == "fn" => return Some((found, &trees[at..])),
            TokenTree::Ident(ident) if is_qualifier(ident) => found.push(ident.clone()),
            TokenTree::Literal(_) if found.last().is_some_and(|last| last == "extern") => {}
            _ => return None,
        }
    }
    None
}

fn is_qualifier(ident: &Ident) -> bool {
    ["const", "async", "unsafe", "safe", "extern", "default"].iter().any(|word| ident == word)
}

fn kind_of(trees: &[TokenTree]) -> &'static str {
    const KINDS: [(&str, &str); 14] = [
        ("struct", "a struct"),
        ("enum", "an enum"),
        ("union", "a union"),
        ("trait", "a trait"),
        ("impl", "an impl block"),
        ("mod", "a module"),
        ("static", "a static"),
        ("const", "a constant"),
        ("type", "a type alias"),
        ("use", "an import"),
        ("extern", "an extern block"),
        ("macro_rules", "a macro"),
        ("let", "a statement"),
        ("unsafe", "an unsafe item"),
    ];
    let word = |tree: &TokenTree| KINDS.iter().find(|(word, _)| is_ident(tree, word));
    trees.iter().take(1).find_map(word).map_or("this", |(_, kind)| kind)
}

/// The first `:` that is not part of a `::`.
fn single_colon(trees: &[TokenTree]) -> Option<usize> {
    let mut at = 0;
    while at < trees.len() {
        if !is_punct(&trees[at], ':') {
            at += 1;
        } else if trees.get(at + 1).is_some_and(|next| is_punct(next, ':')) {
            at += 2;
        } else {
            return Some(at);
        }
    }
    None
}

fn find_ident(tokens: TokenStream, word: &str) -> Option<Span> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Group(group) => find_ident(group.stream(), word),
        tree => is_ident(&tree, word).then(|| tree.span()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &str) -> Function {
        let mut errors = Errors::default();
        let function = Function::parse(text.parse().unwrap(), "#[x]", &mut errors);
        function.unwrap_or_else(|| panic!("{text}: {:?}", errors.messages()))
    }

    fn refusal(text: &str) -> String {
        let mut errors = Errors::default();
        assert!(Function::parse(text.parse().unwrap(), "#[x]", &mut errors).is_none());
        errors.messages().join("; ")
    }

    #[test]
    fn heads_are_read_whatever_stands_in_them() {
        let f = function(
            "/// First\n/// line.\n///\n/// Second.\n#[inline] pub(in crate::a) unsafe extern \"C\" \
             fn r#type<F: Fn(u8) -> u8, const N: usize>(a: Map<u8, fn(u8) -> u8>, (b, c): (u8, u8)) \
             -> Out<{ N }> where F: Copy { a }",
        );
        assert_eq!(f.plain_name().text, "type");
        assert_eq!(f.doc, "First line.");
        assert!(f.qualifier("unsafe").is_some() && f.qualifier("async").is_none());
        assert!(f.generics.is_some() && f.has_body);
        assert_eq!(f.output().unwrap().to_string(), "Out < { N } >");
        let types: Vec<_> = f.params().iter().map(|p| p.ty.clone().unwrap().to_string()).collect();
        assert_eq!(types, ["Map < u8 , fn (u8) -> u8 >", "(u8 , u8)"]);
    }

    #[test]
    fn receivers_are_seen_in_every_spelling() {
        for receiver in ["self", "&self", "&'a mut self", "mut self", "self: Box<Self>"] {
            let f = function(&format!("fn f({receiver}, x: u8);"));
            let params = f.params();
            assert!(params[0].is_receiver && !params[1].is_receiver, "{receiver}");
            assert!(!f.has_body);
        }
    }

    #[test]
    fn a_qualified_path_in_a_pattern_is_no_type() {
        let params = function("fn f(a::B { x }: a::B, #[cfg(any())] y: u8,) {}").params();
        assert_eq!(params[0].ty.as_ref().unwrap().to_string(), "a :: B");
        assert_eq!(params[1].ty.as_ref().unwrap().to_string(), "u8");
        assert_eq!(params.len(), 2);
    }

    #[test]
    fn other_items_are_named() {
        assert_eq!(refusal("pub struct A;"), "`#[x]` goes on a function, not on a struct");
        assert_eq!(refusal("const X: u8 = 1;"), "`#[x]` goes on a function, not on a constant");
        assert_eq!(refusal("impl A {}"), "`#[x]` goes on a function, not on an impl block");
    }
}
