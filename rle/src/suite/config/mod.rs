//! The suite's values: what a program's code sets, what other layers set over it, and what a child
//! process inherits. It never reads files, variables or the command line, and runs nothing.
//!
//! - `on_busy`: what a start does about a slot that another process holds.
//! - `raw`: a value as a layer gives it, and its readers.
//! - `log`: what is set about logging.
//! - `field`: the kinds of values that settings have, each read from a raw value and given back.
//! - `suite_config`: the suite's values and their builder.
//! - `into_config`: what the body of a generated program's `main` may give.
//! - `settings`: the table of all settings.
//! - `child`: the values of a worker and of a trial.
//! - `selection`: which algorithms and runs a start is about.
//! - `variants`: algorithms under another name.

#[cfg(feature = "cli")]
mod child;
mod field;
pub(crate) mod into_config;
pub(crate) mod log;
mod on_busy;
pub(crate) mod raw;
pub(crate) mod selection;
pub(crate) mod settings;
mod suite_config;
pub(crate) mod variants;

#[cfg(test)]
mod tests;

pub use on_busy::OnBusy;
pub use suite_config::SuiteConfig;
#[cfg(feature = "cli")]
pub(crate) use suite_config::Variant;
