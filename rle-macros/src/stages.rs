//! `stages!`: a module of constants, and one registration of their names.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};

use crate::algorithm::location;
use crate::args::Runtime;
use crate::error::Errors;
use crate::name::{Name, did_you_mean, is_keyword, is_lower_snake, to_slug};
use crate::tokens::{group_of, is_attribute, is_ident, is_path, is_punct};

/// Names of stages that the runtime itself records under, by their endings.
const RESERVED: [&str; 2] = ["_run", "_prepare"];

/// A declared stage, or a group of them.
struct Entry {
    /// Doc comments, `#[cfg]` and other attributes before the name.
    attributes: Vec<TokenTree>,
    name: Name,
    /// `Some` for a group.
    group: Option<Vec<Entry>>,
}

pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut runtime = Runtime::default();
    let mut parser = Parser { tokens: input.into_iter().peekable(), errors: &mut errors };
    parser.runtime(&mut runtime);
    let entries = parser.entries(
        Span::call_site(),
        "expected at least one stage: `rle::stages! { rollout, train }`",
    );
    let rle = runtime.path();
    let span = Span::mixed_site();
    let constants = entries.iter().map(|entry| entry.declaration("", &rle));
    let mut names = TokenStream::new();
    for entry in &entries {
        entry.list("", &TokenStream::new(), &mut names);
    }
    let location = location(&rle);
    let errors = errors.into_tokens();
    quote_spanned! {span=>
        /// The stages that this crate times.
        pub mod stages {
            #(#constants)*
        }
        #rle::__private::inventory::submit! {
            #rle::__private::StageEntry { names: &[#names], location: #location }
        }
        #errors
    }
}

impl Entry {
    fn declaration(&self, prefix: &str, rle: &TokenStream) -> TokenStream {
        // At the user's name, so that errors and editors lead there; resolved as the macro's own, so
        // that no lint applies.
        let span = self.name.span.resolved_at(Span::mixed_site());
        let full = format!("{prefix}{}", self.name.text);
        let name = Ident::new(&self.name.text, span);
        let attributes = self.attributes.iter();
        let doc = match &self.group {
            _ if self.has_doc() => TokenStream::new(),
            None => doc(&format!("Stage `{full}`.")),
            Some(_) => doc(&format!("Stages of the group `{full}`.")),
        };
        match &self.group {
            None => quote_spanned! {span=>
                #doc #(#attributes)*
                pub const #name: #rle::Stage = #rle::Stage::new(#full);
            },
            Some(entries) => {
                let prefix = format!("{full}.");
                let constants = entries.iter().map(|entry| entry.declaration(&prefix, rle));
                quote_spanned!(span=> #doc #(#attributes)* pub mod #name { #(#constants)* })
            }
        }
    }

    /// Adds the full names, each with the `#[cfg]`s of its own and of its groups.
    fn list(&self, prefix: &str, outer: &TokenStream, names: &mut TokenStream) {
        let mut cfgs = outer.clone();
        for pair in self.attributes.chunks(2) {
            if is_attribute(&pair[1], "cfg") {
                cfgs.extend(pair.iter().cloned());
            }
        }
        let full = format!("{prefix}{}", self.name.text);
        match &self.group {
            None => names.extend(quote_spanned!(Span::mixed_site()=> #cfgs #full,)),
            Some(entries) => {
                let prefix = format!("{full}.");
                for entry in entries {
                    entry.list(&prefix, &cfgs, names);
                }
            }
        }
    }

    fn has_doc(&self) -> bool {
        self.attributes.iter().any(|tree| is_attribute(tree, "doc"))
    }
}

fn doc(text: &str) -> TokenStream {
    quote_spanned!(Span::mixed_site()=> #[doc = #text])
}

struct Parser<'a> {
    tokens: Peekable<IntoIter>,
    errors: &'a mut Errors,
}

impl Parser<'_> {
    /// A leading `crate = path,`.
    fn runtime(&mut self, runtime: &mut Runtime) {
        let Some(keyword) = self.tokens.next_if(|tree| is_ident(tree, "crate")) else { return };
        let equals = self.tokens.next_if(|tree| is_punct(tree, '='));
        let path = self.up_to_comma();
        match equals {
            Some(_) if is_path(&path) => runtime.set_path(path),
            _ => self.errors.push(keyword.span(), "expected `crate = path,`"),
        }
    }

    fn entries(&mut self, span: Span, when_empty: &str) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let before = self.errors.count();
        while self.tokens.peek().is_some() {
            let Some(entry) = self.entry() else { continue };
            if entries.iter().any(|other| other.name.text == entry.name.text) {
                let message = format!("`{}` is declared twice", entry.name.text);
                self.errors.push(entry.name.span, message);
            } else {
                entries.push(entry);
            }
        }
        if entries.is_empty() && self.errors.count() == before {
            self.errors.push(span, when_empty);
        }
        entries
    }

    /// One entry with the comma after it; at most one error is reported up to that comma.
    fn entry(&mut self) -> Option<Entry> {
        let attributes = self.attributes();
        let Some(TokenTree::Ident(ident)) =
            self.tokens.next_if(|tree| matches!(tree, TokenTree::Ident(_)))
        else {
            self.not_a_name();
            return None;
        };
        let group = self.tokens.next_if(|tree| group_of(tree, Delimiter::Brace).is_some());
        let mut is_good = self.is_stage_name(&ident, group.is_some());
        let group = group.map(|group| self.group(&group));
        if let Some(next) = self.tokens.peek()
            && !is_punct(next, ',')
            && is_good
        {
            let span = next.span();
            let rest = self.up_to_comma();
            let message = dashed(&ident, &rest);
            self.errors.push(span, message);
            is_good = false;
        } else {
            self.up_to_comma();
        }
        is_good.then(|| Entry { attributes, name: Name::of(&ident), group })
    }

    fn group(&mut self, group: &TokenTree) -> Vec<Entry> {
        let tokens = match group {
            TokenTree::Group(group) => group.stream(),
            _ => TokenStream::new(),
        };
        let mut parser = Parser { tokens: tokens.into_iter().peekable(), errors: self.errors };
        parser.entries(group.span(), "a group needs stages: `checkpoint { save, load }`")
    }

    fn attributes(&mut self) -> Vec<TokenTree> {
        let mut attributes = Vec::new();
        while let Some(hash) = self.tokens.next_if(|tree| is_punct(tree, '#')) {
            let is_list = |tree: &TokenTree| group_of(tree, Delimiter::Bracket).is_some();
            match self.tokens.next_if(is_list) {
                Some(list) => attributes.extend([hash, list]),
                None => self.errors.push(hash.span(), "expected `#[..]`"),
            }
        }
        attributes
    }

    fn not_a_name(&mut self) {
        let Some(tree) = self.tokens.peek() else {
            self.errors.push(Span::call_site(), "expected a stage after these attributes");
            return;
        };
        let span = tree.span();
        let message = match tree {
            TokenTree::Literal(_) => "expected a stage name without quotes, such as `train`",
            tree if is_punct(tree, ',') => "expected a stage name before this comma",
            _ => {
                "expected a stage name such as `train`, or a group such as `checkpoint { save, load }`"
            }
        };
        self.errors.push(span, message);
        self.up_to_comma();
    }

    /// Whether a name can be declared. A reserved one is an error, but is declared all the same, so
    /// that its uses cause no further errors.
    fn is_stage_name(&mut self, ident: &Ident, is_group: bool) -> bool {
        let name = Name::of(ident);
        let text = &name.text;
        let problem = if is_keyword(text) {
            format!("`{text}` is a keyword: choose another stage name")
        } else if !is_lower_snake(text) {
            let fixed = to_slug(text);
            let near = did_you_mean(is_lower_snake(&fixed).then_some(&fixed));
            format!("`{text}` is not a valid stage name{near}: expected `[a-z][a-z0-9_]*`")
        } else if let Some(suffix) = RESERVED.iter().find(|end| !is_group && text.ends_with(**end))
        {
            let message = format!(
                "`{text}` ends in `{suffix}`, which is reserved for the time of whole runs and prepares"
            );
            self.errors.push(name.span, message);
            return true;
        } else {
            return true;
        };
        self.errors.push(name.span, problem);
        false
    }

    /// Takes everything up to and with the next comma.
    fn up_to_comma(&mut self) -> TokenStream {
        let mut taken = TokenStream::new();
        for tree in self.tokens.by_ref() {
            if is_punct(&tree, ',') {
                break;
            }
            tree.to_tokens(&mut taken);
        }
        taken
    }
}

/// The error for tokens after a name where a comma should be.
fn dashed(ident: &Ident, rest: &TokenStream) -> String {
    let written = format!("{ident}{rest}").replace(' ', "");
    let fixed = to_slug(&written);
    if written.contains('-') && is_lower_snake(&fixed) {
        let near = did_you_mean(Some(&fixed));
        format!("`{written}` is not a valid stage name{near}: expected `[a-z][a-z0-9_]*`")
    } else {
        "expected a comma between stages".to_owned()
    }
}
