//! A fault in a configuration.

use std::fmt;

use crate::value::ValueError;

/// A fault in a configuration, and the dotted path of the key at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigFault {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl ConfigFault {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same fault seen from outside: its configuration stands under `prefix`.
    #[must_use]
    pub(crate) fn under(mut self, prefix: &str) -> Self {
        let link = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{prefix}{link}{}", self.path);
        self
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl From<ValueError> for ConfigFault {
    fn from(error: ValueError) -> Self {
        Self::new(error.path(), error.message())
    }
}
