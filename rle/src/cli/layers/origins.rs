//! Which layer each value of a configuration came from.

use std::collections::BTreeMap;

use crate::value::Value;

/// The layers of values, by the values' paths.
#[derive(Debug, Default)]
pub(in crate::cli) struct Origins(BTreeMap<Vec<String>, String>);

impl Origins {
    /// Notes that `layer` set the value at `path`, and with it everything below.
    pub(in crate::cli) fn set(&mut self, path: &[String], layer: &str) {
        self.0.retain(|known, _| !known.starts_with(path));
        self.0.insert(path.to_owned(), layer.to_owned());
    }

    /// Notes that `layer` added to the list at `path`.
    pub(in crate::cli) fn add(&mut self, path: &[String], layer: &str) {
        let layers = self.0.entry(path.to_owned()).or_default();
        if !layers.split(", ").any(|known| known == layer) {
            let comma = if layers.is_empty() { "" } else { ", " };
            layers.push_str(comma);
            layers.push_str(layer);
        }
    }

    /// Notes that `layer` laid `table` over the one at `path`, key by key.
    pub(in crate::cli) fn merge(&mut self, path: &[String], table: &Value, layer: &str) {
        for (key, value) in leaves(table) {
            // An empty table sets nothing.
            if !key.is_empty() || value.as_object().is_none() {
                self.set(&[path, &key].concat(), layer);
            }
        }
    }

    /// The layer that the value at `path` came from, if one was noted.
    pub(in crate::cli) fn of(&self, path: &[String]) -> Option<&str> {
        (0..=path.len()).rev().find_map(|length| self.0.get(&path[..length])).map(String::as_str)
    }
}

/// What is no table of its own: each with the keys that lead to it. An empty table counts too.
pub(in crate::cli) fn leaves(value: &Value) -> Vec<(Vec<String>, &Value)> {
    match value.as_object() {
        Some(table) if !table.is_empty() => table
            .iter()
            .flat_map(|(key, value)| {
                let below = leaves(value).into_iter();
                below.map(move |(path, leaf)| ([vec![key.clone()], path].concat(), leaf))
            })
            .collect(),
        _ => vec![(Vec::new(), value)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(dotted: &str) -> Vec<String> {
        dotted.split('.').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn the_nearest_layer_above_counts_and_a_later_one_covers_what_was_below() {
        let mut origins = Origins::default();
        origins.set(&path("env"), "code");
        origins.merge(
            &path("env"),
            &Value::parse_json(br#"{"a":{"b":1,"c":{}}}"#).unwrap(),
            "file",
        );
        assert_eq!(origins.of(&path("env.a.b")), Some("file"));
        assert_eq!(origins.of(&path("env.a.c.d")), Some("file"));
        assert_eq!(origins.of(&path("env.a")), Some("code"));
        origins.set(&path("env.a"), "--set");
        assert_eq!(origins.of(&path("env.a.b")), Some("--set"));
        assert_eq!(origins.of(&path("envelope")), None);
        // A table that says nothing changes nothing.
        origins.merge(&path("env"), &Value::object(), "empty");
        assert_eq!(origins.of(&path("env.x")), Some("code"));
    }

    #[test]
    fn a_list_names_each_layer_that_added_to_it_once() {
        let mut origins = Origins::default();
        for layer in ["code", "--rerun", "--rerun"] {
            origins.add(&path("rerun"), layer);
        }
        assert_eq!(origins.of(&path("rerun")), Some("code, --rerun"));
    }
}
