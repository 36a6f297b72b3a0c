//! Places inside a value, and where two values differ by what counts for identity.

use std::collections::BTreeSet;

use super::canonical::same_number;
use super::error::{PathStep, render_path};
use super::json_value::Value;

impl Value {
    /// The value at a place.
    pub(crate) fn at(&self, place: &[PathStep]) -> Option<&Self> {
        place.iter().try_fold(self, |value, step| match (value, step) {
            (Self::Object(entries), PathStep::Key(key)) => entries.get(key),
            (Self::Array(items), PathStep::Index(index)) => items.get(*index),
            _ => None,
        })
    }

    /// The value at a place, to change.
    pub(crate) fn at_mut(&mut self, place: &[PathStep]) -> Option<&mut Self> {
        place.iter().try_fold(self, |value, step| match (value, step) {
            (Self::Object(entries), PathStep::Key(key)) => entries.get_mut(key),
            (Self::Array(items), PathStep::Index(index)) => items.get_mut(*index),
            _ => None,
        })
    }

    /// Takes the value at a place out of its object or array; the top itself stays.
    pub(crate) fn remove_at(&mut self, place: &[PathStep]) -> Option<Self> {
        let (last, parent) = place.split_last()?;
        match (self.at_mut(parent)?, last) {
            (Self::Object(entries), PathStep::Key(key)) => entries.remove(key),
            (Self::Array(items), PathStep::Index(index)) if *index < items.len() => {
                Some(items.remove(*index))
            }
            _ => None,
        }
    }

    /// The places of all scalars, empty arrays and empty objects.
    pub(crate) fn leaves(&self) -> Vec<Vec<PathStep>> {
        let mut found = Vec::new();
        self.collect_leaves(&mut Vec::new(), &mut found);
        found
    }

    fn collect_leaves(&self, place: &mut Vec<PathStep>, found: &mut Vec<Vec<PathStep>>) {
        match self {
            Self::Object(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    place.push(PathStep::Key(key.clone()));
                    value.collect_leaves(place, found);
                    place.pop();
                }
            }
            Self::Array(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    place.push(PathStep::Index(index));
                    value.collect_leaves(place, found);
                    place.pop();
                }
            }
            _ => found.push(place.clone()),
        }
    }
}

/// One place where two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Dotted: `algorithm.config.lr`, `layers[2]`; empty when the values as such differ.
    pub(crate) path: String,
    /// The same, step by step.
    pub(crate) place: Vec<PathStep>,
    /// `None` where only the new value has this place.
    pub(crate) old: Option<Value>,
    /// `None` where only the old value has this place.
    pub(crate) new: Option<Value>,
}

/// All differences in the order of their paths, as deep as both values have the same shape.
pub(crate) fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(Some(old), Some(new), &mut Vec::new(), &mut found);
    found
}

fn compare(
    old: Option<&Value>,
    new: Option<&Value>,
    path: &mut Vec<PathStep>,
    found: &mut Vec<Difference>,
) {
    match (old, new) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                path.push(PathStep::Key(key.clone()));
                compare(a.get(key), b.get(key), path, found);
                path.pop();
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                path.push(PathStep::Index(index));
                compare(a.get(index), b.get(index), path, found);
                path.pop();
            }
        }
        (Some(a), Some(b)) if alike(a, b) => {}
        _ => found.push(Difference {
            path: render_path(path),
            place: path.clone(),
            old: old.cloned(),
            new: new.cloned(),
        }),
    }
}

fn alike(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(a), Value::Number(b)) => a == b || same_number(*a, *b),
        _ => old == new,
    }
}
