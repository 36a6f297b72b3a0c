//! Values as the layers give them, read as what a setting takes.

use std::time::Duration;

use super::{Format, Raw};
use crate::Error;
use crate::algorithm::typed;
use crate::record::provenance::ProvenanceMode;
use crate::suite::OnBusy;
use crate::value::Value;

fn shown(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) => format!("`{text}`"),
        Raw::Value(value) => format!("`{value}`"),
    }
}

pub(in crate::cli) fn truth(raw: &Raw, origin: &str) -> Result<bool, Error> {
    let read = match raw {
        Raw::Text(text) => typed::bool_word(text),
        Raw::Value(value) => value.as_bool(),
    };
    read.ok_or_else(|| {
        Error::usage(format!(
            "{origin}: {} is no truth value; use one of {}",
            shown(raw),
            typed::BOOL_WORDS
        ))
    })
}

/// A whole number up to `most`; large seeds may be written as text in a TOML file.
pub(in crate::cli) fn whole<N: TryFrom<u64>>(
    raw: &Raw,
    origin: &str,
    most: u64,
) -> Result<N, Error> {
    let read = match raw {
        Raw::Text(text) => text.trim().parse::<u64>().ok(),
        Raw::Value(value) => {
            value.as_u64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
        }
    };
    read.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
        Error::usage(format!("{origin}: {} is no whole number from 0 to {most}", shown(raw)))
    })
}

pub(in crate::cli) fn format(text: &str, origin: &str) -> Result<Format, Error> {
    Format::parse(text)
        .ok_or_else(|| Error::usage(format!("{origin}: `{text}` is no format; use text or json")))
}

pub(in crate::cli) fn provenance_mode(raw: &Raw, origin: &str) -> Result<ProvenanceMode, Error> {
    let read = match raw {
        Raw::Text(text) | Raw::Value(Value::String(text)) => ProvenanceMode::parse(text),
        Raw::Value(value) => Err(format!("expected a mode such as \"capture\", found `{value}`")),
    };
    read.map_err(|problem| Error::usage(format!("{origin}: {problem}")))
}

/// A text that says something; `what` it is, for the message.
pub(in crate::cli) fn non_empty(raw: &Raw, origin: &str, what: &str) -> Result<String, Error> {
    let text = match raw {
        Raw::Text(text) => Some(text.as_str()),
        Raw::Value(value) => value.as_str(),
    };
    text.filter(|text| !text.is_empty())
        .map(ToOwned::to_owned)
        .ok_or_else(|| Error::usage(format!("{origin}: expected {what}, found {}", shown(raw))))
}

/// `1`, `0,2`, `[0,2]`, or an array of a TOML file, as texts.
pub(in crate::cli) fn words(raw: &Raw, origin: &str) -> Result<Vec<String>, Error> {
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
            return Err(Error::usage(format!("{origin}: expected a list, found `{value}`")));
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

pub(in crate::cli) fn duration(raw: &Raw, origin: &str) -> Result<Duration, Error> {
    let text = match raw {
        Raw::Text(text) => text.clone(),
        Raw::Value(value) => value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned),
    };
    humantime::parse_duration(&text).map_err(|_| {
        Error::usage(format!(
            "{origin}: `{text}` is no duration; give one with its unit, such as 90s, 15m or 2h 30m"
        ))
    })
}

pub(in crate::cli) fn on_busy(raw: &Raw, origin: &str) -> Result<OnBusy, Error> {
    let text = match raw {
        Raw::Text(text) => Some(text.as_str()),
        Raw::Value(value) => value.as_str(),
    };
    match text {
        Some("wait") => Ok(OnBusy::Wait),
        Some("skip") => Ok(OnBusy::Skip),
        Some("fail") => Ok(OnBusy::Fail),
        _ => Err(Error::usage(format!("{origin}: {} is none of wait, skip, fail", shown(raw)))),
    }
}

pub(in crate::cli) fn run_numbers(raw: &Raw, origin: &str) -> Result<Vec<u32>, Error> {
    words(raw, origin)?
        .iter()
        .map(|word| {
            word.parse().map_err(|_| {
                Error::usage(format!(
                    "{origin}: `{word}` is no run number; give zero-based runs such as 1 or 0,2"
                ))
            })
        })
        .collect()
}
