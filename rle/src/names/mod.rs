//! Checked names: what slots, slugs and stages may be called.
//!
//! Knows nothing of what the names stand for.
//!
//! - `slot`: a slug, a run index, and the file names that follow from them.
//! - `stage`: a declared stage of `#[rle::timed]`.

#[cfg(feature = "suite")]
mod slot;
mod stage;

#[cfg(feature = "suite")]
pub use slot::{SlotId, Slug};
pub use stage::Stage;
