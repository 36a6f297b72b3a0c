//! Places inside a value, for those who merge and compare.

use super::{Segment, Value};

impl Value {
    /// The value at a place.
    pub(crate) fn at(&self, place: &[Segment]) -> Option<&Self> {
        place.iter().try_fold(self, |value, segment| match (value, segment) {
            (Self::Object(entries), Segment::Key(key)) => entries.get(key),
            (Self::Array(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        })
    }

    /// The value at a place, to change.
    pub(crate) fn at_mut(&mut self, place: &[Segment]) -> Option<&mut Self> {
        place.iter().try_fold(self, |value, segment| match (value, segment) {
            (Self::Object(entries), Segment::Key(key)) => entries.get_mut(key),
            (Self::Array(items), Segment::Index(index)) => items.get_mut(*index),
            _ => None,
        })
    }

    /// Takes the value at a place out of its object or list; the top itself stays.
    pub(crate) fn remove_at(&mut self, place: &[Segment]) -> Option<Self> {
        let (last, parent) = place.split_last()?;
        match (self.at_mut(parent)?, last) {
            (Self::Object(entries), Segment::Key(key)) => entries.remove(key),
            (Self::Array(items), Segment::Index(index)) if *index < items.len() => {
                Some(items.remove(*index))
            }
            _ => None,
        }
    }

    /// The places of all scalars, empty lists and empty objects.
    pub(crate) fn leaves(&self) -> Vec<Vec<Segment>> {
        let mut found = Vec::new();
        self.collect_leaves(&mut Vec::new(), &mut found);
        found
    }

    fn collect_leaves(&self, place: &mut Vec<Segment>, found: &mut Vec<Vec<Segment>>) {
        match self {
            Self::Object(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    place.push(Segment::Key(key.clone()));
                    value.collect_leaves(place, found);
                    place.pop();
                }
            }
            Self::Array(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    place.push(Segment::Index(index));
                    value.collect_leaves(place, found);
                    place.pop();
                }
            }
            _ => found.push(place.clone()),
        }
    }
}
