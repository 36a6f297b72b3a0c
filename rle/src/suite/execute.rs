//! One slot from its lock to its final record.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::Error;
use crate::artifact;
use crate::console::{self, SlotLog, SuiteConsole, set_slot_log};
use crate::context::{RunContext, RunParts};
use crate::host;
use crate::profile::{self, StageTotal};
use crate::progress::Progress;
use crate::record::{
    self, Attempt, RecordHead, RecordState, RecordedAlgorithm, RecordedEnvironment, RequestTag,
    RunStatus, TrackedPath,
};
use crate::request::REQUEST_SCHEMA;
use crate::resume::{Decision, SlotAction};
use crate::run_result::{Episode, RunResult};
use crate::storage::FileLock;
use crate::suite::isolate::{Failure, Isolation};
use crate::suite::plan::{Plan, PlannedSlot};
use crate::suite::prepare::{PrepareEnv, Prepares};
use crate::suite::report::SlotOutcome;
use crate::suite::{summary, timing};
use crate::supersede;
use crate::value::Value;

/// How long a slot's lock is tried before the slot counts as busy: probes hold it for an instant.
const SLOT_PATIENCE: Duration = Duration::from_millis(200);

/// What all slots of a start share.
pub(crate) struct Executor<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) isolation: &'a Isolation,
    pub(crate) console: &'a SuiteConsole,
    pub(crate) prepares: Prepares,
}

/// A finished trainer call, before it is a record.
struct Finished {
    result: Result<RunResult, Failure>,
    seconds: f64,
    stages: Vec<StageTotal>,
    context: RunContext,
}

impl Executor<'_> {
    /// Computes a slot unless another process holds it or its record answers the request.
    pub(crate) fn run(&mut self, slot: &PlannedSlot) -> SlotOutcome {
        let lock = record::lock_path(&self.plan.facts.export_dir, &slot.id);
        let lock = match FileLock::try_acquire(&lock, SLOT_PATIENCE) {
            Ok(Some(lock)) => lock,
            Ok(None) => return self.held_by_another(slot),
            Err(error) => return SlotOutcome::Failed { message: error.to_string() },
        };
        let log = self.open_log(slot);
        set_slot_log(Some(&log));
        let outcome = self.run_locked(slot, &log);
        // Written by ourselves: a program of the user's may listen to no log line at all.
        if let SlotOutcome::Failed { message } = &outcome {
            log.line(format_args!("ERROR {} failed: {message}", slot.id));
        }
        self.console.slot_finished(&self.plan.label(slot), shown(&outcome));
        set_slot_log(None);
        if let SlotOutcome::Failed { message } = &outcome {
            tracing::error!("{} failed: {message}", slot.id);
        }
        drop(lock);
        outcome
    }

    /// Its holder may have completed it already and be on its way out.
    fn held_by_another(&self, slot: &PlannedSlot) -> SlotOutcome {
        match self.plan.inspect(slot) {
            Ok(decision) if decision.action == SlotAction::Reuse => SlotOutcome::Reused,
            _ => SlotOutcome::Busy,
        }
    }

    fn open_log(&self, slot: &PlannedSlot) -> SlotLog {
        let logs = self.plan.facts.export_dir.join("_logs");
        SlotLog::open(logs.join(format!("{}.log", slot.id.file_stem())))
    }

    fn run_locked(&mut self, slot: &PlannedSlot, log: &SlotLog) -> SlotOutcome {
        match self.clear_the_way(slot) {
            Ok(None) => SlotOutcome::Reused,
            Ok(Some(attempts)) => self
                .compute(slot, attempts, log)
                .unwrap_or_else(|error| SlotOutcome::Failed { message: error.to_string() }),
            Err(error) => SlotOutcome::Failed { message: error.to_string() },
        }
    }

    /// Under the lock: decides again, moves aside what must not be overwritten, and returns the
    /// earlier attempts at the same request; none where the record is reused after all.
    fn clear_the_way(&self, slot: &PlannedSlot) -> Result<Option<Vec<Attempt>>, Error> {
        let export_dir = &self.plan.facts.export_dir;
        supersede::recover(export_dir, &slot.id)?;
        let decision = self.plan.decide(slot)?;
        if decision.action == SlotAction::Reuse {
            return Ok(None);
        }
        let attempts = self.earlier_attempts(slot)?;
        let leftovers = !supersede::is_empty_dir(&artifact::run_directory(export_dir, &slot.id));
        if (decision.set_aside || leftovers)
            && let Some(moved) = supersede::set_aside(export_dir, &slot.id)?
        {
            say_moved(slot, &decision, &moved);
        }
        Ok(Some(attempts))
    }

    fn earlier_attempts(&self, slot: &PlannedSlot) -> Result<Vec<Attempt>, Error> {
        let state = record::read_state(&self.plan.facts.export_dir, &slot.id)?;
        let RecordState::Head(head) = state else { return Ok(Vec::new()) };
        if head.request.hash != slot.identity.hash() || head.status == RunStatus::Complete {
            return Ok(Vec::new());
        }
        let mut attempts = head.attempts;
        for attempt in &mut attempts {
            if attempt.outcome == "running" {
                "lost".clone_into(&mut attempt.outcome);
            }
        }
        Ok(attempts)
    }

    fn compute(
        &mut self,
        slot: &PlannedSlot,
        attempts: Vec<Attempt>,
        log: &SlotLog,
    ) -> Result<SlotOutcome, Error> {
        let mut head = self.first_head(slot, attempts);
        let path = record::record_path(&self.plan.facts.export_dir, &slot.id);
        record::write_record(&path, &head, &BTreeMap::new(), &[])?;
        let env = PrepareEnv { plan: self.plan, isolation: self.isolation, console: self.console };
        let prepared = match self.prepares.value_for(&env, self.plan.algorithm(slot)) {
            Ok(prepared) => prepared,
            Err(message) => {
                head.provenance = self.plan.provenance.whole();
                return fail(head, &path, 0.0, message);
            }
        };
        let finished = self.call(slot, prepared);
        head.provenance = self.plan.provenance.whole();
        let (result, seconds) = (finished.result, finished.seconds);
        let result = match result {
            Ok(result) => result,
            Err(failure) => {
                if let Some(detail) = &failure.detail {
                    log.line(format_args!("backtrace:\n{detail}"));
                }
                return fail(head, &path, seconds, failure.message);
            }
        };
        match self.complete(&mut head, slot, result, seconds) {
            Ok(Body { metrics, episodes }) => {
                timing::save_run(
                    &finished.context.algorithm_dir(),
                    slot.id.slug().as_str(),
                    slot.id.run_idx(),
                    seconds,
                    &finished.stages,
                    &finished.context.recorded_timings(),
                );
                record::write_record(&path, &head, &metrics, &episodes)?;
                Ok(SlotOutcome::Done { seconds })
            }
            Err(message) => fail(head, &path, seconds, message),
        }
    }

    /// The record of a slot whose run begins now.
    fn first_head(&self, slot: &PlannedSlot, mut attempts: Vec<Attempt>) -> RecordHead {
        let algorithm = self.plan.algorithm(slot);
        let started_at = now_text();
        attempts.push(Attempt {
            number: u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
            host: host::name(),
            pid: process::id(),
            job: host::scheduler_job(),
            started_at: started_at.clone(),
            finished_at: None,
            outcome: "running".to_owned(),
            resumed_from: None,
        });
        RecordHead {
            schema_version: record::SCHEMA_VERSION,
            status: RunStatus::Running,
            request: RequestTag {
                schema_version: REQUEST_SCHEMA,
                hash: slot.identity.hash().to_owned(),
            },
            algorithm: RecordedAlgorithm {
                name: algorithm.spec.name.clone(),
                slug: algorithm.slug.to_string(),
                config: algorithm.config.clone(),
            },
            run_idx: slot.id.run_idx(),
            seed: slot.seeds.learner(),
            seeds: slot.seeds.by_domain().clone(),
            environment: RecordedEnvironment {
                name: self.plan.facts.env_name.clone(),
                config: self.plan.facts.env_config.clone(),
            },
            common_config: self.plan.facts.common_config.clone(),
            provenance: self.plan.provenance.recorded(),
            required_artifacts: algorithm.requirements.clone(),
            artifact_paths: BTreeMap::new(),
            hardware_id: None,
            started_at,
            finished_at: None,
            seconds: None,
            attempts,
            error: None,
            summary: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            checkpoint: None,
        }
    }

    fn call(&self, slot: &PlannedSlot, prepared: Option<Value>) -> Finished {
        let algorithm = self.plan.algorithm(slot);
        let progress = Progress::default();
        let total = self.plan.facts.common_config.get("progress_total").and_then(Value::as_u64);
        if let Some(total) = total {
            progress.set_total(total);
        }
        let context = RunContext::from_parts(RunParts {
            suite: Arc::clone(&self.plan.facts),
            name: algorithm.spec.name.clone(),
            slot: slot.id.clone(),
            seeds: slot.seeds.clone(),
            config: algorithm.config.clone(),
            prepared,
            required: algorithm.required_paths.clone(),
            progress: progress.clone(),
        });
        self.console.slot_started(&self.plan.label(slot), progress);
        let timer = profile::begin_run();
        let clock = Instant::now();
        let result = self.isolation.call(|| (algorithm.spec.run)(&context));
        let seconds = clock.elapsed().as_secs_f64();
        let stages = timer.finish();
        Finished { result, seconds, stages, context }
    }

    /// Turns a result into the record's fields.
    ///
    /// # Errors
    /// What makes the run a failed one: a value without a JSON form, a missing output.
    fn complete(
        &self,
        head: &mut RecordHead,
        slot: &PlannedSlot,
        result: RunResult,
        seconds: f64,
    ) -> Result<Body, String> {
        if !result.faults.is_empty() {
            return Err(result.faults.join("; "));
        }
        let episodes = episode_rows(&result.episodes)?;
        head.artifact_paths = self.track(slot, &result.artifact_paths)?;
        head.summary = summary::derive(&result.metrics, &result.episodes, result.summary);
        head.artifacts = result.artifacts;
        head.checkpoint = result.checkpoint;
        close(head, RunStatus::Complete, "complete", seconds);
        Ok(Body { metrics: result.metrics, episodes })
    }

    fn track(
        &self,
        slot: &PlannedSlot,
        paths: &BTreeMap<String, PathBuf>,
    ) -> Result<BTreeMap<String, TrackedPath>, String> {
        let export_dir = &self.plan.facts.export_dir;
        let missing: Vec<String> = paths
            .iter()
            .filter(|(_, path)| !path.exists())
            .map(|(label, path)| format!("`{label}` ({})", path.display()))
            .collect();
        if !missing.is_empty() {
            return Err(format!("tracked outputs are missing: {}", missing.join(", ")));
        }
        let mut tracked = BTreeMap::new();
        for (label, path) in paths {
            let stored = artifact::relative_to_export(export_dir, path)
                .map_err(|error| error.to_string())?;
            if artifact::is_common_ground(export_dir, &stored) {
                return Err(format!(
                    "output `{label}` ({}) holds what belongs to the framework or to several runs; \
                     track only what this run wrote, such as ctx.artifact_path(..)",
                    path.display()
                ));
            }
            let identity = artifact::hash_path(path).map_err(|error| error.to_string())?;
            let place = TrackedPath {
                path: stored,
                kind: identity.kind,
                bytes: identity.bytes,
                sha256: identity.sha256,
            };
            tracked.insert(label.clone(), place);
        }
        self.refuse_shared_paths(slot, &tracked)?;
        Ok(tracked)
    }

    /// A path below this run's own directory is this slot's; any other may be another's too.
    fn refuse_shared_paths(
        &self,
        slot: &PlannedSlot,
        tracked: &BTreeMap<String, TrackedPath>,
    ) -> Result<(), String> {
        let export_dir = &self.plan.facts.export_dir;
        let own = artifact::run_directory(export_dir, &slot.id);
        let foreign: Vec<(&String, PathBuf)> = tracked
            .iter()
            .map(|(label, place)| (label, artifact::resolve_stored(export_dir, &place.path)))
            .filter(|(_, path)| !path.starts_with(&own))
            .collect();
        if foreign.is_empty() {
            return Ok(());
        }
        let own_record = record::record_path(export_dir, &slot.id);
        let records = record::record_paths(export_dir).map_err(|error| error.to_string())?;
        for path in records.iter().filter(|path| **path != own_record) {
            let Some(other) = record::read_head(path) else { continue };
            for theirs in other.artifact_paths.values() {
                let theirs = artifact::resolve_stored(export_dir, &theirs.path);
                if let Some((label, shared)) = foreign
                    .iter()
                    .find(|(_, path)| path.starts_with(&theirs) || theirs.starts_with(path))
                {
                    return Err(format!(
                        "output `{label}` ({}) is tracked by slot {}:{} too; give each run its own \
                         path, such as ctx.artifact_path(..)",
                        shared.display(),
                        other.algorithm.slug,
                        other.run_idx
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The parts of a complete record that follow its head.
struct Body {
    metrics: BTreeMap<String, Value>,
    episodes: Vec<Value>,
}

fn episode_rows(episodes: &[Episode]) -> Result<Vec<Value>, String> {
    episodes
        .iter()
        .enumerate()
        .map(|(row, episode)| {
            Value::from_serialize_lossless(episode)
                .map_err(|error| format!("episode_history[{row}] cannot be stored: {error}"))
        })
        .collect()
}

fn say_moved(slot: &PlannedSlot, decision: &Decision, moved: &std::path::Path) {
    let reasons: Vec<&str> = decision.reasons.iter().map(|reason| reason.text.as_str()).collect();
    tracing::warn!(
        "{} runs again ({}); what it had is kept in {}",
        slot.id,
        reasons.join("; "),
        moved.display()
    );
}

fn shown(outcome: &SlotOutcome) -> console::SlotOutcome {
    match outcome {
        SlotOutcome::Reused => console::SlotOutcome::Reused,
        SlotOutcome::Done { .. } => console::SlotOutcome::Complete,
        SlotOutcome::Failed { .. } => console::SlotOutcome::Failed,
        SlotOutcome::Busy => console::SlotOutcome::Busy,
    }
}

/// Ends the record of an attempt that did not succeed.
fn fail(
    mut head: RecordHead,
    path: &std::path::Path,
    seconds: f64,
    message: String,
) -> Result<SlotOutcome, Error> {
    head.artifact_paths.clear();
    head.error = Some(message.clone());
    close(&mut head, RunStatus::Failed, "failed", seconds);
    record::write_record(path, &head, &BTreeMap::new(), &[])?;
    Ok(SlotOutcome::Failed { message })
}

fn close(head: &mut RecordHead, status: RunStatus, outcome: &str, seconds: f64) {
    let finished_at = now_text();
    head.status = status;
    head.seconds = Some(seconds);
    head.finished_at = Some(finished_at.clone());
    if let Some(attempt) = head.attempts.last_mut() {
        outcome.clone_into(&mut attempt.outcome);
        attempt.finished_at = Some(finished_at);
    }
}

fn now_text() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}
