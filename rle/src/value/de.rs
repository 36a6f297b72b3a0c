//! The deserialiser: a [`Value`] as any `Deserialize`.

use std::borrow::Cow;
use std::collections::btree_map;
use std::{slice, vec};

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::{de, forward_to_deserialize_any};

use super::key::KeyDe;
use super::number::Repr;
use super::ser::RAW_MARK;
use super::{Segment, Value, ValueError};

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
        let integer = self.0.as_number().and_then(|number| number.as_i128());
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
            Cow::Borrowed(Value::Array(items)) => read_list(Items::Lent(items.iter()), visitor),
            Cow::Borrowed(Value::Object(entries)) => {
                read_map(Entries::Lent(entries.iter()), visitor)
            }
            Cow::Owned(Value::String(text)) => visitor.visit_string(text),
            Cow::Owned(Value::Array(items)) => read_list(Items::Moved(items.into_iter()), visitor),
            Cow::Owned(Value::Object(entries)) => {
                read_map(Entries::Moved(entries.into_iter()), visitor)
            }
            scalar => match scalar.as_ref() {
                Value::Bool(truth) => visitor.visit_bool(*truth),
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
        let (variant, content) = match self.0 {
            Cow::Borrowed(Value::String(variant)) => (variant.clone(), None),
            Cow::Owned(Value::String(variant)) => (variant, None),
            Cow::Borrowed(Value::Object(entries)) => {
                let (variant, content) = only(entries.iter())?;
                (variant.clone(), Some(Cow::Borrowed(content)))
            }
            Cow::Owned(Value::Object(entries)) => {
                let (variant, content) = only(entries.into_iter())?;
                (variant, Some(Cow::Owned(content)))
            }
            other => {
                let unexpected = unexpected(&other);
                return Err(de::Error::invalid_type(unexpected, &"a variant's name"));
            }
        };
        visitor.visit_enum(EnumDe { variant, content })
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }
}

fn only<T>(mut entries: impl ExactSizeIterator<Item = T>) -> Result<T, ValueError> {
    match (entries.len(), entries.next()) {
        (1, Some(entry)) => Ok(entry),
        (count, _) => Err(ValueError::new(format!(
            "a variant is a table with its name as the one key, found {count} keys"
        ))),
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(truth) => Unexpected::Bool(*truth),
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

fn read_list<'de, V: Visitor<'de>>(items: Items<'de>, visitor: V) -> Result<V::Value, ValueError> {
    let mut list = ListAccess { items, index: 0 };
    let result = visitor.visit_seq(&mut list)?;
    match list.items.len() {
        0 => Ok(result),
        left => Err(de::Error::invalid_length(list.index + left, &"a shorter list")),
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
        Some((key, _)) => Err(ValueError::new(format!("the key `{key}` is one too many"))),
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

struct ListAccess<'de> {
    items: Items<'de>,
    index: usize,
}

impl<'de> SeqAccess<'de> for ListAccess<'de> {
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
            .map_err(|error| error.under(Segment::Index(index)))
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

/// A variant's name, and its content where it has one.
pub(super) struct EnumDe<'de> {
    pub(super) variant: String,
    pub(super) content: Option<Cow<'de, Value>>,
}

impl<'de> EnumAccess<'de> for EnumDe<'de> {
    type Error = ValueError;
    type Variant = ContentDe<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, ContentDe<'de>), ValueError> {
        let read = seed.deserialize(KeyDe(self.variant.clone()))?;
        Ok((read, ContentDe { variant: self.variant, content: self.content }))
    }
}

pub(super) struct ContentDe<'de> {
    variant: String,
    content: Option<Cow<'de, Value>>,
}

impl<'de> ContentDe<'de> {
    fn read<T>(
        self,
        expected: &'static str,
        read: impl FnOnce(ValueDeserializer<'de>) -> Result<T, ValueError>,
    ) -> Result<T, ValueError> {
        match self.content {
            Some(content) => {
                read(ValueDeserializer(content)).map_err(|error| error.under_key(self.variant))
            }
            None => Err(de::Error::invalid_type(Unexpected::UnitVariant, &expected)),
        }
    }
}

impl<'de> VariantAccess<'de> for ContentDe<'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        match self.content.as_deref() {
            None | Some(Value::Null) => Ok(()),
            Some(content) => Err(ValueError::new(format!(
                "the variant `{}` has no content, found {}",
                self.variant,
                content.kind()
            ))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        self.read("a variant with content", |de| seed.deserialize(de))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.read("a variant with a list", |de| de.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.read("a variant with fields", |de| de.deserialize_map(visitor))
    }
}
