//! Algorithms: what one is, how attributes register them, and their typed configuration.
//!
//! Never runs one, and knows nothing of suites.
//!
//! - `typed`: a configuration read by its declared type, and written back in full.
//! - `spec`: one algorithm as a value: its name, function, configuration and requirements, and
//!   changes to its configuration.
//! - `registry`: the algorithms, prepares and stages that attributes declare, from `inventory`.
//! - `stub`: three cheap placeholders.

pub(crate) mod registry;
pub(crate) mod spec;
mod stub;
pub(crate) mod typed;

pub(crate) use spec::{
    AlgorithmOverride, ConfigChange, ConfigSource, Prepare, PrepareOutcome, RunOutcome,
    TrainerError, VariantOf,
};
pub use spec::{AlgorithmSpec, Location, Requirement};
pub use stub::stub_algorithms;
pub use typed::ConfigType;
