//! JSON values with a serialiser and a deserialiser of their own.
//!
//! What a configuration hashes to, and what a record holds, must not depend on the features of
//! `serde_json` that some other crate of the user's build turns on; so nothing here keeps a
//! value in a type of `serde_json`, which only reads and writes the text.
//!
//! Knows nothing of configurations, records or files of this crate.
//!
//! - `error`: what is wrong with a value, and the path to it.
//! - `number`: integers and floats, and the words for floats that JSON has no form for.
//! - `json_value`: the type `Value`, its accessors and conversions.
//! - `json`: a value to and from JSON text and any other data format.
//! - `key`: the keys of maps, to a string and back.
//! - `ser`: anything serialisable as a value.
//! - `de`: a value as anything deserialisable.
//! - `digest`: SHA-256 of bytes, fields and files.
//! - `canonical`: the one text of all values that count as the same, and its hash.
//! - `place`: values by the path to them, and where two values differ.

mod canonical;
mod de;
pub(crate) mod digest;
mod error;
mod json;
mod json_value;
mod key;
mod number;
mod place;
mod ser;

#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
pub(crate) mod properties;
#[cfg(test)]
mod tests;

pub use de::ValueDeserializer;
pub use error::ValueError;
pub use json_value::Value;
pub use number::Number;

pub(crate) use canonical::same_number;
pub(crate) use error::{KeyFault, PathStep, hint, key_steps};
pub(crate) use number::non_finite_word;
pub(crate) use place::{Difference, differences};
pub(crate) use ser::Snapshot;
