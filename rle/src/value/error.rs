//! The one error of values: what is wrong, and under which key.

use std::fmt;

use serde::{de, ser};

use crate::near_match;

/// A value that cannot be written, read or converted, with the key it stands under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    path: Vec<PathStep>,
    message: String,
    key_fault: Option<KeyFault>,
}

/// One step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

/// A fault with a key itself, kept apart so that a merge can act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// The type knows no such key.
    Unknown(String),
    /// Two keys fill this field: an alias beside its name.
    Duplicate(&'static str),
    /// No key fills a field that has no default.
    Missing,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into(), key_fault: None }
    }

    pub(crate) fn at(path: Vec<PathStep>, message: impl Into<String>) -> Self {
        Self { path, message: message.into(), key_fault: None }
    }

    /// The dotted key path of the value at fault (`algorithm.lr`, `seeds[3]`); empty at the top.
    pub fn path(&self) -> String {
        render_path(&self.path)
    }

    /// What is wrong, without the path.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error seen from outside: its value stands under `key`.
    #[must_use]
    pub fn under_key(self, key: impl Into<String>) -> Self {
        self.under(PathStep::Key(key.into()))
    }

    pub(crate) fn under(mut self, step: PathStep) -> Self {
        self.path.insert(0, step);
        self
    }

    /// The same error at `path`, unless it is at one already.
    pub(super) fn or_at(self, path: &[PathStep]) -> Self {
        if self.path.is_empty() { Self { path: path.to_owned(), ..self } } else { self }
    }

    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.path
    }

    pub(crate) fn key_fault(&self) -> Option<&KeyFault> {
        self.key_fault.as_ref()
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

impl ser::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let fault = KeyFault::Unknown(field.to_owned());
        let message = format!("unknown key `{field}`{}", hint(field, expected));
        Self { key_fault: Some(fault), ..Self::new(message) }
    }

    fn duplicate_field(field: &'static str) -> Self {
        let message = format!("`{field}` is given twice, once under another name");
        Self { key_fault: Some(KeyFault::Duplicate(field)), ..Self::new(message) }
    }

    fn missing_field(field: &'static str) -> Self {
        let message = format!("missing field `{field}`");
        Self { key_fault: Some(KeyFault::Missing), ..Self::new(message) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown variant `{variant}`{}", hint(variant, expected)))
    }
}

/// A dotted path; a key that could be misread is quoted.
pub(super) fn render_path(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        if matches!(step, PathStep::Key(_)) && !text.is_empty() {
            text.push('.');
        }
        text.push_str(&step.to_string());
    }
    text
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"']) => {
                write!(f, "{key:?}")
            }
            Self::Key(key) => f.write_str(key),
        }
    }
}

/// The steps of a path of keys.
pub(crate) fn key_steps(path: &[String]) -> Vec<PathStep> {
    path.iter().cloned().map(PathStep::Key).collect()
}

/// The tail of a message about `word`: the near match, and the accepted words when few.
pub(crate) fn hint(word: &str, accepted: &[impl AsRef<str>]) -> String {
    const FEW: usize = 12;
    if accepted.is_empty() {
        return ", no key is accepted here".to_owned();
    }
    let near = near_match::nearest(word, accepted.iter().map(AsRef::as_ref))
        .map(|near| format!(", did you mean `{near}`?"));
    if accepted.len() > FEW {
        return near.unwrap_or_default();
    }
    let words: Vec<String> = accepted.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    format!("{} accepted: {}", near.as_deref().unwrap_or(","), words.join(", "))
}
