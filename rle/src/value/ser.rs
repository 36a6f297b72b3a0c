//! The serialiser: anything `Serialize` as a [`Value`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{self, Serialize, Serializer};

use super::error::{PathStep, ValueError};
use super::json::{NON_FINITE_MARK, NUMBER_MARK, RAW_MARK};
use super::json_value::Value;
use super::key::KeySerializer;
use super::number::{NON_FINITE, Number, non_finite_word};

/// A reader of JSON text stops at 128 levels: what is written must stay well below.
const MAX_DEPTH: usize = 100;

/// What to do with a NaN or an infinity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NonFinite {
    Refuse,
    /// Kept, for JSON text in which words stand for them: no string may equal these words then.
    Keep,
    /// Kept, and so is every string.
    Pass,
}

/// A serialised value, and the places of the externally tagged enum variants in it.
pub(crate) struct Snapshot {
    pub(crate) value: Value,
    /// The paths of the objects whose one key is a variant's name.
    pub(crate) variants: BTreeSet<Vec<PathStep>>,
}

impl Value {
    /// Any serialisable value, strictly: a NaN or an infinity, an integer beyond 64 bits, a key
    /// that is no string and a key that stands twice are errors that name the key.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, ValueError> {
        snapshot(value, NonFinite::Refuse).map(|snapshot| snapshot.value)
    }

    /// As [`Value::from_serialize`], but NaN and infinities are kept as floats. A string that
    /// equals one of the words they are written as is an error, since it would not come back.
    pub fn from_serialize_lossless<T: Serialize + ?Sized>(value: &T) -> Result<Self, ValueError> {
        snapshot(value, NonFinite::Keep).map(|snapshot| snapshot.value)
    }

    /// As [`Value::from_serialize`], with the places of externally tagged enum variants.
    pub(crate) fn snapshot<T: Serialize + ?Sized>(value: &T) -> Result<Snapshot, ValueError> {
        snapshot(value, NonFinite::Refuse)
    }

    /// As [`Value::snapshot`], but with NaN and infinities: a default may be one that has to be
    /// replaced.
    pub(crate) fn snapshot_of_defaults<T: Serialize>(value: &T) -> Result<Snapshot, ValueError> {
        snapshot(value, NonFinite::Pass)
    }
}

fn snapshot<T: Serialize + ?Sized>(
    value: &T,
    non_finite: NonFinite,
) -> Result<Snapshot, ValueError> {
    let mut state = State { non_finite, path: Vec::new(), variants: BTreeSet::new() };
    let value = value.serialize(Ser { state: &mut state })?;
    Ok(Snapshot { value, variants: state.variants })
}

struct State {
    non_finite: NonFinite,
    path: Vec<PathStep>,
    variants: BTreeSet<Vec<PathStep>>,
}

impl State {
    fn child<T: Serialize + ?Sized>(
        &mut self,
        step: PathStep,
        value: &T,
    ) -> Result<Value, ValueError> {
        let depth = self.path.len();
        if depth >= MAX_DEPTH {
            return Err(ValueError::new(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.path.push(step);
        let result = value.serialize(Ser { state: self });
        let result = result.map_err(|error| error.or_at(&self.path));
        self.path.truncate(depth);
        result
    }

    fn enter_variant(&mut self, variant: &'static str) {
        self.variants.insert(self.path.clone());
        self.path.push(PathStep::Key(variant.to_owned()));
    }

    fn leave_variant(&mut self, variant: &'static str, content: Value) -> Value {
        self.path.pop();
        [(variant, content)].into_iter().collect()
    }

    fn float(&self, x: f64) -> Result<Value, ValueError> {
        if x.is_finite() || self.non_finite != NonFinite::Refuse {
            return Ok(x.into());
        }
        let word = non_finite_word(x);
        Err(ValueError::new(format!("{word} is not accepted, a finite number is needed")))
    }

    fn text(&self, text: &str) -> Result<Value, ValueError> {
        let reserved = NON_FINITE.iter().any(|(word, _)| *word == text);
        if reserved && self.non_finite == NonFinite::Keep {
            return Err(ValueError::new(format!(
                "the string {text:?} is reserved for the number that it names"
            )));
        }
        Ok(text.into())
    }
}

struct Ser<'s> {
    state: &'s mut State,
}

macro_rules! serialize {
    ($($method:ident: $content:ty),*) => {$(
        fn $method(self, content: $content) -> Result<Value, ValueError> {
            Ok(content.into())
        }
    )*};
}

impl<'s> Serializer for Ser<'s> {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = SeqSer<'s>;
    type SerializeTuple = SeqSer<'s>;
    type SerializeTupleStruct = SeqSer<'s>;
    type SerializeTupleVariant = SeqSer<'s>;
    type SerializeMap = MapSer<'s>;
    type SerializeStruct = MapSer<'s>;
    type SerializeStructVariant = MapSer<'s>;

    serialize!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_i128(self, n: i128) -> Result<Value, ValueError> {
        Number::from_i128(n).map(Value::from)
    }

    fn serialize_u128(self, n: u128) -> Result<Value, ValueError> {
        Number::from_u128(n).map(Value::from)
    }

    fn serialize_f32(self, x: f32) -> Result<Value, ValueError> {
        self.state.float(Number::from(x).as_f64())
    }

    fn serialize_f64(self, x: f64) -> Result<Value, ValueError> {
        self.state.float(x)
    }

    fn serialize_char(self, c: char) -> Result<Value, ValueError> {
        Ok(Value::String(c.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Value, ValueError> {
        self.state.text(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ValueError> {
        Ok(bytes.to_vec().into())
    }

    fn serialize_none(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ValueError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, ValueError> {
        self.state.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        if name != NON_FINITE_MARK {
            return value.serialize(self);
        }
        let text = value.serialize(KeySerializer)?;
        let float = NON_FINITE.iter().find(|(word, _)| *word == text);
        self.state.float(float.map_or(f64::NAN, |(_, float)| *float))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        self.state.variants.insert(self.state.path.clone());
        let content = self.state.child(PathStep::Key(variant.to_owned()), value)?;
        Ok([(variant, content)].into_iter().collect())
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<SeqSer<'s>, ValueError> {
        // A length is a hint of the user's code: a wrong one must not exhaust the memory.
        let items = Vec::with_capacity(len.unwrap_or(0).min(1 << 16));
        Ok(SeqSer { state: self.state, items, variant: None })
    }

    fn serialize_tuple(self, len: usize) -> Result<SeqSer<'s>, ValueError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<SeqSer<'s>, ValueError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<SeqSer<'s>, ValueError> {
        self.state.enter_variant(variant);
        Ok(SeqSer { state: self.state, items: Vec::new(), variant: Some(variant) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapSer<'s>, ValueError> {
        Ok(MapSer::new(self.state, Form::Plain))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<MapSer<'s>, ValueError> {
        let form = match name {
            NUMBER_MARK => Form::Number,
            RAW_MARK => Form::Raw,
            _ => Form::Plain,
        };
        Ok(MapSer::new(self.state, form))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<MapSer<'s>, ValueError> {
        self.state.enter_variant(variant);
        Ok(MapSer::new(self.state, Form::Variant(variant)))
    }
}

/// Arrays, tuples and tuple variants.
struct SeqSer<'s> {
    state: &'s mut State,
    items: Vec<Value>,
    variant: Option<&'static str>,
}

macro_rules! sequence {
    ($($kind:ident: $method:ident),*) => {$(
        impl ser::$kind for SeqSer<'_> {
            type Ok = Value;
            type Error = ValueError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                let index = PathStep::Index(self.items.len());
                self.items.push(self.state.child(index, value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, ValueError> {
                let items = Value::Array(self.items);
                Ok(match self.variant {
                    Some(variant) => self.state.leave_variant(variant, items),
                    None => items,
                })
            }
        }
    )*};
}
sequence!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

#[derive(Clone, Copy)]
enum Form {
    Plain,
    Variant(&'static str),
    /// A number of `serde_json` under its private name.
    Number,
    /// JSON text of `serde_json` under its private name.
    Raw,
}

/// Maps, structs and struct variants.
struct MapSer<'s> {
    state: &'s mut State,
    entries: BTreeMap<String, Value>,
    key: Option<String>,
    form: Form,
}

impl<'s> MapSer<'s> {
    fn new(state: &'s mut State, form: Form) -> Self {
        Self { state, entries: BTreeMap::new(), key: None, form }
    }

    fn put<T: Serialize + ?Sized>(&mut self, key: String, value: &T) -> Result<(), ValueError> {
        let value = match self.form {
            // Never a key path, never a reserved word: this is the text of one scalar.
            Form::Number | Form::Raw => Value::String(value.serialize(KeySerializer)?),
            _ => self.state.child(PathStep::Key(key.clone()), value)?,
        };
        match self.entries.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                Ok(())
            }
            Entry::Occupied(entry) => {
                let message = format!("the key `{}` stands twice", entry.key());
                Err(ValueError::at(self.state.path.clone(), message))
            }
        }
    }

    fn finish(self) -> Result<Value, ValueError> {
        match self.form {
            Form::Plain => Ok(Value::Object(self.entries)),
            Form::Variant(variant) => {
                Ok(self.state.leave_variant(variant, Value::Object(self.entries)))
            }
            Form::Number => Number::parse(&self.private_text()?).map(Value::from),
            Form::Raw => {
                let value = Value::parse_json(self.private_text()?.as_bytes())?;
                // The rules for strings and depth apply to it too.
                value.serialize(Ser { state: self.state })
            }
        }
    }

    fn private_text(&self) -> Result<String, ValueError> {
        match self.entries.values().next() {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(ValueError::new("a private struct of serde_json holds no string")),
        }
    }
}

impl ser::SerializeMap for MapSer<'_> {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        self.key = Some(key.serialize(KeySerializer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key = self.key.take().ok_or_else(|| ValueError::new("a value came before its key"))?;
        self.put(key, value)
    }

    fn end(self) -> Result<Value, ValueError> {
        self.finish()
    }
}

macro_rules! structure {
    ($($kind:ident),*) => {$(
        impl ser::$kind for MapSer<'_> {
            type Ok = Value;
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.put(key.to_owned(), value)
            }

            fn end(self) -> Result<Value, ValueError> {
                self.finish()
            }
        }
    )*};
}
structure!(SerializeStruct, SerializeStructVariant);
