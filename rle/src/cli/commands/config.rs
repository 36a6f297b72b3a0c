//! The command `config`: every value of the suite as a start would have it, and the layer that it
//! came from, in a form that `--config` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use crate::Error;
use crate::algorithm::{AlgorithmOverride, AlgorithmSpec, ConfigChange};
use crate::console::escape_controls;
use crate::suite::config::selection;
use crate::suite::config::settings::{LOG_SECTION, settings};
use crate::suite::plan;
use crate::suite::{SuiteConfig, resolve_config};
use crate::value::Value;

use crate::cli::layers::Request;
use crate::cli::layers::origins::{Origins, leaves};
use crate::cli::show::{self, Format};

/// The origin of what no layer sets.
const DEFAULT: &str = "default";
const ALGORITHM_DEFAULT: &str = "the algorithm's default";

/// One value, where a configuration file has it.
struct Entry {
    /// The keys of the table that holds it; none at the top of the file.
    table: Vec<String>,
    /// The keys below that table.
    key: Vec<String>,
    value: Value,
    origin: String,
}

impl Entry {
    fn shown(&self) -> (String, Shown<'_>) {
        let path = dotted(&[self.table.as_slice(), &self.key].concat());
        (path, Shown { value: &self.value, origin: &self.origin })
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    value: &'a Value,
    origin: &'a str,
}

pub(in crate::cli) fn config(request: Request, specs: &[AlgorithmSpec]) -> Result<u8, Error> {
    let Request { mut config, origins, asked } = request;
    let (specs, _) = plan::check(&mut config, specs)?;
    for directory in [Some(&config.export_dir), config.log.dir.as_ref()].into_iter().flatten() {
        if directory.to_str().is_none() {
            let path = directory.display();
            return Err(Error::usage(format!("`{path}` is not valid UTF-8: no file can give it")));
        }
    }
    let mut entries = suite_entries(&mut config, &origins, &specs);
    entries.extend(algorithm_entries(&config, &specs)?);
    match asked.format {
        Format::Text => show::out(&as_toml(&entries))?,
        Format::Json => {
            let settings: BTreeMap<String, Shown<'_>> = entries.iter().map(Entry::shown).collect();
            show::json(&BTreeMap::from([("settings", settings)]))?;
        }
    }
    Ok(0)
}

/// What is set for the whole suite, in the order in which it is shown.
fn suite_entries(
    config: &mut SuiteConfig,
    origins: &Origins,
    specs: &[AlgorithmSpec],
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for setting in settings().filter(|setting| setting.key != "provenance") {
        let Some(field) = setting.field else { continue };
        let (table, key) = match setting.log_key {
            Some(key) => (vec![LOG_SECTION.to_owned()], key),
            None => (Vec::new(), setting.key),
        };
        let origin = origins.of(&[setting.key.to_owned()]).unwrap_or(DEFAULT).to_owned();
        entries.push(Entry {
            table,
            key: vec![key.to_owned()],
            value: field(config).value(),
            origin,
        });
    }
    let flags: BTreeSet<&str> = specs.iter().filter_map(|spec| spec.flag.as_deref()).collect();
    for flag in flags {
        let is_on = config.flags.get(flag).copied().unwrap_or(false);
        let origin = origins.of(&[flag.to_owned()]).unwrap_or(DEFAULT).to_owned();
        let key = vec![flag.to_owned()];
        entries.push(Entry { table: Vec::new(), key, value: Value::from(is_on), origin });
    }
    // What stands above the tables comes first: TOML has it so.
    entries.sort_by_key(|entry| !entry.table.is_empty());
    let tables = [
        ("provenance", Value::Object(config.provenance.metadata.clone())),
        ("env_config", config.env_config.clone()),
        ("common_config", Value::Object(config.common_config.clone())),
    ];
    for (root, table) in tables {
        if table != Value::object() {
            entries.extend(table_entries(&[root.to_owned()], &table, origins));
        }
    }
    for (name, variant) in &config.variants {
        let table = vec!["variants".to_owned(), name.clone()];
        let mut value = Value::object();
        value.insert("algorithm", variant.algorithm.as_str());
        if let Some(slug) = &variant.slug {
            value.insert("slug", slug.as_str());
        }
        value.insert("config", variant.config.clone());
        let mut origins = Origins::default();
        origins.set(&table, &variant.origin);
        entries.extend(table_entries(&table, &value, &origins));
    }
    entries
}

/// The configuration of every algorithm that is selected or configured, with all defaults.
fn algorithm_entries(config: &SuiteConfig, specs: &[AlgorithmSpec]) -> Result<Vec<Entry>, Error> {
    let selected = selection::selected_algorithms(config, specs)?;
    let overrides = selection::overrides_by_algorithm(config, specs)?;
    let mut entries = Vec::new();
    for (index, value) in plan::resolve_configs(config, specs, &selected)? {
        let spec = &specs[index];
        let table = vec!["algorithm_configs".to_owned(), spec.slug.to_string()];
        let changes = plan::changes_of(index, specs, &overrides);
        let origins = origins_of_changes(&table, &changes);
        let mut entries_here = table_entries(&table, &value, &origins);
        let defaults = resolve_config(spec, &[]).unwrap_or(Value::Null);
        let mut layers: Vec<&str> = changes.iter().map(|change| change.origin.as_str()).collect();
        layers.dedup();
        for entry in &mut entries_here {
            // A layer may have given it under another key, which the type accepts too.
            let default = entry.key.iter().try_fold(&defaults, |value, key| value.get(key));
            if entry.origin == ALGORITHM_DEFAULT && default != Some(&entry.value) {
                entry.origin = layers.join(", ");
            }
        }
        entries.append(&mut entries_here);
    }
    Ok(entries)
}

fn origins_of_changes(table: &[String], changes: &[&AlgorithmOverride]) -> Origins {
    let mut origins = Origins::default();
    origins.set(table, ALGORITHM_DEFAULT);
    for change in changes {
        match &change.change {
            ConfigChange::Table(over) => origins.merge(table, over, &change.origin),
            ConfigChange::Text { path, .. } => {
                origins.set(&[table, path.as_slice()].concat(), &change.origin);
            }
        }
    }
    origins
}

/// The values of a table; what is no table is one entry at its place.
fn table_entries(path: &[String], value: &Value, origins: &Origins) -> Vec<Entry> {
    let entry = |(key, leaf): (Vec<String>, &Value)| {
        let origin = origins.of(&[path, key.as_slice()].concat()).unwrap_or(DEFAULT).to_owned();
        Entry { table: path.to_owned(), key, value: leaf.clone(), origin }
    };
    leaves(value).into_iter().map(entry).collect()
}

fn as_toml(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut table: &[String] = &[];
    for entry in entries {
        let origin = escape_controls(&entry.origin);
        if entry.key.is_empty() {
            let Entry { table, value, .. } = entry;
            writeln!(text, "\n# {} is not a table: {value}  # {origin}", dotted(table))
                .expect(INFALLIBLE);
            continue;
        }
        if table != entry.table {
            table = &entry.table;
            write!(text, "\n[{}]\n", dotted(table)).expect(INFALLIBLE);
        }
        let key = dotted(&entry.key);
        let value = match &entry.value {
            // An integer of TOML ends at 2^63 - 1; a seed may be given as a string.
            seed if entry.table.is_empty() && is_too_large(seed) => &Value::from(seed.to_string()),
            value => value,
        };
        let line = match toml_value(value) {
            Some(value) => format!("{key} = {value}  # {origin}"),
            None if entry.value.is_null() => format!("# {key} is not set  # {origin}"),
            None => format!("# {key} cannot be written in TOML: {value}  # {origin}"),
        };
        writeln!(text, "{line}").expect(INFALLIBLE);
    }
    text
}

const INFALLIBLE: &str = "writing to a string does not fail";

/// The value as TOML has it, on one line; none where TOML cannot hold it.
fn toml_value(value: &Value) -> Option<String> {
    if value.leaves().iter().any(|place| value.at(place).is_some_and(is_too_large)) {
        return None;
    }
    let mut text = String::new();
    value.serialize(toml::ser::ValueSerializer::new(&mut text)).ok()?;
    Some(text)
}

fn is_too_large(value: &Value) -> bool {
    value.as_number().is_some_and(|number| !number.is_float() && number.as_i64().is_none())
}

/// The keys as TOML has them: joined by dots, quoted where needed.
fn dotted(path: &[String]) -> String {
    let quoted = |key: &String| {
        let line = toml::to_string(&BTreeMap::from([(key, 0)])).unwrap_or_default();
        line.strip_suffix(" = 0\n").unwrap_or(key).to_owned()
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}
