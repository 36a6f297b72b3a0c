//! How provenance is gathered, and what a caller may add to it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::value::Value;
use crate::{Error, near_match};

/// Keys that the caller's metadata may not use: they would read like what is captured.
const RESERVED: [&str; 6] =
    ["source", "runtime", "packages", "executable", "metadata", "schema_version"];

/// How the provenance of a start is gathered.
///
/// ```
/// use rle::{ProvenanceMode, SuiteConfig};
///
/// let suite = SuiteConfig::new("pursuit").provenance_mode(ProvenanceMode::RequireClean);
/// # let _ = suite;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvenanceMode {
    /// Source, compiler, packages and executable are captured; what cannot be learnt is replaced
    /// by the reason.
    #[default]
    Capture,
    /// As `Capture`, but the start is refused unless the source is exactly a commit on a branch of
    /// an ordinary repository.
    RequireClean,
    /// Nothing is captured: the caller's metadata alone tells one program from another.
    Supplied,
}

impl ProvenanceMode {
    /// The mode of that name; the error is the rest of a message.
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        Value::from(word).to().map_err(|_| {
            let names = ["capture", "require_clean", "supplied"];
            let hint = near_match::hint(word, names);
            format!("`{word}` is not a provenance mode{hint} (modes: {})", names.join(", "))
        })
    }
}

impl fmt::Display for ProvenanceMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// Checks the caller's metadata, which is identity in every mode.
pub(crate) fn check_metadata(metadata: &BTreeMap<String, Value>) -> Result<(), Error> {
    for (key, value) in metadata {
        if key.is_empty() {
            return Err(Error::usage("provenance: a key of the metadata is empty; give it a name"));
        }
        if RESERVED.contains(&key.as_str()) {
            return Err(Error::usage(format!(
                "provenance: the key `{key}` is reserved for what is captured (reserved: {}); \
                 choose another name, such as `my_{key}`",
                RESERVED.join(", ")
            )));
        }
        value.canonical_json().map_err(|error| error.under_key(key).under_key("provenance"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_by_its_name_and_a_strange_one_is_answered_with_the_near_one() {
        for (name, mode) in [
            ("capture", ProvenanceMode::Capture),
            ("require_clean", ProvenanceMode::RequireClean),
            ("supplied", ProvenanceMode::Supplied),
        ] {
            assert_eq!(ProvenanceMode::parse(name), Ok(mode));
            assert_eq!(mode.to_string(), name);
        }
        let message = ProvenanceMode::parse("require-clean").unwrap_err();
        assert_eq!(
            message,
            "`require-clean` is not a provenance mode; did you mean `require_clean`? (modes: capture, \
             require_clean, supplied)"
        );
    }

    #[test]
    fn metadata_may_not_pretend_to_be_captured() {
        let check = |key: &str| check_metadata(&[(key.to_owned(), Value::from("x"))].into());
        for key in RESERVED {
            let message = check(key).unwrap_err().to_string();
            assert!(message.contains(&format!("`{key}` is reserved")), "{message}");
        }
        assert!(check("").is_err());
        assert!(check("sources").is_ok());
        assert!(check("ticket").is_ok());
    }
}
