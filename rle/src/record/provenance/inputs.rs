//! Patterns of files that count as source beside the code: data, shaders, tables.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::{Component, Path};

use glob::{MatchOptions, Pattern};

use crate::Error;

/// `*` stays within a directory, and a leading dot has to be written.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The suite's input patterns, relative to the workspace.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    patterns: Vec<Input>,
}

#[derive(Debug)]
struct Input {
    text: String,
    whole: Pattern,
    parts: Vec<Pattern>,
    matched: Cell<bool>,
}

/// The part of a pattern that stands for any number of directories.
const ANY: &str = "**";

impl Inputs {
    pub(super) fn new(texts: &[String]) -> Result<Self, Error> {
        let patterns = texts.iter().map(|text| {
            Input::new(text).map_err(|problem| {
                Error::usage(format!("provenance_inputs: the pattern `{text}` {problem}"))
            })
        });
        Ok(Self { patterns: patterns.collect::<Result<_, _>>()? })
    }

    /// Whether the path itself is an input; a directory is one with all that it holds.
    pub(super) fn matches(&self, relative: &Path) -> bool {
        let mut any = false;
        for input in &self.patterns {
            if input.whole.matches_path_with(relative, OPTIONS) {
                input.matched.set(true);
                any = true;
            }
        }
        any
    }

    /// Whether anything below the directory may be an input.
    pub(super) fn lead_into(&self, relative: &Path) -> bool {
        self.patterns.iter().any(|input| input.leads_into(relative))
    }

    /// Whether a pattern names the path word for word, or what lies below it.
    pub(super) fn name(&self, relative: &Path) -> bool {
        self.patterns.iter().any(|input| {
            let mut parts = input.parts.iter().map(Pattern::as_str).take_while(|part| *part != ANY);
            relative.iter().all(|name| parts.next().is_some_and(|part| part == name))
        })
    }

    pub(super) fn unmatched(&self) -> Vec<&str> {
        let unmatched = self.patterns.iter().filter(|input| !input.matched.get());
        unmatched.map(|input| input.text.as_str()).collect()
    }

    /// The patterns as git's own, below the workspace.
    pub(super) fn for_git(&self) -> impl Iterator<Item = String> {
        self.patterns.iter().flat_map(|input| {
            let text = input.whole.as_str();
            [text.to_owned(), format!("{text}/**")]
        })
    }
}

impl Input {
    fn new(text: &str) -> Result<Self, String> {
        let trimmed = text.trim_end_matches('/');
        let trimmed = trimmed.strip_prefix("./").unwrap_or(trimmed);
        if trimmed.is_empty() {
            return Err("is empty; give a path below the workspace, such as data/*.json".to_owned());
        }
        let leaves = |component| !matches!(component, Component::Normal(_) | Component::CurDir);
        if text.starts_with('/') || Path::new(trimmed).components().any(leaves) {
            let problem = "leaves the workspace; a file outside counts as a required artifact with \
                           a fingerprint";
            return Err(problem.to_owned());
        }
        let pattern = |text: &str| {
            Pattern::new(text)
                .map_err(|error| format!("is malformed: {}", error.msg.to_lowercase()))
        };
        let parts = trimmed.split('/').filter(|part| !part.is_empty() && *part != ".");
        let parts: Vec<&str> = parts.collect();
        let whole = pattern(&parts.join("/"))?;
        let parts = parts.into_iter().map(pattern).collect::<Result<_, String>>()?;
        Ok(Self { text: text.to_owned(), whole, parts, matched: Cell::new(false) })
    }

    fn leads_into(&self, relative: &Path) -> bool {
        let mut parts = self.parts.iter();
        for name in relative {
            match parts.next() {
                // What comes after it may stand at any depth, but not behind a dot.
                Some(part) if part.as_str() == ANY => {
                    return !relative.iter().any(is_hidden)
                        || self.parts.iter().any(|part| part.as_str().starts_with('.'));
                }
                Some(part) if part.matches_path_with(Path::new(name), OPTIONS) => {}
                _ => return false,
            }
        }
        parts.next().is_some()
    }
}

/// Whether a name begins with a dot.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(patterns: &[&str]) -> Inputs {
        Inputs::new(&patterns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_star_stays_in_its_directory_and_two_go_deeper() {
        let matches = |pattern: &str, path: &str| inputs(&[pattern]).matches(Path::new(path));
        assert!(matches("data/*.json", "data/a.json"));
        assert!(!matches("data/*.json", "data/deep/a.json"));
        assert!(matches("data/**/*.json", "data/deep/er/a.json"));
        assert!(matches("data/**/*.json", "data/a.json"));
        assert!(matches("./data/", "data"));
        assert!(!matches("data/*", "data/.cache"));
        assert!(matches("data/.cache", "data/.cache"));
    }

    #[test]
    fn only_directories_that_may_hold_inputs_are_entered() {
        let leads = |pattern: &str, path: &str| inputs(&[pattern]).lead_into(Path::new(path));
        assert!(leads("data/*/x.json", "data"));
        assert!(leads("data/*/x.json", "data/deep"));
        assert!(!leads("data/*/x.json", "data/deep/er"));
        assert!(!leads("data/*/x.json", "other"));
        assert!(leads("**/x.json", "any/where"));
        assert!(!leads("**/x.json", ".git"));
        assert!(leads("**/.maps/x.json", "a/.maps"));
        assert!(!leads("data/x.json", "data/x.json"));
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused_by_name() {
        for (pattern, problem) in [
            ("", "is empty"),
            ("/data/*.json", "leaves the workspace"),
            ("../data/*.json", "leaves the workspace"),
            ("data/../x", "leaves the workspace"),
            ("data/[a", "is malformed"),
            ("data/***", "is malformed"),
            ("data/a**", "is malformed"),
        ] {
            let message = Inputs::new(&[pattern.to_owned()]).unwrap_err().to_string();
            assert!(message.starts_with("provenance_inputs: the pattern `"), "{message}");
            assert!(message.contains(problem), "{message}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_known() {
        let inputs = inputs(&["data/*.json", "dato/*.json"]);
        inputs.matches(Path::new("data/a.json"));
        assert_eq!(inputs.unmatched(), ["dato/*.json"]);
    }
}
