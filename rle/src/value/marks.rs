//! The names by which data formats hand their own types to a serialiser or a deserialiser.

/// The struct by which `serde_json` hands over its numbers.
pub(super) const NUMBER_MARK: &str = "$serde_json::private::Number";
/// The struct by which `serde_json` hands over raw JSON text.
pub(super) const RAW_MARK: &str = "$serde_json::private::RawValue";
/// The key under which `toml` hands a date or a time to a type that is not its own.
pub(super) const TOML_DATETIME_MARK: &str = "$__toml_private_datetime";
/// The newtype by which a [`Number`](super::Number) hands over a NaN or an infinity.
pub(super) const NON_FINITE_MARK: &str = "$rle::private::NonFinite";
