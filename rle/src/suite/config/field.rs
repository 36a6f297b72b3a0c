//! The kinds of values that settings have: each is read from a raw value and given back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::Error;
use crate::algorithm::typed;
use crate::metrics::Backend;
use crate::record::ProvenanceMode;
use crate::suite::config::log::{self, LogModeSetting};
use crate::suite::config::on_busy::OnBusy;
use crate::suite::config::raw::{
    Given, Raw, parse_bool, parse_duration, parse_list, parse_non_empty, parse_on_busy,
    parse_provenance_mode, parse_run_numbers, parse_uint,
};
use crate::value::{Value, ValueError};

/// Where a suite keeps a setting's value, and so how it is read.
pub(crate) enum Field<'a> {
    Bool(&'a mut bool),
    Count(&'a mut u32),
    Seed(&'a mut u64),
    Directory(&'a mut PathBuf),
    OptionalDirectory(&'a mut Option<PathBuf>),
    Time(&'a mut Option<Duration>),
    Name(&'a mut Option<String>),
    RunNumbers(&'a mut Option<Vec<u32>>),
    Algorithms(&'a mut Option<Vec<String>>),
    /// A later layer replaces it.
    List(&'a mut Vec<String>),
    /// Every layer adds to it.
    Slots(&'a mut Vec<String>),
    /// As `Slots`, and an empty string is refused.
    RequestPaths(&'a mut Vec<String>),
    OnBusy(&'a mut OnBusy),
    ProvenanceMode(&'a mut ProvenanceMode),
    Facts(&'a mut BTreeMap<String, Value>),
    Backends(&'a mut Option<Vec<Backend>>),
    Level(&'a mut Option<String>),
    LogMode(&'a mut Option<LogModeSetting>),
}

impl Field<'_> {
    /// Sets the value, or adds to it.
    ///
    /// # Errors
    /// Names the origin and what is accepted.
    pub(crate) fn assign(self, given: &Given<'_>) -> Result<(), Error> {
        let Given { raw, origin, .. } = *given;
        let explain = |error: Error| Error::usage(format!("{origin}: {error}"));
        match self {
            Self::Bool(on) => *on = parse_bool(raw, origin)?,
            Self::Count(count) => *count = parse_uint(raw, origin, u64::from(u32::MAX))?,
            Self::Seed(seed) => *seed = parse_uint(raw, origin, u64::MAX)?,
            Self::Directory(path) => *path = parse_non_empty(raw, origin, "a path")?.into(),
            Self::OptionalDirectory(path) => {
                *path = Some(parse_non_empty(raw, origin, "a path")?.into());
            }
            Self::Time(time) => *time = Some(parse_duration(raw, origin)?),
            Self::Name(name) => *name = Some(parse_non_empty(raw, origin, "a name")?),
            Self::RunNumbers(runs) => *runs = Some(parse_run_numbers(raw, origin)?),
            Self::Algorithms(names) => *names = Some(parse_algorithms(given)?),
            Self::List(list) => *list = parse_list(raw, origin)?,
            Self::Slots(slots) => add_new(slots, parse_list(raw, origin)?),
            Self::RequestPaths(paths) => add_new(paths, parse_request_paths(raw, origin)?),
            Self::OnBusy(on_busy) => *on_busy = parse_on_busy(raw, origin)?,
            Self::ProvenanceMode(mode) => *mode = parse_provenance_mode(raw, origin)?,
            Self::Facts(facts) => add_facts(facts, raw, origin)?,
            Self::Backends(backends) => {
                let words = parse_list(raw, origin)?;
                *backends = Some(log::parse_backends(&words).map_err(explain)?);
            }
            Self::Level(level) => {
                let word = parse_non_empty(raw, origin, "a level")?;
                *level = Some(log::parse_level(&word).map_err(explain)?.to_owned());
            }
            Self::LogMode(mode) => {
                *mode = Some(LogModeSetting::Word(parse_non_empty(raw, origin, "a mode")?));
            }
        }
        Ok(())
    }

    /// The value in a form that [`assign`](Self::assign) reads; null where none is set.
    #[cfg(feature = "cli")]
    pub(crate) fn value(self) -> Value {
        let path = |path: &PathBuf| Value::from(path.to_string_lossy().into_owned());
        let backends = |backends: &Vec<Backend>| match backends.as_slice() {
            [] => Value::from(vec!["none"]),
            some => Value::from(some.iter().map(|backend| backend.name()).collect::<Vec<_>>()),
        };
        let word = |word: Result<Value, ValueError>| word.unwrap_or(Value::Null);
        match self {
            Self::Bool(on) => Value::from(*on),
            Self::Count(count) => Value::from(*count),
            Self::Seed(seed) => Value::from(*seed),
            Self::Directory(directory) => path(directory),
            Self::OptionalDirectory(directory) => Value::from(directory.as_ref().map(path)),
            Self::Time(time) => {
                Value::from(time.map(|time| humantime::format_duration(time).to_string()))
            }
            Self::Name(text) | Self::Level(text) => Value::from(text.clone()),
            Self::RunNumbers(runs) => Value::from(runs.clone()),
            Self::Algorithms(names) => Value::from(names.clone()),
            Self::List(list) | Self::Slots(list) | Self::RequestPaths(list) => {
                Value::from(list.clone())
            }
            Self::OnBusy(on_busy) => word(Value::from_serialize(on_busy)),
            Self::ProvenanceMode(mode) => word(Value::from_serialize(mode)),
            Self::Facts(facts) => Value::Object(facts.clone()),
            Self::Backends(list) => Value::from(list.as_ref().map(backends)),
            Self::LogMode(mode) => match mode {
                Some(LogModeSetting::Word(mode)) => Value::from(mode.as_str()),
                Some(LogModeSetting::Mode(mode)) => word(Value::from_serialize(mode)),
                None => Value::Null,
            },
        }
    }

    /// Gives the setting the value that `other`, the same setting, has.
    #[cfg(feature = "cli")]
    pub(super) fn copy_from(self, other: Self) {
        match (self, other) {
            (Self::Bool(to), Self::Bool(from)) => *to = *from,
            (Self::Count(to), Self::Count(from)) => *to = *from,
            (Self::Seed(to), Self::Seed(from)) => *to = *from,
            (Self::Directory(to), Self::Directory(from)) => to.clone_from(from),
            (Self::OptionalDirectory(to), Self::OptionalDirectory(from)) => to.clone_from(from),
            (Self::Time(to), Self::Time(from)) => *to = *from,
            (Self::Name(to), Self::Name(from)) | (Self::Level(to), Self::Level(from)) => {
                to.clone_from(from);
            }
            (Self::RunNumbers(to), Self::RunNumbers(from)) => to.clone_from(from),
            (Self::Algorithms(to), Self::Algorithms(from)) => to.clone_from(from),
            (Self::List(to), Self::List(from))
            | (Self::Slots(to), Self::Slots(from))
            | (Self::RequestPaths(to), Self::RequestPaths(from)) => to.clone_from(from),
            (Self::OnBusy(to), Self::OnBusy(from)) => *to = *from,
            (Self::ProvenanceMode(to), Self::ProvenanceMode(from)) => *to = *from,
            (Self::Facts(to), Self::Facts(from)) => to.clone_from(from),
            (Self::Backends(to), Self::Backends(from)) => to.clone_from(from),
            (Self::LogMode(to), Self::LogMode(from)) => to.clone_from(from),
            _ => unreachable!("one setting is kept in one kind of field"),
        }
    }
}

/// Adds the items that the list does not hold yet.
fn add_new(list: &mut Vec<String>, items: Vec<String>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

/// A label may hold commas: a string that is one whole name is not split.
fn parse_algorithms(given: &Given<'_>) -> Result<Vec<String>, Error> {
    match given.raw {
        Raw::Text(text) if given.specs.iter().any(|spec| spec.name == *text) => {
            Ok(vec![text.clone()])
        }
        raw => parse_list(raw, given.origin),
    }
}

/// Fields across whose differences records are reused; one without a name would be ignored.
fn parse_request_paths(raw: &Raw, origin: &str) -> Result<Vec<String>, Error> {
    let paths = parse_list(raw, origin)?;
    let is_text = matches!(raw, Raw::Text(_));
    if paths.iter().any(String::is_empty) || (paths.is_empty() && is_text) {
        return Err(Error::usage(format!(
            "{origin} names no field; give a path as `status` shows it, such as provenance.source"
        )));
    }
    Ok(paths)
}

/// One `KEY=VALUE`, or a table of a TOML file, over the caller's metadata.
fn add_facts(facts: &mut BTreeMap<String, Value>, raw: &Raw, origin: &str) -> Result<(), Error> {
    let mut metadata = Value::Object(std::mem::take(facts));
    match raw {
        Raw::Value(table @ Value::Object(_)) => typed::merge(&mut metadata, table),
        Raw::Text(text) => {
            let (key, text) = text.split_once('=').ok_or_else(|| {
                Error::usage(format!(
                    "{origin}: `{text}` has no `=`; expected KEY=VALUE such as ticket=EXP-12"
                ))
            })?;
            set_fact(&mut metadata, key, text).map_err(|fault| {
                Error::usage(format!("{origin}: {}", fault.under_key("provenance")))
            })?;
        }
        Raw::Value(value) => {
            return Err(Error::usage(format!("{origin}: expected a table, found `{value}`")));
        }
    }
    if let Value::Object(metadata) = metadata {
        *facts = metadata;
    }
    Ok(())
}

/// A fact that is there already decides by its kind how the text is read; a new one is a string.
fn set_fact(metadata: &mut Value, key: &str, text: &str) -> Result<(), ValueError> {
    if metadata.get(key).is_some() {
        return typed::set_untyped(metadata, &[key.to_owned()], text);
    }
    metadata.insert(key, text);
    Ok(())
}
