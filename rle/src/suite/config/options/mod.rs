//! All options of a suite. One file a subject holds the options' fields and defaults, their rows of
//! the table of settings, and the methods by which a program's code sets them.
//!
//! - `selection`: which algorithms and runs a start is about.
//! - `records`: what a start does with records and checkpoints that are there.
//! - `execution`: how slots are run.
//! - `provenance`: what of the program and its sources is part of each run's identity.
//! - `logging`: what is logged, and where.
//! - `invocation`: where a start writes, and what is asked of one call of the program.

pub(super) mod execution;
pub(super) mod invocation;
pub(super) mod logging;
pub(super) mod provenance;
pub(super) mod records;
pub(super) mod selection;

pub(super) use execution::ExecutionOptions;
pub(super) use logging::LogOptions;
pub(super) use provenance::ProvenanceOptions;
pub(super) use records::RecordOptions;
pub(super) use selection::SelectionOptions;
