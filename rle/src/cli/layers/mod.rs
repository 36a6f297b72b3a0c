//! The layers over the suite's own values, lowest first: configuration file, environment
//! variables, `--set`, options.
//!
//! - `origins`: which layer each value came from.
//! - `file`: the configuration file.

pub(super) mod file;
pub(super) mod origins;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::slice;

use crate::Error;
use crate::algorithm::{AlgorithmOverride, AlgorithmSpec, ConfigChange, typed};
use crate::near_match;
use crate::record::identity::EXCLUDED_COMMON_KEYS;
use crate::suite::SuiteConfig;
use crate::suite::config::SUITE_CODE;
use crate::suite::config::raw::{Given, Raw, parse_bool, parse_uint};
use crate::suite::config::selection::flag_option;
use crate::suite::config::settings::{self, Kind, LOG_SECTION, settings};
use crate::value::{Value, ValueError};

use super::args::{Command, Invocation};
use super::show::Format;
use origins::Origins;

/// Variables that a flag's name could collide with but that mean something else.
const OTHER_VARIABLES: [&str; 5] =
    ["RLE_CLOCK", "RLE_DEBUG", "RLE_VERBOSE", "RLE_LOG", "RLE_PROGRESS_SECONDS"];

/// A start's configuration, and what else was asked for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) config: SuiteConfig,
    /// Which layer each value of the configuration came from.
    pub(super) origins: Origins,
    pub(super) asked: Asked,
}

/// What is asked of this one invocation and is no part of a suite.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) dry_run: bool,
    pub(super) format: Format,
    /// `status --why`.
    pub(super) why: Option<String>,
    /// `verify --interruption`.
    pub(super) interruption: bool,
    /// `archive prune --keep`.
    pub(super) keep: Option<u32>,
    /// `archive prune --yes`.
    pub(super) yes: bool,
}

/// Applies all layers.
///
/// # Errors
/// The first value that is not accepted, with the place it comes from.
pub(super) fn assign_all(
    config: SuiteConfig,
    invocation: &Invocation,
    specs: &[AlgorithmSpec],
) -> Result<Request, Error> {
    let ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"RLE_");
    let variables = env::vars_os().filter(|(name, _)| ours(name)).collect();
    assign_with(config, invocation, specs, &variables)
}

fn assign_with(
    config: SuiteConfig,
    invocation: &Invocation,
    specs: &[AlgorithmSpec],
    variables: &BTreeMap<OsString, OsString>,
) -> Result<Request, Error> {
    let mut layers = Layers::new(config, specs, invocation.command);
    let config_file = match invocation.last("config") {
        Some(path) => Some(path.to_owned()),
        None => variable("RLE_CONFIG", variables)?,
    };
    if let Some(path) = config_file {
        file::apply(&mut layers, path.as_ref())?;
    }
    for (key, name) in layers.named_by(variables) {
        if let Some(text) = variable(&name, variables)? {
            layers.layer.clone_from(&name);
            layers.assign_text(key, text, &name)?;
        }
    }
    let (sets, options): (Vec<_>, Vec<_>) = invocation
        .values
        .iter()
        .filter(|(key, _)| key != "config" && !invocation.is_about_files(key))
        .partition(|(key, _)| key == "set");
    for (key, text) in sets.into_iter().chain(options) {
        layers.layer = flag_option(key);
        layers.assign_text(key, text.clone(), &flag_option(key))?;
    }
    let Layers { config, origins, asked, .. } = layers;
    Ok(Request { config, origins, asked })
}

/// The text of a variable; none where it is unset or empty.
fn variable(name: &str, variables: &BTreeMap<OsString, OsString>) -> Result<Option<String>, Error> {
    let Some(text) = variables.get(OsStr::new(name)).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let wrong = || Error::usage(format!("{name}: `{}` is not valid UTF-8", text.display()));
    text.to_str().ok_or_else(wrong).map(|text| Some(text.to_owned()))
}

/// The settings that variables of the environment give; `config` is read before them. `RLE_VERSION`
/// and `RLE_HELP` ask for nothing.
fn variable_keys<'a>() -> impl Iterator<Item = &'a str> {
    settings()
        .filter(|setting| setting.kind != Kind::Switch && setting.key != "config")
        .filter(|setting| setting.only_for.is_empty())
        .map(|setting| setting.key)
}

/// The configuration while layers are applied to it.
pub(super) struct Layers<'a> {
    pub(super) config: SuiteConfig,
    pub(super) specs: &'a [AlgorithmSpec],
    /// The layer that is applied now: a file, a variable or an option.
    pub(super) layer: String,
    pub(super) origins: Origins,
    command: Command,
    asked: Asked,
}

impl<'a> Layers<'a> {
    fn new(mut config: SuiteConfig, specs: &'a [AlgorithmSpec], command: Command) -> Self {
        let mut origins = Origins::default();
        let mut defaults = SuiteConfig::new(config.env_name.as_str());
        for setting in settings() {
            let Some(field) = setting.field else { continue };
            if field(&mut config).value() != field(&mut defaults).value() {
                origins.set(&[setting.key.to_owned()], SUITE_CODE);
            }
        }
        let tables = ["env_config", "common_config", "provenance"].map(ToOwned::to_owned);
        for key in config.flags.keys().chain(&tables) {
            origins.set(slice::from_ref(key), SUITE_CODE);
        }
        let layer = SUITE_CODE.to_owned();
        let mut layers = Self { config, specs, layer, origins, command, asked: Asked::default() };
        let common: Vec<String> = layers.config.common_config.keys().cloned().collect();
        layers.note_selectors(common.iter());
        layers
    }

    /// Notes which keys of the shared configuration the layer sets in place of an option.
    pub(super) fn note_selectors<'k>(&mut self, keys: impl Iterator<Item = &'k String>) {
        let flags = self.flags();
        for key in keys {
            if flags.contains(&key.as_str()) || EXCLUDED_COMMON_KEYS.contains(&key.as_str()) {
                self.origins.set(slice::from_ref(key), &self.layer);
            }
        }
    }

    pub(super) fn flags(&self) -> Vec<&'a str> {
        let mut flags: Vec<&str> =
            self.specs.iter().filter_map(|spec| spec.flag.as_deref()).collect();
        flags.sort_unstable();
        flags.dedup();
        flags
    }

    /// The settings and flags that variables give, with the variables' names.
    fn named_by(&self, variables: &BTreeMap<OsString, OsString>) -> Vec<(&'a str, String)> {
        let name = |key: &'a str| (key, format!("RLE_{}", key.to_uppercase()));
        let is_given = |(_, name): &(&str, String)| {
            !OTHER_VARIABLES.contains(&name.as_str()) && variables.contains_key(OsStr::new(name))
        };
        if variables.is_empty() {
            return Vec::new();
        }
        variable_keys().chain(self.flags()).map(name).filter(is_given).collect()
    }

    fn assign_text(&mut self, key: &str, text: String, origin: &str) -> Result<(), Error> {
        match key {
            "set" => self.set(&text),
            "dry_run" => {
                self.asked.dry_run = parse_bool(&Raw::Text(text), origin)?;
                Ok(())
            }
            "format" => {
                self.asked.format = parse_format(&text, origin, self.command)?;
                Ok(())
            }
            "why" => {
                self.asked.why = Some(text);
                Ok(())
            }
            "interruption" => {
                self.asked.interruption = parse_bool(&Raw::Text(text), origin)?;
                Ok(())
            }
            "keep" => {
                self.asked.keep = Some(parse_uint(&Raw::Text(text), origin, u64::from(u32::MAX))?);
                Ok(())
            }
            "yes" => {
                self.asked.yes = parse_bool(&Raw::Text(text), origin)?;
                Ok(())
            }
            _ => self.assign(key, &Raw::Text(text), origin),
        }
    }

    /// Assigns a layered setting or a flag.
    pub(super) fn assign(&mut self, key: &str, raw: &Raw, origin: &str) -> Result<(), Error> {
        if EXCLUDED_COMMON_KEYS.contains(&key) {
            // It may stand in the shared configuration too: the later layer counts.
            self.config.common_config.remove(key);
        }
        let given = Given { raw, origin, specs: self.specs };
        settings::assign(&mut self.config, key, &given).unwrap_or_else(|| {
            let on = parse_bool(raw, origin)?;
            self.config.common_config.remove(key);
            self.config.flags.insert(key.to_owned(), on);
            Ok(())
        })?;
        self.note(key, raw);
        Ok(())
    }

    /// Notes that the layer has assigned a setting or a flag.
    fn note(&mut self, key: &str, raw: &Raw) {
        let path = [key.to_owned()];
        match raw {
            Raw::Text(fact) if key == "provenance" => {
                let fact = fact.split_once('=').map_or(fact.as_str(), |(fact, _)| fact);
                self.origins.set(&[key.to_owned(), fact.to_owned()], &self.layer);
            }
            Raw::Value(facts) if key == "provenance" => {
                self.origins.merge(&path, facts, &self.layer);
            }
            _ if settings().any(|s| s.key == key && s.kind == Kind::Repeated) => {
                self.origins.add(&path, &self.layer);
            }
            _ => self.origins.set(&path, &self.layer),
        }
    }

    /// Carries out one `--set PATH=VALUE`.
    fn set(&mut self, assignment: &str) -> Result<(), Error> {
        let origin = "--set";
        let (path, text) = split_assignment(assignment)?;
        let raw = || Raw::Text(text.to_owned());
        let fault = |fault: ValueError, root: &str| {
            Error::usage(format!("{origin} {assignment}: {}", fault.under_key(root)))
        };
        match path.as_slice() {
            [root, rest @ ..] if root == "env_config" && !rest.is_empty() => {
                typed::set_untyped(&mut self.config.env_config, rest, text)
                    .map_err(|error| fault(error, root))?;
                self.origins.set(&path, origin);
                Ok(())
            }
            [root, rest @ ..] if root == "common_config" && !rest.is_empty() => {
                let table = std::mem::take(&mut self.config.common_config);
                let mut table = Value::Object(table);
                let outcome = typed::set_untyped(&mut table, rest, text);
                if let Value::Object(table) = table {
                    self.config.common_config = table;
                }
                outcome.map_err(|error| fault(error, root))?;
                self.origins.set(&path, origin);
                self.note_selectors(rest.first().into_iter());
                Ok(())
            }
            [root, algorithm, rest @ ..] if root == "algorithm_configs" && !rest.is_empty() => {
                self.config.overrides.push(AlgorithmOverride {
                    algorithm: algorithm.clone(),
                    origin: origin.to_owned(),
                    change: ConfigChange::Text { path: rest.to_vec(), text: text.to_owned() },
                });
                Ok(())
            }
            [root, key] if root == "provenance" => {
                self.assign(root, &Raw::Text(format!("{key}={text}")), origin)
            }
            [root, key] if root == LOG_SECTION => {
                self.assign(settings::log_setting(key)?, &raw(), &format!("{origin} log.{key}"))
            }
            [key] if self.is_layered(key) => self.assign(key, &raw(), &format!("{origin} {key}")),
            _ => Err(self.misplaced(assignment, &path)),
        }
    }

    /// Why a path of `--set` names nothing that can be set.
    fn misplaced(&self, assignment: &str, path: &[String]) -> Error {
        let root = path.first().map_or("", String::as_str);
        let known = self.roots();
        if !known.contains(&root) {
            return Error::usage(format!(
                "--set {assignment}: there is no setting `{root}`{}",
                near_match::hint_or_list(root, known)
            ));
        }
        let example = match root {
            "algorithm_configs" => "algorithm_configs.ALGORITHM.KEY=VALUE",
            "provenance" => "provenance.KEY=VALUE",
            LOG_SECTION => "log.backend=wandb",
            "variants" => "algorithm_configs.\"VARIANT\".KEY=VALUE",
            _ => "env_config.KEY=VALUE",
        };
        Error::usage(format!(
            "--set {assignment}: the path ends too early or goes too deep; expected a path such as \
             {example}"
        ))
    }

    /// What is wrong with a key of a configuration file that is no setting.
    pub(super) fn unknown_key(&self, key: &str) -> String {
        format!("there is no setting `{key}`{}", near_match::hint(key, self.roots()))
    }

    fn is_layered(&self, key: &str) -> bool {
        settings().any(|setting| setting.field.is_some() && setting.key == key)
            || self.flags().contains(&key)
    }

    /// First words of what may be set or stand in a configuration file.
    pub(super) fn roots(&self) -> Vec<&'a str> {
        let layered = settings().filter(|setting| setting.field.is_some());
        let mut roots: Vec<&str> =
            ["env_config", "common_config", "algorithm_configs", "variants", LOG_SECTION].into();
        roots.extend(layered.map(|setting| setting.key).chain(self.flags()));
        roots
    }
}

/// Splits `a."b.c".d=value` into its path and its text.
fn split_assignment(assignment: &str) -> Result<(Vec<String>, &str), Error> {
    let malformed = |problem: &str| {
        Error::usage(format!(
            "--set {assignment}: {problem}; expected PATH=VALUE such as \
             algorithm_configs.ippo.lr=1e-3"
        ))
    };
    let mut path = vec![String::new()];
    let mut quoted = false;
    for (at, character) in assignment.char_indices() {
        let segment = path.last_mut().expect("a path has a segment from the start");
        match character {
            '"' => quoted = !quoted,
            '.' if !quoted => path.push(String::new()),
            '=' if !quoted => {
                if path.iter().any(String::is_empty) {
                    return Err(malformed("a part of the path is empty"));
                }
                return Ok((path, &assignment[at + 1..]));
            }
            other => segment.push(other),
        }
    }
    Err(malformed(if quoted { "a quote is not closed" } else { "there is no `=`" }))
}

/// The form in which a command prints. TOML is the text that `config` prints.
pub(super) fn parse_format(text: &str, origin: &str, command: Command) -> Result<Format, Error> {
    match (text, command) {
        ("text", _) | ("toml", Command::Config) => Ok(Format::Text),
        ("json", _) => Ok(Format::Json),
        (_, command) => {
            let is_config = command == Command::Config;
            let accepted = if is_config { "text, json or toml" } else { "text or json" };
            Err(Error::usage(format!("{origin}: `{text}` is not a format; use {accepted}")))
        }
    }
}

#[cfg(test)]
mod tests;
