//! The type [`Value`]: its accessors, and conversions from Rust's own types.

use std::collections::BTreeMap;

use super::number::{NON_FINITE, Number};

/// A JSON value. Objects are ordered by the UTF-8 bytes of their keys.
///
/// Floats may be NaN or infinite, as metrics of diverged training are. In JSON text they are the
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
    /// True or false.
    Bool(bool),
    /// An integer or a float.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// Keys and their values.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// An object without keys.
    pub fn object() -> Self {
        Self::Object(BTreeMap::new())
    }

    /// Turns the strings `"NaN"`, `"Infinity"` and `"-Infinity"` back into floats, at any depth.
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

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        let Self::Bool(is_true) = self else { return None };
        Some(*is_true)
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<Number> {
        let Self::Number(number) = self else { return None };
        Some(*number)
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

    /// The string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        let Self::String(text) = self else { return None };
        Some(text)
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        let Self::Array(items) = self else { return None };
        Some(items)
    }

    /// The entries, if this is an object.
    pub fn as_object(&self) -> Option<&BTreeMap<String, Self>> {
        let Self::Object(entries) = self else { return None };
        Some(entries)
    }

    /// The entries to change, if this is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut BTreeMap<String, Self>> {
        let Self::Object(entries) = self else { return None };
        Some(entries)
    }

    /// What kind of value this is, for messages: `a number`, `an object`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

macro_rules! from {
    ($($content:ty),* => $variant:ident) => {$(
        impl From<$content> for Value {
            fn from(content: $content) -> Self {
                Self::$variant(content.into())
            }
        }
    )*};
}
from!(bool => Bool);
from!(Number, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64 => Number);
from!(&str, String => String);
from!(BTreeMap<String, Value> => Object);

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
