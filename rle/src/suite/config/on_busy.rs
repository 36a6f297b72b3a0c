//! What a start does about a slot that another process holds.

use serde::{Deserialize, Serialize};

/// What a start does about a slot that another process holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnBusy {
    /// Goes on with the others and looks again at the end.
    #[default]
    Skip,
    /// Waits until it is free.
    Wait,
    /// Counts it as failed at once.
    Fail,
}

impl OnBusy {
    const ALL: [(&'static str, Self); 3] =
        [("wait", Self::Wait), ("skip", Self::Skip), ("fail", Self::Fail)];

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, on_busy)| *on_busy)
    }
}
