//! Typed configurations: what a run's parameters are, once code, file and command line are merged.
//!
//! The type that an algorithm declares decides: it gives the defaults, it reads every word, and
//! what it serialises to is what counts for the identity of a run.
//!
//! - `config_type`: the configuration type: its defaults, and how it reads a value.
//! - `merge`: merges values key by key.
//! - `text`: values given as text.
//! - `resolve`: the configuration that all layers give together.

mod config_type;
mod merge;
mod resolve;
#[cfg(test)]
mod tests;
mod text;

pub use config_type::ConfigType;
pub(crate) use merge::merge;
pub(crate) use text::{BOOL_WORDS, bool_word, set_untyped};
