//! A name with the place it was written at, and the nearest of several names to a mistyped one.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

/// A word of the user's source: its text without `r#`, and where it stands.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Name {
    pub(crate) fn of(ident: &Ident) -> Self {
        Self { text: ident.unraw().to_string(), span: ident.span() }
    }
}

/// Whether a word cannot be the plain name of a constant in every edition.
pub(crate) fn is_keyword(word: &str) -> bool {
    word == "gen" || (is_identifier(word) && syn::parse_str::<syn::Ident>(word).is_err())
}

fn is_identifier(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word is `[a-z][a-z0-9_]*`, the form of stage names and flags.
pub(crate) fn is_lower_snake(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && is_lower_word(word)
}

/// Whether every character of a word is one of `[a-z0-9_]`.
pub(crate) fn is_lower_word(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// A text lower-cased, every run of characters other than `[a-z0-9]` as one `_`, trimmed of them.
pub(crate) fn to_slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug.truncate(slug.trim_end_matches('_').len());
    slug
}

/// ` (did you mean ..?)` where one of the candidates is near, else nothing.
pub(crate) fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    }
}

fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = word.chars().count().max(3) / 3;
    candidates
        .iter()
        .map(|&candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance in characters; two neighbours exchanged are one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slug_collapses_runs_and_trims() {
        for (name, slug) in [
            ("IPPO", "ippo"),
            ("Shielded-IPPO", "shielded_ippo"),
            ("PPO w/ GAE", "ppo_w_gae"),
            ("__a--b__", "a_b"),
            ("λ", ""),
            ("PPO λ=0.95", "ppo_0_95"),
        ] {
            assert_eq!(to_slug(name), slug, "{name}");
        }
    }

    #[test]
    fn near_match_is_near() {
        assert_eq!(nearest("nmae", &["name", "slug"]), Some("name"));
        assert_eq!(nearest("require", &["name", "requires"]), Some("requires"));
        assert_eq!(nearest("epochs", &["name", "slug", "flag"]), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("nmae", "name"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn keywords_of_every_edition() {
        for word in ["type", "gen", "async", "try", "self", "crate", "dyn", "_"] {
            assert!(is_keyword(word), "{word}");
        }
        for word in ["train", "r", "Train", "", "a-b", "union"] {
            assert!(!is_keyword(word), "{word}");
        }
    }
}
