//! Random values for property tests.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::Value;

/// Any value without NaN and infinities, nested up to four levels.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            btree_map(any_text(), inner, 0..6).prop_map(Value::Object),
        ]
    })
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i8..3).prop_map(Value::from),
        finite().prop_map(Value::from),
        any::<f32>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        (-40_i8..40).prop_map(|n| Value::from(f64::from(n))),
        any_text().prop_map(Value::from),
    ]
}

/// Any finite double, by its bits: subnormals and extremes as often as any other.
pub(crate) fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![vec(any::<char>(), 0..6).prop_map(String::from_iter), "[a-c]{0,3}"]
}
