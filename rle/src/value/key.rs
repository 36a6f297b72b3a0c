//! The keys of maps, which are strings in JSON: to a string, and back.

use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde::ser::{Impossible, Serialize, Serializer};

use super::error::ValueError;

/// Strings, integers, booleans, chars and unit variants as a string; anything else is an error.
pub(super) struct KeySerializer;

fn refused(what: &str) -> ValueError {
    ValueError::new(format!(
        "{what} cannot be a key, accepted: strings, integers, booleans, chars, unit variants"
    ))
}

macro_rules! displayed {
    ($($method:ident: $key:ty),*) => {$(
        fn $method(self, key: $key) -> Result<String, ValueError> {
            Ok(key.to_string())
        }
    )*};
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $ok:ty: $what:literal),*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$ok, ValueError> {
            Err(refused($what))
        }
    )*};
}

impl Serializer for KeySerializer {
    type Ok = String;
    type Error = ValueError;
    type SerializeSeq = Impossible<String, ValueError>;
    type SerializeTuple = Impossible<String, ValueError>;
    type SerializeTupleStruct = Impossible<String, ValueError>;
    type SerializeTupleVariant = Impossible<String, ValueError>;
    type SerializeMap = Impossible<String, ValueError>;
    type SerializeStruct = Impossible<String, ValueError>;
    type SerializeStructVariant = Impossible<String, ValueError>;

    displayed!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_u128: u128, serialize_bool: bool, serialize_char: char,
        serialize_str: &str
    );

    refused!(
        serialize_f32(f32) -> String: "a float",
        serialize_f64(f64) -> String: "a float",
        serialize_bytes(&[u8]) -> String: "a byte string",
        serialize_none() -> String: "a missing value",
        serialize_unit() -> String: "a unit",
        serialize_unit_struct(&'static str) -> String: "a unit struct",
        serialize_seq(Option<usize>) -> Self::SerializeSeq: "a sequence",
        serialize_tuple(usize) -> Self::SerializeTuple: "a tuple",
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct: "a tuple struct",
        serialize_tuple_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeTupleVariant: "an enum variant with content",
        serialize_map(Option<usize>) -> Self::SerializeMap: "a map",
        serialize_struct(&'static str, usize) -> Self::SerializeStruct: "a struct",
        serialize_struct_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeStructVariant: "an enum variant with content"
    );

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<String, ValueError> {
        Err(refused("an optional value"))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, ValueError> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, ValueError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, ValueError> {
        Err(refused("an enum variant with content"))
    }
}

/// A key read back as what the type wants: its string, or the scalar that it spells.
pub(super) struct KeyDe(pub(super) String);

impl KeyDe {
    /// The key as the integer that it spells, else as the string that it is.
    fn integer<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if let Ok(n) = self.0.parse::<u128>() {
            return match u64::try_from(n) {
                Ok(n) => visitor.visit_u64(n),
                Err(_) => visitor.visit_u128(n),
            };
        }
        match self.0.parse::<i128>().map(|n| (n, i64::try_from(n))) {
            Ok((_, Ok(n))) => visitor.visit_i64(n),
            Ok((n, Err(_))) => visitor.visit_i128(n),
            Err(_) => visitor.visit_string(self.0),
        }
    }
}

/// Reads an integer of any width by the method `integer` of the deserialiser.
macro_rules! deserialize_integers {
    () => {
        deserialize_integers! {
            deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        }
    };
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.integer(visitor)
        }
    )*};
}
pub(super) use deserialize_integers;

impl<'de> Deserializer<'de> for KeyDe {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_string(self.0)
    }

    deserialize_integers!();

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0.as_str() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => visitor.visit_string(self.0),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_enum(IntoDeserializer::<ValueError>::into_deserializer(self.0))
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
