//! The words of logging's settings: backends, modes and levels.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::metrics::{Backend, LogMode};
use crate::near_match;

/// The levels of the console.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A mode as code gives it, or a vendor's word for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogModeSetting {
    Mode(LogMode),
    /// Which word is accepted depends on the backends, which a later layer may set.
    Word(String),
}

impl LogModeSetting {
    /// The mode that is meant with these backends.
    ///
    /// # Errors
    /// When the word is none of theirs.
    pub(crate) fn resolve(&self, backends: &[Backend]) -> Result<LogMode, Error> {
        match self {
            Self::Mode(mode) => Ok(*mode),
            Self::Word(word) => LogMode::parse(word, backends),
        }
    }
}

/// The level that a word means.
///
/// # Errors
/// Names the accepted words and the near match.
pub(crate) fn parse_level(word: &str) -> Result<&'static str, Error> {
    let lower = word.trim().to_lowercase();
    LEVELS.into_iter().find(|level| *level == lower).ok_or_else(|| {
        Error::usage(format!(
            "`{word}` is not a log level, accepted: {}{}",
            LEVELS.join(", "),
            near_match::hint(word, LEVELS)
        ))
    })
}

/// The backends that the words mean.
///
/// # Errors
/// When one is none, or this program is built without any.
pub(super) fn parse_backends(words: &[String]) -> Result<Vec<Backend>, Error> {
    let backends = Backend::parse_list(&words.join(","))?;
    check_built(&backends)?;
    Ok(backends)
}

/// # Errors
/// When there is a backend and this program is built without any.
pub(crate) fn check_built(backends: &[Backend]) -> Result<(), Error> {
    match backends.first() {
        Some(first) if !cfg!(feature = "loggers") => Err(Error::usage(format!(
            "log backend `{first}`: this program is built without the feature `loggers` of the \
             crate `rle`; turn it on, or use none"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_in_any_case_and_others_find_their_neighbour() {
        assert_eq!(parse_level(" Warn ").unwrap(), "warn");
        let refused = parse_level("wran").unwrap_err().to_string();
        assert!(refused.ends_with("did you mean `warn`?"), "{refused}");
    }

    #[test]
    fn backends_need_their_feature_and_none_needs_nothing() {
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        assert_eq!(parse_backends(&words(&["none"])).unwrap(), []);
        let asked = parse_backends(&words(&["wandb", "tensorboard"]));
        if cfg!(feature = "loggers") {
            assert_eq!(asked.unwrap(), [Backend::Wandb, Backend::TensorBoard]);
        } else {
            let refused = asked.unwrap_err().to_string();
            assert!(refused.contains("without the feature `loggers`"), "{refused}");
        }
    }
}
