//! One slot from its lock to its final record.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::Error;
use crate::archive;
use crate::artifact;
use crate::checkpoint::{self, Checkpoint, Latest};
use crate::console::{self, SlotLog, SuiteConsole, set_slot_log};
use crate::context::{RunContext, RunParts};
use crate::host;
use crate::profile::{self, StageTotal};
use crate::progress::Progress;
use crate::record::{
    self, Accepted, Attempt, RecordHead, RecordState, RecordedAlgorithm, RecordedEnvironment,
    RequestTag, RunStatus, TrackedPath,
};
use crate::request::REQUEST_SCHEMA;
use crate::resume::{Decision, SlotAction};
use crate::run_result::{Episode, RunResult};
use crate::stop::{Running, Stop};
use crate::storage::FileLock;
use crate::suite::config::OnBusy;
use crate::suite::isolate::{Failure, Isolation};
use crate::suite::plan::{Plan, PlannedSlot};
use crate::suite::prepare::{PrepareEnv, Prepares};
use crate::suite::report::SlotOutcome;
use crate::suite::timing::Segment;
use crate::suite::{summary, timing};
use crate::value::Value;

/// How long a slot's lock is tried before the slot counts as busy: probes hold it for an instant.
pub(crate) const SLOT_PATIENCE: Duration = Duration::from_millis(200);

/// What all slots of a start share.
pub(crate) struct Executor<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) isolation: &'a Isolation,
    pub(crate) console: &'a SuiteConsole,
    pub(crate) stop: &'a Stop,
    pub(crate) prepares: Prepares,
}

/// What went before an attempt at a slot.
struct Before {
    attempts: Vec<Attempt>,
    /// The checkpoint that it goes on from.
    latest: Option<Latest>,
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
        let lock = match self.lock(slot) {
            Ok(Some(lock)) => lock,
            Ok(None) => return self.held_by_another(slot),
            Err(error) => return SlotOutcome::Failed { message: error.to_string() },
        };
        let log = self.open_log(slot);
        set_slot_log(Some(&log));
        let mut outcome = self.run_locked(slot, &log);
        for retry in 1..=self.plan.options.retries {
            let SlotOutcome::Failed { message } = &outcome else { break };
            if self.stop.is_requested() {
                break;
            }
            log.line(format_args!("ERROR {} failed: {message}", slot.id));
            tracing::warn!("{} failed, retry {retry}: {message}", slot.id);
            self.prepares.forget_failures();
            outcome = self.run_locked(slot, &log);
        }
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

    fn lock(&self, slot: &PlannedSlot) -> Result<Option<FileLock>, Error> {
        let path = record::lock_path(&self.plan.facts.export_dir, &slot.id);
        let mut said = false;
        loop {
            let lock = FileLock::try_acquire(&path, SLOT_PATIENCE)?;
            if lock.is_some() || self.plan.options.on_busy != OnBusy::Wait {
                return Ok(lock);
            }
            if self.stop.is_requested() {
                return Ok(None);
            }
            if !said {
                let holder = FileLock::holder(&path).unwrap_or_default();
                tracing::info!("{} is held by another process ({holder}): waiting", slot.id);
                said = true;
            }
        }
    }

    /// Its holder may have completed it already and be on its way out.
    fn held_by_another(&self, slot: &PlannedSlot) -> SlotOutcome {
        match self.plan.inspect(slot) {
            Ok(decision) if decision.action == SlotAction::Reuse => SlotOutcome::Reused,
            _ if self.plan.options.on_busy == OnBusy::Fail => SlotOutcome::Failed {
                message: "another process holds this slot (--on-busy fail)".to_owned(),
            },
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
            Ok(Some(before)) => self
                .compute(slot, before, log)
                .unwrap_or_else(|error| SlotOutcome::Failed { message: error.to_string() }),
            Err(error) => SlotOutcome::Failed { message: error.to_string() },
        }
    }

    /// Under the lock: decides again, moves aside what must not be overwritten, and returns what
    /// went before; none where the record is reused after all.
    fn clear_the_way(&self, slot: &PlannedSlot) -> Result<Option<Before>, Error> {
        let export_dir = &self.plan.facts.export_dir;
        archive::recover_slug(export_dir, slot.id.slug())?;
        let decision = self.plan.decide(slot)?;
        if decision.action == SlotAction::Reuse {
            if !decision.accepted.is_empty() {
                self.record_acceptance(slot, &decision)?;
            }
            return Ok(None);
        }
        let attempts = self.earlier_attempts(slot)?;
        let latest = match decision.action {
            SlotAction::Resume => self.plan.latest_checkpoint(slot)?,
            _ => None,
        };
        if latest.is_some() {
            say_reasons(slot, &decision);
            return Ok(Some(Before { attempts, latest }));
        }
        if (decision.set_aside || archive::has_outputs(export_dir, &slot.id))
            && let Some(moved) = archive::set_aside(export_dir, &slot.id)?
        {
            say_moved(slot, &decision, &moved);
        }
        Ok(Some(Before { attempts, latest }))
    }

    /// Writes into a reused record across which differences it was reused.
    fn record_acceptance(&self, slot: &PlannedSlot, decision: &Decision) -> Result<(), Error> {
        let path = record::record_path(&self.plan.facts.export_dir, &slot.id);
        let mut whole = record::read_whole(&path)?;
        let fields = decision.accepted.iter().filter_map(|reason| reason.path.clone());
        whole.head.accepted.push(Accepted {
            path: self.plan.options.accept.join(", "),
            differences: fields.collect(),
            request_hash: slot.identity.hash().to_owned(),
            accepted_at: now_text(),
        });
        record::write_record(&path, &whole.head, &whole.metrics, &whole.episodes)?;
        let texts: Vec<&str> =
            decision.accepted.iter().map(|reason| reason.text.as_str()).collect();
        tracing::warn!("{} is reused although {} (--accept)", slot.id, texts.join("; "));
        Ok(())
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
        before: Before,
        log: &SlotLog,
    ) -> Result<SlotOutcome, Error> {
        let segments = segments_before(&before);
        let mut head = self.first_head(slot, before.attempts, before.latest.as_ref());
        let path = record::record_path(&self.plan.facts.export_dir, &slot.id);
        record::write_record(&path, &head, &BTreeMap::new(), &[])?;
        let seconds_before = segments.iter().map(|segment| segment.seconds).sum();
        self.stop.begin_run(
            Running {
                head: head.clone(),
                path: path.clone(),
                began: Instant::now(),
                interrupt: interrupted_from_outside,
            },
            self.plan.options.timeout,
        );
        let env = PrepareEnv { plan: self.plan, isolation: self.isolation, console: self.console };
        let prepared = match self.prepares.value_for(&env, self.plan.algorithm(slot)) {
            Ok(prepared) => prepared,
            Err(message) => {
                self.stop.finish_run();
                head.provenance = self.plan.provenance.whole();
                return fail(head, &path, 0.0, message);
            }
        };
        let attempt = head.attempts.len();
        let finished = self.call(slot, prepared, attempt, before.latest, seconds_before);
        head.provenance = self.plan.provenance.whole();
        let out_of_time = self.stop.run_is_over();
        self.stop.finish_run();
        let seconds = finished.seconds;
        let result = match finished.result {
            Ok(result) => result,
            Err(failure) => {
                if let Some(detail) = &failure.detail {
                    log.line(format_args!("backtrace:\n{detail}"));
                }
                return fail(head, &path, seconds, failure.message);
            }
        };
        if result.interrupted {
            if let (true, Some(limit)) = (out_of_time, self.plan.options.timeout) {
                let limit = humantime::format_duration(limit);
                return fail(head, &path, seconds, format!("did not end within --timeout {limit}"));
            }
            close(&mut head, RunStatus::Interrupted, "interrupted", seconds);
            record::write_record(&path, &head, &BTreeMap::new(), &[])?;
            return Ok(SlotOutcome::Interrupted);
        }
        match self.complete(&mut head, slot, result, seconds) {
            Ok(Body { metrics, episodes }) => {
                head.seconds = Some(seconds_before + seconds);
                timing::save_run(&timing::Run {
                    algorithm_dir: &finished.context.algorithm_dir(),
                    slot: &slot.id,
                    seconds,
                    segments: &segments,
                    attempt: head.attempts.last().map_or(1, |attempt| attempt.number),
                    stages: &finished.stages,
                    stages_before: &finished.context.checkpoint().stages_before(),
                    recorded: &finished.context.recorded_timings(),
                });
                record::write_record(&path, &head, &metrics, &episodes)?;
                Ok(SlotOutcome::Done { seconds: seconds_before + seconds })
            }
            Err(message) => fail(head, &path, seconds, message),
        }
    }

    /// The record of a slot whose run begins now.
    fn first_head(
        &self,
        slot: &PlannedSlot,
        mut attempts: Vec<Attempt>,
        latest: Option<&Latest>,
    ) -> RecordHead {
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
            resumed_from: latest.map(Latest::sequence),
            seconds: None,
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
            accepted: Vec::new(),
            error: None,
            summary: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            checkpoint: None,
        }
    }

    fn call(
        &self,
        slot: &PlannedSlot,
        prepared: Option<Value>,
        attempt: usize,
        latest: Option<Latest>,
        seconds_before: f64,
    ) -> Finished {
        let algorithm = self.plan.algorithm(slot);
        let progress = Progress::default();
        let total = self.plan.facts.common_config.get("progress_total").and_then(Value::as_u64);
        if let Some(total) = total {
            progress.set_total(total);
        }
        let checkpoint = Checkpoint::new(checkpoint::Setup {
            export_dir: self.plan.facts.export_dir.clone(),
            slot: slot.id.clone(),
            request_hash: slot.identity.hash().to_owned(),
            enabled: self.plan.options.checkpoint_enabled,
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
            latest,
            seconds_before,
            stop_at_save: self.plan.options.stop_at_save.then(|| self.stop.clone()),
        });
        let context = RunContext::from_parts(RunParts {
            suite: Arc::clone(&self.plan.facts),
            name: algorithm.spec.name.clone(),
            slot: slot.id.clone(),
            seeds: slot.seeds.clone(),
            config: algorithm.config.clone(),
            prepared,
            required: algorithm.required_paths.clone(),
            progress: progress.clone(),
            checkpoint: checkpoint.clone(),
            stop: self.stop.clone(),
        });
        self.console.slot_started(&self.plan.label(slot), progress);
        let timer = Arc::new(profile::begin_run());
        checkpoint.count_with(Arc::clone(&timer));
        let clock = Instant::now();
        let result = self.isolation.call(|| (algorithm.spec.run)(&context));
        let seconds = clock.elapsed().as_secs_f64();
        let stages = timer.totals();
        timer.close();
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
    let fields: Vec<&str> =
        decision.reasons.iter().filter_map(|reason| reason.path.as_deref()).collect();
    let accept = match fields.as_slice() {
        [] => String::new(),
        fields if fields.iter().any(|field| field.starts_with("artifact_paths.")) => String::new(),
        fields => format!("; --accept {} would have kept it in use", fields.join(" --accept ")),
    };
    tracing::warn!(
        "{} runs again ({}); what it had is kept in {}{accept}",
        slot.id,
        reasons.join("; "),
        moved.display()
    );
}

/// Ends the record of an attempt whose process was ended: the time it took is known where the
/// process itself came to say it.
#[cfg(feature = "cli")]
pub(crate) fn fail_lost(
    mut head: RecordHead,
    path: &std::path::Path,
    message: String,
) -> Result<SlotOutcome, Error> {
    head.error = Some(message.clone());
    let seconds = head.seconds;
    close(&mut head, RunStatus::Failed, "failed", 0.0);
    head.seconds = seconds;
    if let Some(attempt) = head.attempts.last_mut() {
        attempt.seconds = seconds;
    }
    record::write_record(path, &head, &BTreeMap::new(), &[])?;
    Ok(SlotOutcome::Failed { message })
}

/// The attempts that led to the checkpoint, with the time that counts of each: all of one whose
/// end is known, and of one that was killed what came before its last checkpoint.
fn segments_before(before: &Before) -> Vec<Segment> {
    let Some(latest) = &before.latest else { return Vec::new() };
    let manifest = latest.manifest();
    let mut segments: Vec<Segment> = Vec::new();
    for attempt in &before.attempts {
        if attempt.resumed_from.is_none() {
            segments.clear();
        }
        let seconds = attempt.seconds.unwrap_or_else(|| {
            if manifest.attempt == attempt.number {
                let earlier: f64 = segments.iter().map(|segment| segment.seconds).sum();
                (manifest.seconds - earlier).max(0.0)
            } else {
                0.0
            }
        });
        segments.push(Segment { attempt: attempt.number, seconds });
    }
    segments
}

/// The record of a run whose process is ended: written by the thread that ends it.
fn interrupted_from_outside(head: &mut RecordHead, path: &std::path::Path, seconds: f64) {
    close(head, RunStatus::Interrupted, "interrupted", seconds);
    if let Err(error) = record::write_record(path, head, &BTreeMap::new(), &[]) {
        tracing::error!("{error}");
    }
}

fn say_reasons(slot: &PlannedSlot, decision: &Decision) {
    let reasons: Vec<&str> = decision.reasons.iter().map(|reason| reason.text.as_str()).collect();
    tracing::info!("{}: {}", slot.id, reasons.join("; "));
}

fn shown(outcome: &SlotOutcome) -> console::SlotOutcome {
    match outcome {
        SlotOutcome::Reused => console::SlotOutcome::Reused,
        SlotOutcome::Done { .. } => console::SlotOutcome::Complete,
        SlotOutcome::Failed { .. } => console::SlotOutcome::Failed,
        SlotOutcome::Interrupted | SlotOutcome::NotRun => console::SlotOutcome::Interrupted,
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
        attempt.seconds = Some(seconds);
        outcome.clone_into(&mut attempt.outcome);
        attempt.finished_at = Some(finished_at);
    }
}

fn now_text() -> String {
    humantime::format_rfc3339_micros(SystemTime::now()).to_string()
}
