//! The TOML configuration file: a layer over the suite's own values.

use std::fs;
use std::path::Path;

use crate::Error;
use crate::algorithm::typed;
use crate::algorithm::{AlgorithmOverride, ConfigChange};
use crate::near_match;
use crate::suite::config::Variant;
use crate::suite::config::raw::Raw;
use crate::suite::config::selection::reserved_key;
use crate::suite::config::settings::{LOG_SECTION, log_setting};
use crate::value::Value;

use crate::cli::layers::Layers;

/// Applies the file at `path`.
///
/// # Errors
/// When it cannot be read, is no TOML (with line and column), or holds an unknown key.
pub(super) fn apply(layers: &mut Layers<'_>, path: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| Error::file(path, syntax_problem(&text, &error)))?;
    let origin = path.display().to_string();
    layers.layer.clone_from(&origin);
    for (key, value) in table {
        let problem = |problem: String| Error::file(path, problem);
        let value = convert(value);
        match key.as_str() {
            "env_config" => {
                let table = as_finite_table(path, &key, value)?;
                typed::merge(&mut layers.config.env_config, &table);
                layers.origins.merge(&[key], &table, &origin);
            }
            "common_config" => {
                let table = as_finite_table(path, &key, value)?;
                let flags = layers.flags().into_iter().collect();
                if let Some(reserved) =
                    table.as_object().and_then(|table| reserved_key(table, &flags))
                {
                    return Err(problem(reserved));
                }
                merge_common(layers, &table);
                layers.origins.merge(&[key], &table, &origin);
                layers.note_selectors(table.as_object().into_iter().flat_map(|table| table.keys()));
            }
            "algorithm_configs" => {
                let Value::Object(configs) = as_table(path, &key, value)? else { continue };
                for (algorithm, config) in configs {
                    let under = format!("{key}.{algorithm}");
                    layers.config.overrides.push(AlgorithmOverride {
                        change: ConfigChange::Table(as_table(path, &under, config)?),
                        algorithm,
                        origin: origin.clone(),
                    });
                }
            }
            "variants" => {
                let Value::Object(variants) = as_table(path, &key, value)? else { continue };
                for (name, variant) in variants {
                    let read = variant_of(path, &origin, &name, variant)?;
                    layers.config.variants.insert(name, read);
                }
            }
            LOG_SECTION => {
                let Value::Object(table) = as_table(path, &key, value)? else { continue };
                for (name, value) in table {
                    let setting = log_setting(&name).map_err(|error| problem(error.to_string()))?;
                    let origin = format!("{origin}: {key}.{name}");
                    layers.assign(setting, &Raw::Value(value), &origin)?;
                }
            }
            key if layers.roots().contains(&key) => {
                layers.assign(key, &Raw::Value(value), &format!("{origin}: {key}"))?;
            }
            key => return Err(problem(layers.unknown_key(key))),
        }
    }
    Ok(())
}

/// `[variants."IPPO fast"]`: the algorithm, and perhaps a slug and a configuration.
fn variant_of(path: &Path, origin: &str, name: &str, value: Value) -> Result<Variant, Error> {
    const KEYS: [&str; 3] = ["algorithm", "slug", "config"];
    let under = format!("variants.{name}");
    let Value::Object(mut table) = as_table(path, &under, value)? else {
        return Err(Error::file(path, format!("`{under}` must be a table")));
    };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = near_match::hint(key, KEYS);
        return Err(Error::file(path, format!("`{under}` has no key `{key}`{hint}")));
    }
    let text = |value: Option<Value>, key: &str| match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            Err(Error::file(path, format!("`{under}.{key}` must be a string, found {other}")))
        }
    };
    let algorithm = text(table.remove("algorithm"), "algorithm")?.ok_or_else(|| {
        Error::file(path, format!("`{under}` names no algorithm; add algorithm = \"...\""))
    })?;
    let slug = text(table.remove("slug"), "slug")?;
    let config = match table.remove("config") {
        None => Value::object(),
        Some(config) => as_table(path, &format!("{under}.config"), config)?,
    };
    Ok(Variant { algorithm, slug, config, origin: origin.to_owned() })
}

fn merge_common(layers: &mut Layers<'_>, over: &Value) {
    let mut table = Value::Object(std::mem::take(&mut layers.config.common_config));
    typed::merge(&mut table, over);
    if let Value::Object(table) = table {
        // A flag in the file outranks the suite's own: the later layer counts.
        for flag in layers.flags() {
            if table.contains_key(flag) {
                layers.config.flags.remove(flag);
            }
        }
        layers.config.common_config = table;
    }
}

fn as_table(path: &Path, key: &str, value: Value) -> Result<Value, Error> {
    match value {
        Value::Object(_) => Ok(value),
        other => Err(Error::file(path, format!("`{key}` must be a table, found {other}"))),
    }
}

/// What stands in a table without a type is checked here, while the file is still known.
fn as_finite_table(path: &Path, key: &str, value: Value) -> Result<Value, Error> {
    let table = as_table(path, key, value)?;
    match table.canonical_json() {
        Ok(_) => Ok(table),
        Err(error) => Err(Error::file(path, error.under_key(key).to_string())),
    }
}

fn syntax_problem(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map(|span| {
        let before = &text[..span.start.min(text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: ")
    });
    format!("{}{}", place.unwrap_or_default(), error.message())
}

/// Dates and times, which JSON does not have, become their text.
fn convert(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(on) => Value::from(on),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(convert).collect()),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, convert(value))).collect())
        }
    }
}
