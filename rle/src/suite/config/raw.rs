//! A value as a layer gives it, and its readers: each names the place and what is accepted.

use std::time::Duration;

use crate::Error;
use crate::algorithm::AlgorithmSpec;
use crate::algorithm::typed;
use crate::record::ProvenanceMode;
use crate::suite::config::on_busy::OnBusy;
use crate::value::Value;

/// A value as a layer gives it.
pub(crate) enum Raw {
    /// A word of the command line or of a variable.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only a program has words"))]
    Text(String),
    /// A value of a configuration file.
    Value(Value),
}

/// A value with what its reader needs to know.
pub(crate) struct Given<'a> {
    pub(crate) raw: &'a Raw,
    /// Where it was given, for messages.
    pub(crate) origin: &'a str,
    pub(crate) specs: &'a [AlgorithmSpec],
}

impl Raw {
    /// The string, where it is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Value(value) => value.as_str(),
        }
    }

    pub(super) fn quoted(&self) -> String {
        match self {
            Self::Text(text) => format!("`{text}`"),
            Self::Value(value) => format!("`{value}`"),
        }
    }
}

pub(crate) fn parse_bool(raw: &Raw, origin: &str) -> Result<bool, Error> {
    let read = match raw {
        Raw::Text(text) => typed::bool_word(text),
        Raw::Value(value) => value.as_bool(),
    };
    read.ok_or_else(|| {
        Error::usage(format!(
            "{origin}: {} is not a boolean; use one of {}",
            raw.quoted(),
            typed::BOOL_WORDS
        ))
    })
}

/// An unsigned number up to `most`; large seeds may be written as strings in a TOML file.
pub(crate) fn parse_uint<N: TryFrom<u64>>(raw: &Raw, origin: &str, most: u64) -> Result<N, Error> {
    let read = match raw {
        Raw::Value(value) if value.as_str().is_none() => value.as_u64(),
        raw => raw.as_str().and_then(|text| text.trim().parse().ok()),
    };
    read.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
        Error::usage(format!("{origin}: {} is not a whole number from 0 to {most}", raw.quoted()))
    })
}

/// A string that is not empty; `what` it is, for the message.
pub(crate) fn parse_non_empty(raw: &Raw, origin: &str, what: &str) -> Result<String, Error> {
    raw.as_str()
        .filter(|text| !text.is_empty())
        .map(ToOwned::to_owned)
        .ok_or_else(|| Error::usage(format!("{origin}: expected {what}, found {}", raw.quoted())))
}

/// `1`, `0,2`, `[0,2]`, or an array of a TOML file, as strings.
pub(crate) fn parse_list(raw: &Raw, origin: &str) -> Result<Vec<String>, Error> {
    let text = match raw {
        Raw::Text(text) => text.as_str(),
        Raw::Value(Value::String(text)) => text,
        Raw::Value(Value::Array(items)) => {
            return Ok(items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), ToOwned::to_owned))
                .collect());
        }
        Raw::Value(value @ Value::Number(_)) => return Ok(vec![value.to_string()]),
        Raw::Value(value) => {
            return Err(Error::usage(format!("{origin}: expected an array, found `{value}`")));
        }
    };
    let inner = text.trim();
    let inner =
        inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner).trim();
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    let unquoted = |word: &str| word.trim().trim_matches(['"', '\'']).to_owned();
    Ok(inner.split(',').map(unquoted).collect())
}

pub(crate) fn parse_duration(raw: &Raw, origin: &str) -> Result<Duration, Error> {
    let text = match raw {
        Raw::Text(text) => text.clone(),
        Raw::Value(value) => value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned),
    };
    humantime::parse_duration(&text).map_err(|_| {
        Error::usage(format!(
            "{origin}: `{text}` is not a duration; give one with its unit, such as 90s, 15m or 2h 30m"
        ))
    })
}

pub(super) fn parse_on_busy(raw: &Raw, origin: &str) -> Result<OnBusy, Error> {
    raw.as_str().and_then(OnBusy::parse).ok_or_else(|| {
        Error::usage(format!("{origin}: {} is none of wait, skip, fail", raw.quoted()))
    })
}

pub(super) fn parse_provenance_mode(raw: &Raw, origin: &str) -> Result<ProvenanceMode, Error> {
    let read = match raw.as_str() {
        Some(text) => ProvenanceMode::parse(text),
        None => Err(format!("expected a mode such as \"capture\", found {}", raw.quoted())),
    };
    read.map_err(|problem| Error::usage(format!("{origin}: {problem}")))
}

pub(super) fn parse_run_numbers(raw: &Raw, origin: &str) -> Result<Vec<u32>, Error> {
    parse_list(raw, origin)?
        .iter()
        .map(|word| {
            word.parse().map_err(|_| {
                Error::usage(format!(
                    "{origin}: `{word}` is not a run number; give zero-based runs such as 1 or 0,2"
                ))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_every_form_that_launchers_write() {
        let read = |text: &str| parse_run_numbers(&Raw::Text(text.to_owned()), "x").ok();
        assert_eq!(read("1"), Some(vec![1]));
        assert_eq!(read("0,2"), Some(vec![0, 2]));
        assert_eq!(read("[0, 2]"), Some(vec![0, 2]));
        assert_eq!(read(""), Some(vec![]));
        for bad in ["-1", "abc", "0,,1", "1.5", "[0"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
