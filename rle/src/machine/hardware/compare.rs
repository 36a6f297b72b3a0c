//! Whether two descriptions of hardware say the same, on what both of them say.

use std::collections::BTreeMap;
use std::fmt;

use super::description::rounded;
use crate::value::Value;
use crate::value::same_number;

/// One field in which two descriptions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The field, dotted: `cpu.max_clock_mhz`, `gpus[0].name`; `gpus` where their lists differ in
    /// length.
    pub field: String,
    /// What the one description says.
    pub left: Value,
    /// What the other says.
    pub right: Value,
}

/// Where two descriptions differ, in the order of the fields.
///
/// Only keys that both have are compared: one that is missing, as in files of older programs, is
/// no difference. Null is a value: it says that there is no limit, or no clock, and differs from a
/// number. Numbers are compared with 2 decimals, `64` and `64.0` are the same, and GPUs are
/// compared in the order of their names and sizes. The ids that the descriptions stand under play no part.
///
/// ```
/// use rle::hardware;
/// use rle::value::Value;
///
/// let a = Value::parse_json(br#"{"cpu": {"max_clock_mhz": 3400.0, "clock_source": null}}"#)?;
/// let b = Value::parse_json(br#"{"cpu": {"max_clock_mhz": 2450}}"#)?;
/// let found = hardware::differences(&a, &b);
/// assert_eq!(found[0].to_string(), "cpu.max_clock_mhz: 3400.0 and 2450");
/// assert_eq!(found.len(), 1);
/// # Ok::<(), rle::value::ValueError>(())
/// ```
pub fn differences(left: &Value, right: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", &rounded(left), &rounded(right), &mut found);
    found
}

/// The fields in which any two of several descriptions differ, each field once, in their order.
///
/// Every pair is compared, since two descriptions may each agree with a third one that says
/// less, and differ from each other.
pub fn differences_among<'a>(descriptions: impl IntoIterator<Item = &'a Value>) -> Vec<Difference> {
    let mut distinct: Vec<&Value> = Vec::new();
    let mut found: BTreeMap<String, Difference> = BTreeMap::new();
    for description in descriptions {
        if distinct.contains(&description) {
            continue;
        }
        for earlier in &distinct {
            for difference in differences(earlier, description) {
                found.entry(difference.field.clone()).or_insert(difference);
            }
        }
        distinct.push(description);
    }
    found.into_values().collect()
}

fn compare(field: &str, left: &Value, right: &Value, found: &mut Vec<Difference>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                let Some(other) = right.get(key) else { continue };
                let field = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                compare(&field, value, other, found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = in_order(left).into_iter().zip(in_order(right));
            for (index, (left, right)) in pairs.enumerate() {
                compare(&format!("{field}[{index}]"), left, right, found);
            }
        }
        (Value::Number(a), Value::Number(b)) if same_number(*a, *b) => {}
        (left, right) if left == right => {}
        (left, right) => found.push(Difference {
            field: field.to_owned(),
            left: left.clone(),
            right: right.clone(),
        }),
    }
}

/// By name, and by memory where one model comes in several sizes.
fn in_order(items: &[Value]) -> Vec<&Value> {
    let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
    let memory = |item: &Value| item.get("memory_gib").and_then(Value::as_f64).unwrap_or(0.0);
    let mut items: Vec<&Value> = items.iter().collect();
    items.sort_by(|a, b| name(a).cmp(&name(b)).then(memory(a).total_cmp(&memory(b))));
    items
}

impl fmt::Display for Difference {
    /// The field and both sides, on one line: `memory.limit_gib: 64.0 and none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} and {}", self.field, side(&self.left), side(&self.right))
    }
}

fn side(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(group).collect::<Vec<_>>().join(" + "),
        other => other.to_string(),
    }
}

/// A group of GPUs in short; anything else as it is.
fn group(item: &Value) -> String {
    match (item.get("count").and_then(Value::as_u64), item.get("name").and_then(Value::as_str)) {
        (Some(count), Some(name)) => format!("{count} x {name}"),
        _ => item.to_string(),
    }
}
