//! The record of an attempt: as it begins, and as it ends in every way but success.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Instant, SystemTime};

use crate::machine::scheduler::SchedulerJob;
use crate::machine::{hardware, host};
use crate::record::{
    self, Attempt, AttemptOutcome, REQUEST_SCHEMA, RecordHead, RecordedAlgorithm,
    RecordedEnvironment, RequestTag, RunStatus, WholeRecord,
};
use crate::run::Latest;
use crate::suite::SlotOutcome;
use crate::suite::exec::timing::{Segment, total_seconds};
use crate::suite::plan::{Plan, PlannedSlot};
use crate::{Error, metrics};

/// What went before an attempt at a slot.
pub(in crate::suite) struct Before {
    pub(in crate::suite) attempts: Vec<Attempt>,
    pub(in crate::suite) latest: Option<Latest>,
}

/// The record of a slot whose run begins now.
pub(in crate::suite) fn first_head(
    plan: &Plan,
    slot: &PlannedSlot,
    mut attempts: Vec<Attempt>,
    latest: Option<&Latest>,
) -> RecordHead {
    let algorithm = plan.algorithm(slot);
    let started_at = now_text();
    let job = SchedulerJob::current();
    let hardware_id = Some(hardware::current().id());
    attempts.push(Attempt {
        number: u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
        host: host::name(),
        pid: process::id(),
        job: job.as_ref().map(SchedulerJob::short),
        scheduler: job,
        hardware_id: hardware_id.clone(),
        started_at: started_at.clone(),
        finished_at: None,
        outcome: AttemptOutcome::Running,
        resumed_from: latest.map(Latest::sequence),
        seconds: None,
        log_loss: None,
    });
    RecordHead {
        schema_version: record::SCHEMA_VERSION,
        status: RunStatus::Running,
        request: RequestTag {
            schema_version: REQUEST_SCHEMA,
            hash: slot.identity.hash().to_owned(),
        },
        algorithm: RecordedAlgorithm {
            name: algorithm.spec.name.to_string(),
            slug: algorithm.slug.to_string(),
            config: algorithm.config.clone(),
        },
        run_idx: slot.id.run_idx(),
        seed: slot.seeds.learner(),
        seeds: slot.seeds.by_domain().clone(),
        environment: RecordedEnvironment {
            name: plan.facts.env_name.clone(),
            config: plan.facts.env_config.clone(),
        },
        common_config: plan.facts.common_config.clone(),
        provenance: plan.provenance.recorded(),
        required_artifacts: algorithm.requirements.clone(),
        artifact_paths: BTreeMap::new(),
        hardware_id,
        started_at,
        finished_at: None,
        seconds: None,
        attempts,
        accepted: Vec::new(),
        error: None,
        summary: BTreeMap::new(),
        artifacts: BTreeMap::new(),
        checkpoint: None,
        log_dir: plan.log.recorded_dir(&plan.facts),
    }
}

/// Ends the record of an attempt whose process died: the time it took is not known.
pub(in crate::suite) fn fail_lost(
    head: RecordHead,
    path: &Path,
    message: String,
) -> Result<SlotOutcome, Error> {
    // Known where the attempt itself had ended, as one that was stopped for want of time.
    let seconds = head.attempts.last().and_then(|attempt| attempt.seconds);
    fail(head, path, seconds, message)
}

/// The attempts that led to the checkpoint, each with its time, or with the time up to its last
/// checkpoint where it was killed.
pub(in crate::suite) fn segments_before(before: &Before) -> Vec<Segment> {
    let Some(latest) = &before.latest else { return Vec::new() };
    let manifest = &latest.manifest;
    let mut segments: Vec<Segment> = Vec::new();
    for attempt in &before.attempts {
        if attempt.resumed_from.is_none() {
            segments.clear();
        }
        let seconds = attempt.seconds.unwrap_or_else(|| {
            if manifest.attempt == attempt.number {
                (manifest.seconds - total_seconds(&segments)).max(0.0)
            } else {
                0.0
            }
        });
        segments.push(Segment {
            attempt: attempt.number,
            hardware_id: attempt.hardware_id.clone(),
            seconds,
        });
    }
    segments
}

/// Writes the record of a run that begins now as interrupted: for the thread that ends the process.
pub(in crate::suite) fn interrupt_from_outside(
    mut head: RecordHead,
    path: PathBuf,
) -> impl FnOnce() + Send {
    let began = Instant::now();
    move || {
        metrics::flush_current();
        close(&mut head, RunStatus::Interrupted, Some(began.elapsed().as_secs_f64()));
        if let Err(error) = WholeRecord::without_result(head).write(&path) {
            tracing::error!("{error}");
        }
    }
}

/// Ends the record of an attempt that did not succeed.
pub(in crate::suite) fn fail(
    mut head: RecordHead,
    path: &Path,
    seconds: Option<f64>,
    message: String,
) -> Result<SlotOutcome, Error> {
    head.artifact_paths.clear();
    head.error = Some(message.clone());
    close(&mut head, RunStatus::Failed, seconds);
    WholeRecord::without_result(head).write(path)?;
    Ok(SlotOutcome::Failed { message })
}

/// Ends a record, and the attempt that it is of.
pub(in crate::suite) fn close(head: &mut RecordHead, status: RunStatus, seconds: Option<f64>) {
    let finished_at = now_text();
    head.status = status;
    head.seconds = seconds;
    head.finished_at = Some(finished_at.clone());
    if let Some(attempt) = head.attempts.last_mut() {
        attempt.seconds = seconds;
        attempt.outcome = status.into();
        attempt.finished_at = Some(finished_at);
    }
}

pub(in crate::suite) fn now_text() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests;
