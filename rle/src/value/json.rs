//! A value to and from any data format, JSON text first of all.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::error::ValueError;
use super::json_value::Value;
use super::number::{Number, Repr, non_finite_word};

// The names by which data formats hand their own types to a serialiser or a deserialiser.

/// The struct by which `serde_json` hands over its numbers.
pub(super) const NUMBER_MARK: &str = "$serde_json::private::Number";
/// The struct by which `serde_json` hands over raw JSON text.
pub(super) const RAW_MARK: &str = "$serde_json::private::RawValue";
/// The key under which `toml` hands a date or a time to a type that is not its own.
pub(super) const TOML_DATETIME_MARK: &str = "$__toml_private_datetime";
/// The newtype by which a [`Number`](super::Number) hands over a NaN or an infinity.
pub(super) const NON_FINITE_MARK: &str = "$rle::private::NonFinite";

impl Value {
    /// The value that a JSON text stands for. The error names line and column; a key that
    /// stands twice in one object is an error.
    pub fn parse_json(text: &[u8]) -> Result<Self, ValueError> {
        serde_json::from_slice(text).map_err(|error| ValueError::new(error.to_string()))
    }

    /// The value as indented JSON text, without a final line break.
    pub fn to_json_pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect("a value has string keys only")
    }
}

impl fmt::Display for Value {
    /// Compact JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is_true) => serializer.serialize_bool(*is_true),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(entries) => serializer.collect_map(entries),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.repr() {
            Repr::Unsigned(n) => serializer.serialize_u64(n),
            Repr::Negative(n) => serializer.serialize_i64(n),
            Repr::Float(x) if x.is_finite() => serializer.serialize_f64(x),
            Repr::Float(x) => {
                serializer.serialize_newtype_struct(NON_FINITE_MARK, non_finite_word(x))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

macro_rules! visit {
    ($($method:ident: $content:ty),*) => {$(
        fn $method<E>(self, content: $content) -> Result<Value, E> {
            Ok(content.into())
        }
    )*};
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    visit!(
        visit_bool: bool, visit_u64: u64, visit_i64: i64, visit_f32: f32, visit_f64: f64,
        visit_str: &str, visit_string: String
    );

    fn visit_u128<E: de::Error>(self, n: u128) -> Result<Value, E> {
        Number::from_u128(n).map(Value::from).map_err(E::custom)
    }

    fn visit_i128<E: de::Error>(self, n: i128) -> Result<Value, E> {
        Number::from_i128(n).map(Value::from).map_err(E::custom)
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(bytes.to_vec().into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(key) = access.next_key::<String>()? {
            // With `arbitrary_precision`, serde_json hands each number over as such a map.
            if key == NUMBER_MARK && entries.is_empty() {
                let text: String = access.next_value()?;
                return Number::parse(&text).map(Value::from).map_err(de::Error::custom);
            }
            if key == TOML_DATETIME_MARK && entries.is_empty() {
                return access.next_value().map(Value::String);
            }
            match entries.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(access.next_value()?);
                }
                Entry::Occupied(entry) => {
                    let message = format!("the key `{}` stands twice in one object", entry.key());
                    return Err(de::Error::custom(message));
                }
            }
        }
        Ok(Value::Object(entries))
    }
}
