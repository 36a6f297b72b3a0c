//! What changes an algorithm's configuration, whichever layer it comes from: plain data.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// A request for one algorithm's configuration, under its name or slug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AlgorithmOverride {
    /// As written: a label or a slug.
    pub(crate) algorithm: String,
    /// Where it was written, for messages.
    pub(crate) origin: String,
    pub(crate) change: ConfigChange,
}

/// How an override changes a configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfigChange {
    /// A table merged key by key.
    Table(Value),
    /// One value as text: the declared type decides how it is read.
    Text { path: Vec<String>, text: String },
}
