//! Algorithms: what one is, how attributes register them, and their typed configuration.
//!
//! Never runs one, and knows nothing of suites.
//!
//! - `typed`: a configuration read by its declared type, and written back in full.
//! - `overrides`: a change to an algorithm's configuration, with the place it came from.
//! - `spec`: one algorithm as a value: its name, function, configuration and requirements.
//! - `registry`: the algorithms, prepares and stages that attributes declare, from `inventory`.
//! - `stub`: three cheap placeholders.

pub(crate) mod overrides;
pub(crate) mod registry;
pub(crate) mod spec;
pub(crate) mod stub;
pub(crate) mod typed;
