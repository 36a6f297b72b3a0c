//! The decision about one slot, to reuse its record or to run it, with the reasons; and the outcome.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::RecordState;
use super::format::{REQUEST_SCHEMA, RecordHead, RunStatus, TrackedPath};
use super::identity::Identity;
use super::provenance::{self, Provenance};
use crate::SlotId;
use crate::run::artifacts;
use crate::value::{Difference, Value, differences};

/// The field whose difference is explained by file names rather than by hashes.
const SOURCE_TREE: &str = "provenance.source.tree_sha256";

/// What happens to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SlotAction {
    /// Its complete record answers the request.
    Reuse,
    /// It is computed.
    Run,
    /// It is computed on from its checkpoint.
    Resume,
    /// Another process holds it.
    Busy,
}

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

/// One reason why a slot is not reused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// The field that differs, where it is one: `algorithm.config.lr`.
    pub path: Option<String>,
    /// The record's value.
    pub old: Option<Value>,
    /// The request's value.
    pub new: Option<Value>,
    /// The reason in words.
    pub text: String,
}

impl Reason {
    fn plain(text: impl Into<String>) -> Self {
        Self { path: None, old: None, new: None, text: text.into() }
    }
}

/// What happens to a slot, why, and what becomes of its earlier record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) action: SlotAction,
    pub(crate) reasons: Vec<Reason>,
    /// Whether the earlier record must be moved aside before the slot runs.
    pub(crate) set_aside: bool,
    /// Differences across which the record is reused because the caller accepts them.
    pub(crate) accepted: Vec<Reason>,
}

impl Decision {
    fn new(action: SlotAction, reasons: Vec<Reason>, set_aside: bool) -> Self {
        Self { action, reasons, set_aside, accepted: Vec::new() }
    }

    fn run(reason: Reason, set_aside: bool) -> Self {
        Self::new(SlotAction::Run, vec![reason], set_aside)
    }

    pub(crate) fn busy() -> Self {
        let text = "another process holds this slot";
        Self::new(SlotAction::Busy, vec![Reason::plain(text)], false)
    }

    /// The differences across which the record is reused, as they are shown.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = Reason> + '_ {
        self.accepted.iter().cloned().map(|reason| Reason {
            text: format!("accepted (--accept): {}", reason.text),
            ..reason
        })
    }

    pub(crate) fn reasons_text(&self) -> String {
        joined_texts(&self.reasons)
    }

    pub(crate) fn resume_from(mut self, text: String) -> Self {
        self.action = SlotAction::Resume;
        self.reasons.push(Reason::plain(text));
        self
    }

    /// Moves the earlier record aside too, for one more reason.
    pub(crate) fn with_set_aside(mut self, text: String) -> Self {
        self.set_aside = true;
        self.reasons.push(Reason::plain(text));
        self
    }
}

pub(crate) fn joined_texts(reasons: &[Reason]) -> String {
    let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
    texts.join("; ")
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy<'a> {
    pub(crate) resume: bool,
    pub(crate) rerun: bool,
    /// Key paths whose differences do not matter.
    pub(crate) accept: &'a [String],
}

#[derive(Clone, Copy)]
pub(crate) struct ComparedRequest<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) provenance: &'a Provenance,
}

/// Decides about a slot whose record may be replaced; unusable records only with `rerun`.
pub(crate) fn decide(
    export_dir: &Path,
    slot: &SlotId,
    state: &RecordState,
    request: ComparedRequest<'_>,
    policy: Policy<'_>,
) -> Decision {
    let head = match state {
        RecordState::Missing => return Decision::run(Reason::plain("no record yet"), false),
        RecordState::Unusable(problem) => {
            let text = format!("asked for with --rerun {slot}; its record {problem}");
            return Decision::run(Reason::plain(text), true);
        }
        RecordState::Head(head) => head.as_ref(),
    };
    if policy.rerun {
        let reason = Reason::plain(format!("asked for with --rerun {slot}"));
        return Decision::run(reason, head.status == RunStatus::Complete);
    }
    if let Some(reason) = unfinished(head) {
        return Decision::run(reason, false);
    }
    if !policy.resume {
        let text = "reuse is turned off (--resume-completed-runs false)";
        return Decision::run(Reason::plain(text), true);
    }
    if let Some(reason) = unidentified(request.provenance) {
        return Decision::run(reason, true);
    }
    let (accepted, mut reasons): (Vec<Reason>, Vec<Reason>) =
        request_reasons(head, &request).into_iter().partition(|reason| is_accepted(reason, policy));
    if reasons.is_empty() {
        reasons = output_reasons(export_dir, head);
    }
    if reasons.is_empty() {
        return Decision { accepted, ..Decision::new(SlotAction::Reuse, reasons, false) };
    }
    reasons.splice(0..0, accepted);
    Decision::new(SlotAction::Run, reasons, true)
}

/// A program of which nothing could be hashed may be any program, whatever is accepted.
pub(crate) fn unidentified(provenance: &Provenance) -> Option<Reason> {
    let source = provenance.source.as_ref()?;
    let executable = provenance.executable.as_ref();
    if source.tree_sha256.is_some() || executable.is_some_and(|found| found.sha256.is_some()) {
        return None;
    }
    let because = |reason: Option<&String>| reason.map_or("unknown", String::as_str).to_owned();
    Some(Reason::plain(format!(
        "the program cannot be told from another: neither its sources ({}) nor its executable ({}) \
         could be hashed; --provenance-mode supplied leaves that to you",
        because(source.reason.as_ref()),
        because(executable.and_then(|found| found.reason.as_ref()))
    )))
}

/// Whether the caller named the field that differs, or a table that holds it.
fn is_accepted(reason: &Reason, policy: Policy<'_>) -> bool {
    let Some(path) = &reason.path else { return false };
    policy.accept.iter().any(|accepted| {
        path.strip_prefix(accepted.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

fn unfinished(head: &RecordHead) -> Option<Reason> {
    match head.status {
        RunStatus::Complete => None,
        RunStatus::Failed => {
            let error = head.error.as_deref().unwrap_or("without a message");
            let first_line = error.lines().next().unwrap_or_default();
            Some(Reason::plain(format!("failed: {first_line}")))
        }
        RunStatus::Interrupted => Some(Reason::plain("interrupted")),
        RunStatus::Running => Some(Reason::plain(format!(
            "lost: the process that began it at {} is gone",
            head.started_at
        ))),
    }
}

fn request_reasons(head: &RecordHead, request: &ComparedRequest<'_>) -> Vec<Reason> {
    if head.request.schema_version != REQUEST_SCHEMA {
        let text = format!(
            "its request hash follows rule {}, which this version does not know",
            head.request.schema_version
        );
        return vec![Reason::plain(text)];
    }
    let recorded = match Identity::of_record(head) {
        Ok(recorded) => recorded,
        Err(error) => return vec![Reason::plain(format!("its request cannot be read: {error}"))],
    };
    if recorded.hash() != head.request.hash {
        return vec![Reason {
            path: Some("request.hash".to_owned()),
            old: Some(Value::from(head.request.hash.as_str())),
            new: Some(Value::from(recorded.hash())),
            text: "request.hash does not belong to the record's own fields: it was edited"
                .to_owned(),
        }];
    }
    if head.accepted.iter().any(|accepted| accepted.request_hash == request.identity.hash()) {
        return Vec::new();
    }
    differences(recorded.value(), request.identity.value())
        .into_iter()
        .map(|difference| describe(head, request, difference))
        .collect()
}

fn describe(head: &RecordHead, request: &ComparedRequest<'_>, difference: Difference) -> Reason {
    let Difference { path, old, new, .. } = difference;
    let text = if path == SOURCE_TREE {
        let changed = head.provenance.to().map_or("the sources changed".to_owned(), |then| {
            provenance::explain_sources(&then, request.provenance)
        });
        format!("{path}: {changed}")
    } else {
        let (old, new) = (value_text(old.as_ref()), value_text(new.as_ref()));
        format!("request differs at `{path}`: {old} -> {new}")
    };
    Reason { path: Some(path), old, new, text }
}

/// A value of a request or a result in words, whether or not it is there.
pub(crate) fn value_text(value: Option<&Value>) -> String {
    value.map_or("absent".to_owned(), Value::to_string)
}

/// Why the tracked outputs of a record differ from what it says; empty where none does.
pub(crate) fn output_reasons(export_dir: &Path, head: &RecordHead) -> Vec<Reason> {
    let outputs = head.artifact_paths.iter();
    outputs.filter_map(|(label, tracked)| output_reason(export_dir, label, tracked)).collect()
}

fn output_reason(export_dir: &Path, label: &str, tracked: &TrackedPath) -> Option<Reason> {
    let path = artifacts::resolve_stored(export_dir, &tracked.path);
    let (new, problem) = match artifacts::hash_path(&path) {
        _ if path.symlink_metadata().is_err() => (None, format!("is missing: {}", path.display())),
        Err(error) => (None, format!("cannot be read: {error}")),
        Ok(found) if found.sha256 == tracked.sha256 && found.kind == tracked.kind => return None,
        Ok(found) => {
            let expected = format!("{} {}", tracked.kind, tracked.sha256);
            let problem =
                format!("changed: expected {expected}, found {} {}", found.kind, found.sha256);
            (Some(found.sha256), problem)
        }
    };
    Some(Reason {
        path: Some(format!("artifact_paths.{label}.sha256")),
        old: Some(Value::from(tracked.sha256.as_str())),
        new: new.map(Value::from),
        text: format!("output `{label}` {problem}"),
    })
}

#[cfg(test)]
mod tests;
