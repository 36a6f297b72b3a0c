//! Names of timed stages.

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
