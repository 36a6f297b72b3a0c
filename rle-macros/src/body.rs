//! Inserts statements into the body of a function without parsing the body.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::LitStr;

use crate::tokens::{AngleDepth, group_of, is_ident, is_punct, skip_visibility, split_attributes};

/// The local that holds a guard.
pub(crate) const GUARD: &str = "__rle_guard";

/// A block with statements after its inner attributes and leading items, and after the guards of
/// attributes above this one: the upper of two stages is the outer.
pub(crate) fn insert(block: &Group, statements: TokenStream) -> Group {
    let trees: Vec<_> = block.stream().into_iter().collect();
    let (before, after) = trees.split_at(leading_items(&trees));
    let mut tokens: TokenStream = before.iter().cloned().collect();
    tokens.extend(statements);
    tokens.extend(after.iter().cloned());
    let mut group = Group::new(block.delimiter(), tokens);
    group.set_span(block.span());
    group
}

/// Whether an `.await` stands anywhere in a block.
pub(crate) fn awaits(block: TokenStream) -> bool {
    let mut after_dot = false;
    block.into_iter().any(|tree| {
        let awaits = after_dot && is_ident(&tree, "await");
        after_dot = is_punct(&tree, '.');
        match tree {
            TokenTree::Group(group) => self::awaits(group.stream()),
            _ => awaits,
        }
    })
}

/// The text of the first paragraph among `#[doc = ".."]` attributes, in one line.
pub(crate) fn first_paragraph(attributes: &[TokenTree]) -> String {
    let lines = attributes.iter().filter_map(|tree| doc_text(group_of(tree, Delimiter::Bracket)?));
    let text = lines.collect::<Vec<_>>().join("\n");
    let paragraph = text
        .lines()
        .map(|line| line.trim().trim_start_matches("* ").trim())
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty());
    paragraph.collect::<Vec<_>>().join(" ")
}

fn doc_text(attribute: &Group) -> Option<String> {
    let trees: Vec<_> = attribute.stream().into_iter().collect();
    match trees.as_slice() {
        [doc, equals, text @ ..] if is_ident(doc, "doc") && is_punct(equals, '=') => {
            syn::parse2(text.iter().cloned().collect()).ok().map(|text: LitStr| text.value())
        }
        _ => None,
    }
}

/// How many tokens at the start are inner attributes and items.
fn leading_items(trees: &[TokenTree]) -> usize {
    let mut at = 0;
    while let Some([hash, bang, list]) = trees.get(at..at + 3)
        && is_punct(hash, '#')
        && is_punct(bang, '!')
        && group_of(list, Delimiter::Bracket).is_some()
    {
        at += 3;
    }
    while let Some(length) = leading_item(&trees[at..]) {
        at += length;
    }
    while let Some([keyword, name, ..]) = trees.get(at..)
        && is_ident(keyword, "let")
        && is_ident(name, GUARD)
        && let Some(length) = up_to_semicolon(&trees[at..])
    {
        at += length;
    }
    at
}

/// How many tokens the item at the start has. `None` for what may not be an item: the new statement
/// then goes before it, which is correct, and at worst a lint reports an item after a statement.
fn leading_item(trees: &[TokenTree]) -> Option<usize> {
    let (_, head) = split_attributes(trees);
    let item = skip_visibility(head);
    let skipped = trees.len() - item.len();
    let TokenTree::Ident(first) = item.first()? else { return None };
    let second = item.get(1);
    let is_second =
        |words: &[&str]| second.is_some_and(|tree| words.iter().any(|word| is_ident(tree, word)));
    let names = matches!(second, Some(TokenTree::Ident(_)));
    let length = match first.to_string().as_str() {
        "use" | "type" => up_to_semicolon(item),
        "const" if is_second(&["fn", "unsafe", "async", "extern"]) => up_to_block(item),
        "const" if names => up_to_semicolon(item),
        "static" if names && !is_second(&["move"]) => up_to_semicolon(item),
        "fn" | "enum" | "trait" | "impl" | "mod" | "struct" | "extern" => up_to_block(item),
        "unsafe" if is_second(&["fn", "impl", "trait", "extern"]) => up_to_block(item),
        "async" if is_second(&["fn", "unsafe", "extern"]) => up_to_block(item),
        _ => None,
    };
    length.map(|length| skipped + length)
}

fn up_to_semicolon(trees: &[TokenTree]) -> Option<usize> {
    trees.iter().position(|tree| is_punct(tree, ';')).map(|at| at + 1)
}

/// Up to the first `{..}` or `;` outside `<..>`.
fn up_to_block(trees: &[TokenTree]) -> Option<usize> {
    let mut depth = AngleDepth::default();
    let ends = |tree: &TokenTree| group_of(tree, Delimiter::Brace).is_some() || is_punct(tree, ';');
    trees.iter().position(|tree| depth.is_outside(tree) && ends(tree)).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(block: &str) -> String {
        let tokens: TokenStream = block.parse().unwrap();
        let Some(TokenTree::Group(group)) = tokens.into_iter().next() else { panic!("{block}") };
        insert(&group, "HERE;".parse().unwrap()).to_string()
    }

    fn assert_goes(marked: &str) {
        let expected: TokenStream = marked.replace('@', "HERE;").parse().unwrap();
        assert_eq!(inserted(&marked.replace('@', "")), expected.to_string());
    }

    #[test]
    fn before_the_first_statement() {
        for block in [
            "{@}",
            "{@ 1 }",
            "{@ let x = 1; use a::b; }",
            "{@ const { 1 } }",
            "{@ unsafe { f() } }",
            "{@ async move { 1 } }",
            "{@ static move || 1 }",
            "{@ #[allow(unused)] let x = 1; }",
            "{@ union { x } }",
        ] {
            assert_goes(block);
        }
    }

    #[test]
    fn after_inner_attributes_and_leading_items() {
        for block in [
            "{ #![allow(unused)] @ x }",
            "{ use a::{b, c}; @ b() }",
            "{ use a::b; let __rle_guard = { a; b }; @ b() }",
            "{ #[derive(Debug)] pub(crate) struct A<const N: usize = { 3 }>([u8; N]); @ A }",
            "{ struct A { x: u8 } impl A { fn f() {} } @ { A } }",
            "{ const X: bool = 1 < 2; static Y: u8 = { 1 }; type Z = u8; const _: () = {}; @ X }",
            "{ fn f<F: Fn() -> u8>(f: F) -> B<{ 1 }> where F: Copy { f } @ f }",
            "{ unsafe extern \"C\" { fn f(); } async fn g() {} const fn h() {} @ h() }",
            "{ unsafe fn f() {} unsafe impl A for B {} extern crate core; @ f() }",
        ] {
            assert_goes(block);
        }
    }
}
