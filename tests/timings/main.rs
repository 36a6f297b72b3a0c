//! The timing store from outside: many programs on one file, other programs on the same lock and
//! the same files.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod files;
mod locks;
mod many;
mod measure;
mod program;
