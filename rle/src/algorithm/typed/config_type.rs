//! The configuration type of an algorithm: its defaults, and how it reads a value.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::value::{PathStep, Snapshot, Value, ValueError, differences};

/// The configuration type of an algorithm, as plain data that a static can hold.
#[derive(Clone, Copy)]
pub struct ConfigType {
    pub(super) hooks: Option<Hooks>,
}

/// The operations on a configuration type, without its name.
#[derive(Clone, Copy)]
pub(super) struct Hooks {
    pub(super) type_name: fn() -> &'static str,
    pub(super) defaults: fn() -> Result<Snapshot, ValueError>,
    pub(super) read: fn(&Value) -> Result<Checked, ValueError>,
    pub(super) prove: fn(&Value) -> Result<(), ValueError>,
}

/// A configuration that its type has read.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// The typed value serialised again, defaults filled in.
    pub(crate) resolved: Value,
    /// The places of the keys that the type does not know.
    pub(crate) ignored: Vec<Vec<PathStep>>,
    /// The places of enum variants in what was resolved.
    pub(super) variants: BTreeSet<Vec<PathStep>>,
}

impl ConfigType {
    /// An algorithm that takes its configuration, if any, as a plain value.
    pub const fn none() -> Self {
        Self { hooks: None }
    }

    /// An algorithm whose configuration is a `C`.
    pub const fn of<C: Serialize + DeserializeOwned + Default + 'static>() -> Self {
        Self {
            hooks: Some(Hooks {
                type_name: std::any::type_name::<C>,
                defaults: || Value::snapshot_of_defaults(&C::default()),
                read: read::<C>,
                prove: prove::<C>,
            }),
        }
    }

    /// Whether a type was declared.
    pub fn is_typed(&self) -> bool {
        self.hooks.is_some()
    }

    /// The serialised default of the type; an empty object where there is no type.
    pub(crate) fn defaults(&self) -> Result<Value, ValueError> {
        match self.hooks {
            Some(hooks) => (hooks.defaults)().map(|snapshot| snapshot.value),
            None => Ok(Value::object()),
        }
    }
}

impl fmt::Debug for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.hooks.map_or("none", |hooks| (hooks.type_name)());
        f.debug_tuple("ConfigType").field(&name).finish()
    }
}

fn read<C: Serialize + DeserializeOwned>(value: &Value) -> Result<Checked, ValueError> {
    let mut ignored = Vec::new();
    let config: C = serde_ignored::deserialize(value.into_deserializer(), |path| {
        ignored.push(place_of(&path, value));
    })?;
    let Snapshot { value, variants } = Value::snapshot(&config)?;
    Ok(Checked { resolved: value, ignored, variants })
}

/// The place in `input` of a path of `serde_ignored`, which omits the names of enum variants.
fn place_of(path: &serde_ignored::Path<'_>, input: &Value) -> Vec<PathStep> {
    use serde_ignored::Path;
    match path {
        Path::Root => Vec::new(),
        Path::Some { parent } | Path::NewtypeStruct { parent } => place_of(parent, input),
        Path::NewtypeVariant { parent } => {
            let mut place = place_of(parent, input);
            enter_variant(&mut place, input);
            place
        }
        Path::Seq { parent, index } => below(parent, PathStep::Index(*index), input),
        Path::Map { parent, key } => below(parent, PathStep::Key(key.clone()), input),
    }
}

fn below(parent: &serde_ignored::Path<'_>, last: PathStep, input: &Value) -> Vec<PathStep> {
    let mut place = place_of(parent, input);
    place.push(last);
    if input.at(&place).is_some() {
        return place;
    }
    let last = place.pop();
    enter_variant(&mut place, input);
    place.extend(last);
    place
}

fn enter_variant(place: &mut Vec<PathStep>, input: &Value) {
    if let Some(Value::Object(entries)) = input.at(place)
        && entries.len() == 1
    {
        place.extend(entries.keys().next().cloned().map(PathStep::Key));
    }
}

/// Serialises, reads and serialises again, and demands the same each time.
fn prove<C: Serialize + DeserializeOwned>(first: &Value) -> Result<(), ValueError> {
    // A hash set has another order at every reading, and two elements agree every other time.
    let rounds = if has_long_list(first) { 32 } else { 1 };
    for _ in 0..rounds {
        let config: C = first.to().map_err(|error| {
            let message =
                format!("does not read back after it was serialised: {}", error.message());
            ValueError::at(error.steps().to_vec(), message)
        })?;
        let again = Value::from_serialize(&config)?;
        if let Some(difference) = differences(first, &again).into_iter().next() {
            let shown = |side: Option<Value>| side.map_or("nothing".to_owned(), |v| v.to_string());
            let message = format!(
                "changes from {} to {} when it is serialised, read and serialised again, so that \
                 a run would never match its own record (a set without an order, or a field that \
                 loses part of its value)",
                shown(difference.old),
                shown(difference.new)
            );
            return Err(ValueError::at(difference.place, message));
        }
    }
    Ok(())
}

fn has_long_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            items.windows(2).any(|pair| pair[0] != pair[1]) || items.iter().any(has_long_list)
        }
        Value::Object(entries) => entries.values().any(has_long_list),
        _ => false,
    }
}
