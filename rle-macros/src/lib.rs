//! The attribute macros of the `rle` crate.
