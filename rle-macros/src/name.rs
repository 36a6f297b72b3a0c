//! A name with its span, the forms that names take, and the known name nearest to a mistyped one.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

/// A name in the user's source: its text without `r#`, and its span.
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

/// The name in lower case, with one `_` for each run of characters other than `[a-z0-9]`, and none
/// at either end.
pub(crate) fn to_slug(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// ` (did you mean ..?)`, or nothing where there is no suggestion.
pub(crate) fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

/// The nearest candidate, by the rule that the runtime has for names on the command line.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    const MIN_SIMILARITY: f64 = 0.75;
    let word = word.to_lowercase();
    candidates
        .iter()
        .map(|&candidate| (similarity(&word, candidate), candidate))
        .filter(|&(similarity, _)| similarity >= MIN_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn similarity(word: &str, candidate: &str) -> f64 {
    let similarity = strsim::jaro_winkler(word, candidate);
    let is_long_enough = word.chars().count().min(candidate.chars().count()) >= 3;
    // Jaro-Winkler rates two exchanged letters in a short name too low.
    let is_one_edit = is_long_enough && strsim::osa_distance(word, candidate) == 1;
    if is_one_edit { similarity.max(0.9) } else { similarity }
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
    fn keywords_of_every_edition() {
        for word in ["type", "gen", "async", "try", "self", "crate", "dyn", "_"] {
            assert!(is_keyword(word), "{word}");
        }
        for word in ["train", "r", "Train", "", "a-b", "union"] {
            assert!(!is_keyword(word), "{word}");
        }
    }
}
