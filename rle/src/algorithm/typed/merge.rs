//! Key by key, the later over the earlier.

use std::collections::BTreeSet;

use crate::value::{PathStep, Value};

/// Puts `over` over `base`: objects key by key, everything else replaced.
pub(crate) fn merge(base: &mut Value, over: &Value) {
    merge_variants(base, over, &BTreeSet::new(), &mut Vec::new());
}

/// As [`merge`], where `base` has enum variants at `variants`, of which another one is replaced and
/// not merged; `place` is where `base` is.
pub(super) fn merge_variants(
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
                merge_variants(below.entry(key.clone()).or_default(), value, variants, place);
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
