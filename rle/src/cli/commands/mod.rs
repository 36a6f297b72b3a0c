//! One file a command.

pub(in crate::cli) mod archive;
pub(in crate::cli) mod list;
pub(in crate::cli) mod locks;
pub(in crate::cli) mod looking;
pub(in crate::cli) mod timings;
pub(in crate::cli) mod verify;
