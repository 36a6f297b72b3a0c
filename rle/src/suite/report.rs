//! What a start would do with every slot, and what became of it.

use serde::Serialize;

use crate::SlotId;
use crate::record::{Reason, SlotAction, SlotOutcome};

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
