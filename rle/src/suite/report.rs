//! What a start would do with every slot, and what became of it.

use serde::{Deserialize, Serialize};

use crate::SlotId;
use crate::console::SlotEnd;
use crate::record::{Reason, SlotAction};

/// What became of one slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SlotOutcome {
    /// Its record answered the request.
    Reused,
    /// Computed now, in so many seconds.
    Complete {
        /// Duration of the run in seconds.
        seconds: f64,
    },
    /// It failed; the others went on.
    Failed {
        /// The error and its causes, or the panic's message.
        message: String,
    },
    /// It was stopped on request; the next start goes on with it.
    Interrupted,
    /// It was not begun: a stop was requested, or another slot failed with `--fail-fast`.
    NotRun,
    /// Another process holds it and has not completed it.
    Busy,
}

impl From<&SlotOutcome> for SlotEnd {
    fn from(outcome: &SlotOutcome) -> Self {
        match outcome {
            SlotOutcome::Reused => Self::Reused,
            SlotOutcome::Complete { .. } => Self::Complete,
            SlotOutcome::Failed { .. } => Self::Failed,
            SlotOutcome::Interrupted | SlotOutcome::NotRun => Self::Interrupted,
            SlotOutcome::Busy => Self::Busy,
        }
    }
}

/// One slot of a finished start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlotReport {
    /// The slot.
    pub slot: SlotId,
    /// The algorithm's display label.
    pub name: String,
    /// What became of it.
    pub outcome: SlotOutcome,
}

/// All slots of a finished start, in the order in which they were scheduled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SuiteReport {
    /// The slots.
    pub slots: Vec<SlotReport>,
    /// Whether the start was stopped on request, or a run returned as interrupted.
    pub stopped: bool,
}

impl SuiteReport {
    /// The exit status that the generated program ends with: 3 when it was stopped and can go
    /// on, 1 when a slot failed, 4 when another process holds one that is not complete, else 0.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        if self.stopped {
            3
        } else if self.slots.iter().any(|slot| matches!(slot.outcome, SlotOutcome::Failed { .. })) {
            1
        } else if self.slots.iter().any(|slot| slot.outcome == SlotOutcome::Busy) {
            4
        } else {
            0
        }
    }

    /// Whether every slot is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.exit_status() == 0
    }
}

/// One slot of a plan: the documented form of `--dry-run` and `status` as JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SlotPlan {
    /// The slot, `ippo:0` in JSON.
    pub slot: SlotId,
    /// What would happen.
    pub action: SlotAction,
    /// Why it is not reused.
    pub reasons: Vec<Reason>,
}

/// What a start would do.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SuitePlan {
    /// Every slot that the start is about.
    pub slots: Vec<SlotPlan>,
}
