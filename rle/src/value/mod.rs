//! JSON values with a serialiser and a deserialiser of their own.
//!
//! What a configuration hashes to, and what a record holds, must not depend on the features of
//! `serde_json` that some other crate of the user's build turns on; so nothing here keeps a
//! value in a type of `serde_json`, which serves as the reader and writer of the text only.

#[cfg(test)]
pub(crate) mod arbitrary;
pub(crate) mod canonical;
mod de;
mod diff;
#[cfg(feature = "suite")]
pub(crate) mod digest;
mod error;
mod json;
mod key;
mod number;
mod place;
#[cfg(test)]
pub(crate) mod properties;
mod ser;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use de::ValueDeserializer;
pub use error::ValueError;
pub use number::Number;

pub(crate) use diff::{Difference, differences};
pub(crate) use error::{KeyFault, Segment, hint, render_keys, render_path};
pub(crate) use json::non_finite_word;
pub(crate) use ser::Snapshot;

/// The texts that stand for the floats JSON has no form for.
const NON_FINITE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// A JSON value. Objects are ordered by the UTF-8 bytes of their keys.
///
/// Floats may be NaN or infinite, which metrics of diverged training are: as text they are the
/// strings `"NaN"`, `"Infinity"` and `"-Infinity"`, and [`Value::restore_non_finite`] turns
/// these back. [`Value::from_serialize`], which configurations go through, refuses them.
///
/// ```
/// use rle::value::Value;
///
/// let value = Value::from_serialize(&("lr", 3e-4, u64::MAX))?;
/// assert_eq!(value.to_string(), r#"["lr",0.0003,18446744073709551615]"#);
/// # Ok::<(), rle::value::ValueError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing: `None`, `()`.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer or a float.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// Keys and their values.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// An object without keys.
    pub fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    /// Any serialisable value, strictly: a NaN or an infinity, an integer beyond 64 bits, a key
    /// that is no text and a key that stands twice are errors that name the key.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, ValueError> {
        ser::snapshot(value, ser::NonFinite::Refuse).map(|snapshot| snapshot.value)
    }

    /// As [`Value::from_serialize`], but NaN and infinities are kept as floats. A text that
    /// equals one of the words they are written as is an error, since it would not come back.
    pub fn from_serialize_lossless<T: Serialize + ?Sized>(value: &T) -> Result<Self, ValueError> {
        ser::snapshot(value, ser::NonFinite::Keep).map(|snapshot| snapshot.value)
    }

    /// As [`Value::from_serialize`], with the places of externally tagged enum variants.
    pub(crate) fn snapshot<T: Serialize + ?Sized>(value: &T) -> Result<Snapshot, ValueError> {
        ser::snapshot(value, ser::NonFinite::Refuse)
    }

    /// As [`Value::snapshot`], but with NaN and infinities: a default may be one that has to be
    /// replaced.
    pub(crate) fn snapshot_of_defaults<T: Serialize>(value: &T) -> Result<Snapshot, ValueError> {
        ser::snapshot(value, ser::NonFinite::Pass)
    }

    /// The value as a `T`. An integral float serves as an integer, an integer as a float.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(ValueDeserializer::borrowed(self))
    }

    /// The value as a `T`, without copying its texts.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, ValueError> {
        T::deserialize(ValueDeserializer::owned(self))
    }

    /// The value that a JSON text stands for. The error names line and column; a key that
    /// stands twice in one object is an error.
    pub fn parse_json(text: &[u8]) -> Result<Self, ValueError> {
        serde_json::from_slice(text).map_err(|error| ValueError::new(error.to_string()))
    }

    /// The value as indented JSON text, without a final line break.
    pub fn to_json_pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect("a value has text keys only")
    }

    /// The canonical JSON text: the one text of all values that count as the same (see the
    /// documentation of request identity). A NaN or an infinity is an error that names the key.
    pub fn canonical_json(&self) -> Result<String, ValueError> {
        canonical::to_canonical(self)
    }

    /// The SHA-256 of the canonical JSON text, as 64 hexadecimal digits.
    pub fn canonical_sha256(&self) -> Result<String, ValueError> {
        canonical::to_canonical(self).map(|text| canonical::sha256_hex(text.as_bytes()))
    }

    /// Turns the texts `"NaN"`, `"Infinity"` and `"-Infinity"` back into floats, at any depth.
    pub fn restore_non_finite(&mut self) {
        match self {
            Self::String(text) => {
                if let Some((_, float)) = NON_FINITE.iter().find(|(word, _)| word == text) {
                    *self = (*float).into();
                }
            }
            Self::Array(items) => items.iter_mut().for_each(Self::restore_non_finite),
            Self::Object(entries) => entries.values_mut().for_each(Self::restore_non_finite),
            _ => {}
        }
    }

    /// The value under a key of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The value that a path of keys leads to; a number steps into an array.
    pub fn get_path<S: AsRef<str>>(&self, path: &[S]) -> Option<&Self> {
        path.iter().try_fold(self, |value, step| match value {
            Self::Object(entries) => entries.get(step.as_ref()),
            Self::Array(items) => items.get(step.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The value that a dotted path of keys leads to: `algorithm.config.lr`.
    pub fn get_dotted(&self, path: &str) -> Option<&Self> {
        self.get_path(&path.split('.').collect::<Vec<_>>())
    }

    /// Puts a value under a key of an object; a null becomes an object first.
    ///
    /// Returns `false`, and changes nothing, when this is neither.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Self>) -> bool {
        if self.is_null() {
            *self = Self::object();
        }
        match self {
            Self::Object(entries) => {
                entries.insert(key.into(), value.into());
                true
            }
            _ => false,
        }
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The number as an unsigned integer, if it is one; an integral float counts.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number as a signed integer, if it is one; an integral float counts.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number as a double, if this is a number; an integer beyond 2^53 is rounded.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(|number| number.as_f64())
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if this is an object.
    pub fn as_object(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entries to change, if this is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut BTreeMap<String, Self>> {
        match self {
            Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// What kind of value this is, for messages: `a number`, `a table`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Number(_) => "a number",
            Self::String(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "a table",
        }
    }
}

impl fmt::Display for Value {
    /// Compact JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<BTreeMap<String, Value>> for Value {
    fn from(entries: BTreeMap<String, Value>) -> Self {
        Self::Object(entries)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(option: Option<T>) -> Self {
        option.map_or(Self::Null, Into::into)
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

macro_rules! from_number {
    ($($number:ty),*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Number(Number::from(number))
            }
        }
    )*};
}
from_number!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}
