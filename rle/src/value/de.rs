//! The deserialiser: a [`Value`] as any `Deserialize`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::{iter, vec};

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::{de, forward_to_deserialize_any};

use super::error::{PathStep, ValueError};
use super::json::RAW_MARK;
use super::json_value::Value;
use super::key::{KeyDe, deserialize_integers};
use super::number::{Number, Repr};

impl Value {
    /// The value as a `T`. An integral float serves as an integer, an integer as a float.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(self.into_deserializer())
    }

    /// The value as a `T`, without copying its strings.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, ValueError> {
        T::deserialize(self.into_deserializer())
    }
}

/// Reads a [`Value`]: a borrowed one lends its strings, an owned one gives them away.
pub struct ValueDeserializer<'de>(Cow<'de, Value>);

impl<'de> ValueDeserializer<'de> {
    /// The value as an integer where an integral float is one, else as it is.
    fn integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let integer = self.0.as_number().and_then(Number::as_i128);
        match integer.map(|n| (u64::try_from(n), i64::try_from(n))) {
            Some((Ok(n), _)) => visitor.visit_u64(n),
            Some((_, Ok(n))) => visitor.visit_i64(n),
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de, ValueError> for &'de Value {
    type Deserializer = ValueDeserializer<'de>;

    fn into_deserializer(self) -> ValueDeserializer<'de> {
        ValueDeserializer(Cow::Borrowed(self))
    }
}

impl<'de> IntoDeserializer<'de, ValueError> for Value {
    type Deserializer = ValueDeserializer<'de>;

    fn into_deserializer(self) -> ValueDeserializer<'de> {
        ValueDeserializer(Cow::Owned(self))
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Cow::Borrowed(Value::String(text)) => visitor.visit_borrowed_str(text),
            Cow::Borrowed(Value::Array(items)) => {
                read_array(items.iter().map(Cow::Borrowed).collect(), visitor)
            }
            Cow::Borrowed(Value::Object(entries)) => read_map(lent(entries), visitor),
            Cow::Owned(Value::String(text)) => visitor.visit_string(text),
            Cow::Owned(Value::Array(items)) => {
                read_array(items.into_iter().map(Cow::Owned).collect(), visitor)
            }
            Cow::Owned(Value::Object(entries)) => read_map(moved(entries), visitor),
            scalar => match scalar.as_ref() {
                Value::Bool(is_true) => visitor.visit_bool(*is_true),
                Value::Number(number) => match number.repr() {
                    Repr::Unsigned(n) => visitor.visit_u64(n),
                    Repr::Negative(n) => visitor.visit_i64(n),
                    Repr::Float(x) => visitor.visit_f64(x),
                },
                _ => visitor.visit_unit(),
            },
        }
    }

    deserialize_integers!();

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0.as_f64() {
            // By way of the decimal: the double may stand for the shortest text of an `f32`.
            Some(x) => match format!("{x:e}").parse() {
                Ok(nearest) => visitor.visit_f32(nearest),
                Err(_) => visitor.visit_f64(x),
            },
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0.as_f64() {
            Some(x) => visitor.visit_f64(x),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name == RAW_MARK {
            let content = iter::once((RAW_MARK, self.0.to_string()));
            return visitor.visit_map(MapDeserializer::new(content));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let entries = match self.0 {
            Cow::Borrowed(Value::String(variant)) => {
                return KeyDe(variant.clone()).deserialize_enum("", &[], visitor);
            }
            Cow::Owned(Value::String(variant)) => {
                return KeyDe(variant).deserialize_enum("", &[], visitor);
            }
            Cow::Borrowed(Value::Object(entries)) => lent(entries),
            Cow::Owned(Value::Object(entries)) => moved(entries),
            other => {
                let unexpected = unexpected(&other);
                return Err(de::Error::invalid_type(unexpected, &"a variant's name"));
            }
        };
        match entries.len() {
            1 => visitor.visit_enum(MapAccessDeserializer::new(ObjectAccess::new(entries))),
            count => Err(ValueError::new(format!(
                "a variant is an object with its name as the one key, found {count} keys"
            ))),
        }
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(is_true) => Unexpected::Bool(*is_true),
        Value::Number(number) => match number.repr() {
            Repr::Unsigned(n) => Unexpected::Unsigned(n),
            Repr::Negative(n) => Unexpected::Signed(n),
            Repr::Float(x) => Unexpected::Float(x),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

fn read_array<'de, V: Visitor<'de>>(
    items: Vec<Cow<'de, Value>>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    let mut array = ArrayAccess { items: items.into_iter(), index: 0 };
    let result = visitor.visit_seq(&mut array)?;
    match array.items.len() {
        0 => Ok(result),
        left => Err(de::Error::invalid_length(array.index + left, &"a shorter array")),
    }
}

fn read_map<'de, V: Visitor<'de>>(
    entries: Entries<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    let mut map = ObjectAccess::new(entries);
    let result = visitor.visit_map(&mut map)?;
    match map.entries.next() {
        None => Ok(result),
        Some((key, _)) => Err(ValueError::new(format!("the key `{key}` is not accepted here"))),
    }
}

type Entries<'de> = Vec<(String, Cow<'de, Value>)>;

fn lent(entries: &BTreeMap<String, Value>) -> Entries<'_> {
    entries.iter().map(|(key, value)| (key.clone(), Cow::Borrowed(value))).collect()
}

fn moved<'de>(entries: BTreeMap<String, Value>) -> Entries<'de> {
    entries.into_iter().map(|(key, value)| (key, Cow::Owned(value))).collect()
}

struct ArrayAccess<'de> {
    items: vec::IntoIter<Cow<'de, Value>>,
    index: usize,
}

impl<'de> SeqAccess<'de> for ArrayAccess<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(ValueDeserializer(item))
            .map(Some)
            .map_err(|error| error.under(PathStep::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct ObjectAccess<'de> {
    entries: vec::IntoIter<(String, Cow<'de, Value>)>,
    pending: Option<(String, Cow<'de, Value>)>,
}

impl<'de> ObjectAccess<'de> {
    fn new(entries: Entries<'de>) -> Self {
        Self { entries: entries.into_iter(), pending: None }
    }
}

impl<'de> MapAccess<'de> for ObjectAccess<'de> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        let read = seed.deserialize(KeyDe(key.clone()))?;
        self.pending = Some((key, value));
        Ok(Some(read))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, ValueError> {
        let (key, value) = self
            .pending
            .take()
            .ok_or_else(|| ValueError::new("a value was asked for before its key"))?;
        seed.deserialize(ValueDeserializer(value)).map_err(|error| error.under_key(key))
    }
}
