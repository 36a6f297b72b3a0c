//! Run records: what `<export_dir>/runs/<slug>_<run_idx>.json` holds, and what follows from it.
//!
//! A record is one JSON object, head fields first. Deciding about a slot reads the head alone;
//! metrics and episodes are then checked for syntax only. Never runs anything, and knows nothing
//! of suites.
//!
//! - `provenance`: the code and the tools that computed a result.
//! - `format`: the fields of a record.
//! - `files`: where records are in an export directory; reads one or its head alone, and writes one.
//! - `identity`: the facts that decide whether a record answers a request, and their hash.
//! - `decision`: reuse a slot's record, or run the slot, and why; and the outcome.
//! - `archive`: superseded slots and complete sets, which are kept.
//! - `verify`: checks all stored hashes again.

pub(crate) mod archive;
pub(crate) mod decision;
mod files;
mod format;
pub(crate) mod identity;
pub(crate) mod provenance;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod verify;

pub(crate) use decision::Decision;
pub use decision::{Reason, SlotAction, SlotOutcome};
pub(crate) use files::{
    RecordState, WholeRecord, lock_path, read_head, read_state, read_whole, record_path,
    record_paths, runs_dir,
};
pub use files::{RunRecord, load_records};
pub use format::{
    Accepted, Attempt, AttemptOutcome, LogLoss, RecordHead, RecordedAlgorithm, RecordedEnvironment,
    RecordedRequirement, RequestTag, RunStatus, TrackedPath,
};
pub(crate) use format::{REQUEST_SCHEMA, SCHEMA_VERSION};
pub(crate) use identity::{Identity, IdentityParts};
pub use provenance::ProvenanceMode;
pub(crate) use provenance::{Capture, Provenance};
