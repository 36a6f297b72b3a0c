//! What git says about the source, or why it says nothing.
//!
//! Never fails: what git does not tell is named as missing.
//!
//! - `missing`: why something is not known, and the remedy.
//! - `remote`: an address without credentials.
//! - `session`: asks git, within a time limit.
//! - `evidence`: the questions about a source tree, and what follows from the answers.

mod evidence;
mod missing;
mod remote;
mod session;

#[cfg(test)]
pub(super) mod tests;

pub(super) use evidence::{Evidence, Sources};
pub(super) use session::Git;
