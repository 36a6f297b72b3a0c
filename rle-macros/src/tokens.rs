//! Questions about tokens that several macros ask. Nothing here knows an attribute or an option.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

/// Whether tokens are identifiers joined by `::`, with or without a leading `::`.
pub(crate) fn is_path(tokens: &TokenStream) -> bool {
    let trees = ungrouped(tokens.clone());
    let words = match trees.as_slice() {
        [first, second, rest @ ..] if is_punct(first, ':') && is_punct(second, ':') => rest,
        all => all,
    };
    let is_word = |tree: &TokenTree| matches!(tree, TokenTree::Ident(_));
    !words.is_empty()
        && words.len() % 3 == 1
        && words
            .chunks(3)
            .all(|chunk| is_word(&chunk[0]) && chunk[1..].iter().all(|colon| is_punct(colon, ':')))
}

/// The tokens without the invisible groups that wrap the fragments of `macro_rules!`.
pub(crate) fn ungrouped(tokens: TokenStream) -> Vec<TokenTree> {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                ungrouped(group.stream())
            }
            tree => vec![tree],
        })
        .collect()
}

pub(crate) fn is_punct(tree: &TokenTree, c: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c)
}

pub(crate) fn is_ident(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

pub(crate) fn collect(trees: impl IntoIterator<Item = TokenTree>) -> TokenStream {
    trees.into_iter().collect()
}

pub(crate) fn first_span(tokens: &TokenStream) -> Option<Span> {
    tokens.clone().into_iter().next().map(|tree| tree.span())
}

pub(crate) fn group_of(tree: &TokenTree, delimiter: Delimiter) -> Option<&Group> {
    match tree {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// Whether this is the `[..]` of an attribute of that name.
pub(crate) fn is_attribute(tree: &TokenTree, name: &str) -> bool {
    let first =
        group_of(tree, Delimiter::Bracket).and_then(|list| list.stream().into_iter().next());
    first.is_some_and(|first| is_ident(&first, name))
}

/// Outer attributes and what follows them.
pub(crate) fn split_attributes(trees: &[TokenTree]) -> (&[TokenTree], &[TokenTree]) {
    let mut at = 0;
    while let Some([hash, list]) = trees.get(at..at + 2)
        && is_punct(hash, '#')
        && group_of(list, Delimiter::Bracket).is_some()
    {
        at += 2;
    }
    trees.split_at(at)
}

/// What follows `pub`, `pub(..)` or a `$vis`.
pub(crate) fn skip_visibility(trees: &[TokenTree]) -> &[TokenTree] {
    match trees {
        [vis, rest @ ..] if group_of(vis, Delimiter::None).is_some() => rest,
        [vis, TokenTree::Group(scope), rest @ ..]
            if is_ident(vis, "pub") && scope.delimiter() == Delimiter::Parenthesis =>
        {
            rest
        }
        [vis, rest @ ..] if is_ident(vis, "pub") => rest,
        all => all,
    }
}

/// Tracks whether a token is outside `<..>`; the `>` of an arrow closes nothing.
#[derive(Default)]
pub(crate) struct AngleDepth {
    depth: usize,
    after_dash: bool,
}

impl AngleDepth {
    pub(crate) fn is_outside(&mut self, tree: &TokenTree) -> bool {
        if is_punct(tree, '<') {
            self.depth += 1;
        } else if is_punct(tree, '>') && !self.after_dash {
            self.depth = self.depth.saturating_sub(1);
        }
        self.after_dash = is_punct(tree, '-');
        self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_joined_by_colons() {
        for path in ["a", "::a", "a::b", "crate::a::b", "r#type::x"] {
            assert!(is_path(&path.parse().unwrap()), "{path}");
        }
        for other in ["", "::", "a::", "a b", "a<b>", "\"a\"", "a:::b", "1"] {
            assert!(!is_path(&other.parse().unwrap()), "{other}");
        }
    }
}
