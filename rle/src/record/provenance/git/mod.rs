//! What git says about the source, or why it says nothing.
//!
//! Never fails: what git does not tell is named as missing.
//!
//! - `session`: asks git, within a time limit, or says why there is no answer.
//! - `evidence`: the questions about a source tree, and what follows from the answers.

mod evidence;
mod session;

#[cfg(test)]
pub(super) mod tests;

pub(super) use evidence::{Evidence, Sources};
pub(super) use session::{Git, Missing};
