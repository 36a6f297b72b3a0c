//! The deserialiser: a [`Value`] as any `Deserialize`.

use std::borrow::Cow;
use std::collections::btree_map;
use std::{slice, vec};

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::{de, forward_to_deserialize_any};

use super::error::{PathStep, ValueError};
use super::json_value::Value;
use super::key::KeyDe;
use super::marks::RAW_MARK;
use super::number::{Number, Repr};

impl Value {
    /// The value as a `T`. An integral float serves as an integer, an integer as a float.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(ValueDeserializer::borrowed(self))
    }

    /// The value as a `T`, without copying its strings.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, ValueError> {
        T::deserialize(ValueDeserializer::owned(self))
    }
}

/// A [`Value`] being read: what a borrowed one holds is lent, what an owned one holds is moved.
pub struct ValueDeserializer<'de>(Cow<'de, Value>);

impl<'de> ValueDeserializer<'de> {
    pub(super) fn borrowed(value: &'de Value) -> Self {
        Self(Cow::Borrowed(value))
    }

    pub(super) fn owned(value: Value) -> Self {
        Self(Cow::Owned(value))
    }

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
        ValueDeserializer::borrowed(self)
    }
}

impl<'de> IntoDeserializer<'de, ValueError> for Value {
    type Deserializer = ValueDeserializer<'de>;

    fn into_deserializer(self) -> ValueDeserializer<'de> {
        ValueDeserializer::owned(self)
    }
}

macro_rules! integers {
    ($($method:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.integer(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Cow::Borrowed(Value::String(text)) => visitor.visit_borrowed_str(text),
            Cow::Borrowed(Value::Array(items)) => read_array(Items::Lent(items.iter()), visitor),
            Cow::Borrowed(Value::Object(entries)) => {
                read_map(Entries::Lent(entries.iter()), visitor)
            }
            Cow::Owned(Value::String(text)) => visitor.visit_string(text),
            Cow::Owned(Value::Array(items)) => read_array(Items::Moved(items.into_iter()), visitor),
            Cow::Owned(Value::Object(entries)) => {
                read_map(Entries::Moved(entries.into_iter()), visitor)
            }
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

    integers!(
        deserialize_i8,
        deserialize_i16,
        deserialize_i32,
        deserialize_i64,
        deserialize_i128,
        deserialize_u8,
        deserialize_u16,
        deserialize_u32,
        deserialize_u64,
        deserialize_u128
    );

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
            let text = self.0.to_string();
            return visitor.visit_map(RawAccess(Some(text)));
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
            Cow::Borrowed(Value::Object(entries)) => Entries::Lent(entries.iter()),
            Cow::Owned(Value::Object(entries)) => Entries::Moved(entries.into_iter()),
            other => {
                let unexpected = unexpected(&other);
                return Err(de::Error::invalid_type(unexpected, &"a variant's name"));
            }
        };
        match entries.len() {
            1 => visitor
                .visit_enum(MapAccessDeserializer::new(ObjectAccess { entries, pending: None })),
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

fn read_array<'de, V: Visitor<'de>>(items: Items<'de>, visitor: V) -> Result<V::Value, ValueError> {
    let mut array = ArrayAccess { items, index: 0 };
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
    let mut map = ObjectAccess { entries, pending: None };
    let result = visitor.visit_map(&mut map)?;
    match map.entries.next() {
        None => Ok(result),
        Some((key, _)) => Err(ValueError::new(format!("the key `{key}` is not accepted here"))),
    }
}

enum Items<'de> {
    Lent(slice::Iter<'de, Value>),
    Moved(vec::IntoIter<Value>),
}

impl<'de> Iterator for Items<'de> {
    type Item = Cow<'de, Value>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Lent(items) => items.next().map(Cow::Borrowed),
            Self::Moved(items) => items.next().map(Cow::Owned),
        }
    }
}

impl Items<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Lent(items) => items.len(),
            Self::Moved(items) => items.len(),
        }
    }
}

enum Entries<'de> {
    Lent(btree_map::Iter<'de, String, Value>),
    Moved(btree_map::IntoIter<String, Value>),
}

impl Entries<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Lent(entries) => entries.len(),
            Self::Moved(entries) => entries.len(),
        }
    }
}

impl<'de> Iterator for Entries<'de> {
    type Item = (String, Cow<'de, Value>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Lent(entries) => {
                entries.next().map(|(key, value)| (key.clone(), Cow::Borrowed(value)))
            }
            Self::Moved(entries) => entries.next().map(|(key, value)| (key, Cow::Owned(value))),
        }
    }
}

struct ArrayAccess<'de> {
    items: Items<'de>,
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
    entries: Entries<'de>,
    pending: Option<(String, Cow<'de, Value>)>,
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

/// A value's JSON text for `serde_json`'s `RawValue`.
struct RawAccess(Option<String>);

impl<'de> MapAccess<'de> for RawAccess {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        match self.0 {
            Some(_) => seed.deserialize(KeyDe(RAW_MARK.to_owned())).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, ValueError> {
        seed.deserialize(KeyDe(self.0.take().unwrap_or_default()))
    }
}
