//! Checked names: what slots, slugs and stages may be called.
//!
//! Knows nothing of what the names stand for.
//!
//! - `slot`: a slug, a run index, and the file names that follow from them.

#[cfg(feature = "suite")]
mod slot;

#[cfg(feature = "suite")]
pub use slot::{SlotId, Slug};

/// A declared stage: what the macro `stages!` makes and `#[rle::timed]` records under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    name: &'static str,
}

impl Stage {
    /// A stage of that name. Use the macro `stages!`, which checks it.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }

    /// The full name: `checkpoint.save` for a stage `save` in a group `checkpoint`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}
