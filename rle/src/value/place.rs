//! Places inside a value, for those who merge and compare.

use super::error::PathStep;
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
