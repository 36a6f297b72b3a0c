//! Key by key, the later over the earlier.

use std::collections::BTreeSet;

use crate::value::{PathStep, Value};

/// Lays `over` on `base`: objects key by key, everything else replaced.
pub(crate) fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key).or_default(), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// As [`merge`] on serialised defaults, where an object stands for an enum variant: another
/// variant takes its place instead of standing beside it.
pub(super) fn merge_over_defaults(
    defaults: &Value,
    variants: &BTreeSet<Vec<PathStep>>,
    over: &Value,
) -> Value {
    let mut merged = defaults.clone();
    lay(&mut merged, over, variants, &mut Vec::new());
    merged
}

/// Lays `over` on `base`, whose variants stand at `variants`; `place` is where `base` stands.
pub(super) fn lay(
    base: &mut Value,
    over: &Value,
    variants: &BTreeSet<Vec<PathStep>>,
    place: &mut Vec<PathStep>,
) {
    match (base, over) {
        (Value::Object(below), Value::Object(above)) => {
            let another = !above.is_empty() && !above.keys().any(|key| below.contains_key(key));
            if another && variants.contains(place) {
                below.clear();
            }
            for (key, value) in above {
                place.push(PathStep::Key(key.clone()));
                lay(below.entry(key.clone()).or_default(), value, variants, place);
                place.pop();
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// A value under a path of keys.
pub(super) fn nest(path: &[String], value: Value) -> Value {
    let wrap = |inner: Value, key: &String| [(key.as_str(), inner)].into_iter().collect();
    path.iter().rev().fold(value, wrap)
}
