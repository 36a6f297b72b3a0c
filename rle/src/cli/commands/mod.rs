//! One file a command: what it prints, and its exit status.
//!
//! They decide nothing about requests or records: the plan, the records and the files say it.
//!
//! - `archive`: what is archived, put back or removed.
//! - `config`: the configuration of a start, and where each value comes from.
//! - `files`: which files `timings` and `locks` are about.
//! - `list`: what is registered in the program.
//! - `locks`: lock files, held or free.
//! - `timings`: how long runs took, and which stages nobody declared.
//! - `verify`: outputs and checkpoints as they were stored.

pub(in crate::cli) mod archive;
pub(in crate::cli) mod config;
pub(in crate::cli) mod files;
pub(in crate::cli) mod list;
pub(in crate::cli) mod locks;
pub(in crate::cli) mod timings;
pub(in crate::cli) mod verify;
