//! The generated program from outside: what it says, how it ends, what it leaves on disk.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests: what is exact must be exact, and what is missing may panic"
)]

mod bad_input;
mod config;
mod files;
mod hardware;
mod help;
mod isolation;
mod library;
mod prepare;
mod profiling;
mod records;
mod resume;
mod robustness;
mod support;
mod terminal;
mod words;
