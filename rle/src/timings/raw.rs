//! Pieces of a file's text, which are written back as they were.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use crate::value::Value;

/// A piece of a file's text.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    source: Arc<String>,
    at: Range<usize>,
}

impl Raw {
    pub(super) fn new(source: &Arc<String>, at: Range<usize>) -> Self {
        Self { source: Arc::clone(source), at }
    }

    /// A value's text, with `indent` in the place of its line breaks.
    pub(super) fn indented(value: &Value, indent: &str) -> Self {
        let text = value.to_json_pretty().replace('\n', indent);
        let at = 0..text.len();
        Self { source: Arc::new(text), at }
    }

    pub(super) fn text(&self) -> &str {
        &self.source[self.at.clone()]
    }

    pub(super) fn value(&self) -> Value {
        Value::parse_json(self.text().as_bytes()).unwrap_or_default()
    }
}

/// Appends a member of an object: its key, and its value's text.
pub(super) fn push_member(key: &str, text: &str, out: &mut String) {
    let _ = write!(out, "{}: {text}", Value::from(key));
}
