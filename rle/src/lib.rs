//! Annotated functions become a complete, resumable reinforcement-learning experiment program.
#![cfg_attr(feature = "suite", doc = "")]
#![cfg_attr(feature = "suite", doc = include_str!("suite.md"))]
#![cfg_attr(not(feature = "suite"), doc = "")]
#![cfg_attr(not(feature = "suite"), doc = include_str!("timings.md"))]
#![forbid(unsafe_code)]
// On docs.rs, each item says which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What only the command line uses; with it, unused code is reported.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

mod error;
mod fs;
mod machine;
mod names;
mod near_match;
mod sync;
pub mod timings;
pub mod value;

#[cfg(feature = "suite")]
mod algorithm;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "suite")]
mod console;
#[cfg(feature = "suite")]
pub mod metrics;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod private;
#[cfg(feature = "suite")]
pub mod profile;
#[cfg(feature = "suite")]
mod record;
#[cfg(feature = "suite")]
mod run;
#[cfg(feature = "suite")]
mod suite;

pub use error::Error;
pub use machine::hardware;
pub use names::Stage;

#[cfg(feature = "suite")]
pub use crate::{
    algorithm::{AlgorithmSpec, stub_algorithms},
    machine::scheduler::SchedulerJob,
    metrics::log_metric,
    names::{SlotId, Slug},
    record::{
        Accepted, Attempt, AttemptOutcome, LogLoss, ProvenanceMode, Reason, RecordHead,
        RecordedAlgorithm, RecordedEnvironment, RecordedRequirement, RequestTag, RunRecord,
        RunStatus, SlotAction, TrackedPath, load_records,
    },
    run::{
        Checkpoint, Episode, Latest, PathKind, PrepareContext, Progress, RunContext, RunResult,
        TestRun,
    },
    suite::{
        IntoSuiteConfig, OnBusy, SlotOutcome, SlotPlan, SlotReport, Suite, SuiteConfig, SuitePlan,
        SuiteReport,
    },
};
#[cfg(feature = "suite")]
pub use rle_macros::{algorithm, main, prepare, stages, timed, timed_block};

#[cfg(feature = "suite")]
#[doc(hidden)]
pub use private as __private;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use cli::standalone as __standalone;

/// The result of a trainer: any error fits, `?` takes everything.
#[cfg(feature = "suite")]
pub type Result<T, E = anyhow::Error> = std::result::Result<T, E>;

/// What a program with `#[rle::main]` usually needs.
#[cfg(feature = "suite")]
pub mod prelude {
    pub use serde::{Deserialize, Serialize};

    pub use crate::{
        AlgorithmSpec, Episode, PrepareContext, Progress, ProvenanceMode, RunContext, RunResult,
        Suite, SuiteConfig,
    };
}

#[cfg(all(test, feature = "suite"))]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn every_part_of_a_record_has_a_public_name() {
        fn name(record: crate::RunRecord) {
            let _: (Vec<crate::Episode>, BTreeMap<String, crate::value::Value>) =
                (record.episode_history, record.metrics);
            let head: crate::RecordHead = record.head;
            let _: (crate::RunStatus, crate::RequestTag) = (head.status, head.request);
            let _: (crate::RecordedAlgorithm, crate::RecordedEnvironment) =
                (head.algorithm, head.environment);
            let _: BTreeMap<String, crate::RecordedRequirement> = head.required_artifacts;
            let outputs: BTreeMap<String, crate::TrackedPath> = head.artifact_paths;
            let _: Vec<crate::PathKind> = outputs.values().map(|output| output.kind).collect();
            let _: Vec<crate::Accepted> = head.accepted;
            for attempt in head.attempts {
                let attempt: crate::Attempt = attempt;
                let _: crate::AttemptOutcome = attempt.outcome;
                let _: (Option<crate::SchedulerJob>, Option<crate::LogLoss>) =
                    (attempt.scheduler, attempt.log_loss);
            }
        }
        let _ = name;
    }
}
