//! One slot from its lock to its final record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::Error;
use crate::console::{SlotLog, SuiteConsole, set_slot_log};
use crate::fs::FileLock;
use crate::metrics::RunOutcome;
use crate::profile::{self, StageTotal};
use crate::record::decision::joined_texts;
use crate::record::{
    self, Accepted, Attempt, AttemptOutcome, Decision, RecordHead, RecordState, RunStatus,
    SlotAction, WholeRecord, archive,
};
use crate::run::{
    Checkpoint, Common, Episode, Latest, Progress, RunContext, RunParts, RunResult, Running, Stop,
    checkpoint,
};
use crate::suite::SlotOutcome;
use crate::suite::config::OnBusy;
use crate::suite::exec::attempt::{
    Before, close, fail, first_head, interrupt_from_outside, now_text, segments_before,
};
use crate::suite::exec::logging::RunLog;
use crate::suite::exec::prepare::PrepareEnv;
use crate::suite::exec::schedule::with_retries;
use crate::suite::exec::timing::{self, Segment, total_seconds};
use crate::suite::exec::{
    Failure, Isolation, Prepares, SLOT_PATIENCE, Sending, Unsent, lock, results,
};
use crate::suite::plan::{Plan, PlannedSlot, required_paths};
use crate::value::Value;

/// Runs slots in this process; this is what all slots of a start share.
pub(crate) struct SlotRunner<'a> {
    plan: &'a Plan,
    console: &'a SuiteConsole,
    stop: &'a Stop,
    isolation: Isolation,
    sending: Sending,
    prepares: Prepares,
}

/// A finished trainer call, before it is a record.
struct Finished {
    result: Result<RunResult, Failure>,
    seconds: f64,
    stages: Vec<StageTotal>,
    context: RunContext,
    log: RunLog,
}

impl<'a> SlotRunner<'a> {
    pub(crate) fn new(plan: &'a Plan, console: &'a SuiteConsole, stop: &'a Stop) -> Self {
        let (isolation, sending, prepares) =
            (Isolation::begin(), Sending::default(), Prepares::default());
        Self { plan, console, stop, isolation, sending, prepares }
    }

    /// Waits for the metrics that are being sent, and returns those that were not.
    pub(crate) fn end(self) -> Vec<Unsent> {
        self.sending.end()
    }

    /// Computes a slot unless another process holds it or its record answers the request.
    pub(crate) fn run(&self, slot: &PlannedSlot) -> SlotOutcome {
        let lock = match self.lock(slot) {
            Ok(Some(lock)) => lock,
            Ok(None) => return self.held_by_another(slot),
            Err(error) => return SlotOutcome::Failed { message: error.to_string() },
        };
        let log = self.open_log(slot);
        set_slot_log(Some(&log));
        let outcome = with_retries(slot, self.plan.options.execution.retries, self.stop, |retry| {
            if retry > 0 {
                self.prepares.forget_failures();
            }
            let outcome = self.run_locked(slot, &log);
            // Written directly: a user's program may have no `tracing` subscriber.
            if let SlotOutcome::Failed { message } = &outcome {
                log.line(format_args!("ERROR {} failed: {message}", slot.id));
            }
            outcome
        });
        self.console.slot_finished(&self.plan.label(slot), &outcome);
        set_slot_log(None);
        drop(lock);
        outcome
    }

    /// The slot's lock; none where another process holds it and is not waited for.
    fn lock(&self, slot: &PlannedSlot) -> Result<Option<FileLock>, Error> {
        let path = record::lock_path(&self.plan.facts.export_dir, &slot.id);
        let gives_up =
            || self.plan.options.execution.on_busy != OnBusy::Wait || self.stop.is_requested();
        lock::acquire(&path, SLOT_PATIENCE, gives_up, |holder| {
            tracing::info!("{} is held by another process ({holder}): waiting", slot.id);
        })
    }

    /// Its holder may have completed it already and be on its way out.
    fn held_by_another(&self, slot: &PlannedSlot) -> SlotOutcome {
        match self.plan.inspect(slot) {
            Ok(decision) if decision.action == SlotAction::Reuse => SlotOutcome::Reused,
            _ if self.plan.options.execution.on_busy == OnBusy::Fail => SlotOutcome::Failed {
                message: "another process holds this slot (--on-busy fail)".to_owned(),
            },
            _ => SlotOutcome::Busy,
        }
    }

    fn open_log(&self, slot: &PlannedSlot) -> SlotLog {
        let logs = self.plan.facts.export_dir.join("_logs");
        SlotLog::open(logs.join(format!("{}.log", slot.id.file_stem())))
    }

    fn run_locked(&self, slot: &PlannedSlot, log: &SlotLog) -> SlotOutcome {
        // Before anything is moved aside for a run that would end before it began.
        if self.stop.is_requested() {
            return SlotOutcome::NotRun;
        }
        match self.prepare_slot(slot) {
            Ok(None) => SlotOutcome::Reused,
            Ok(Some(before)) => self
                .compute(slot, before, log)
                .unwrap_or_else(|error| SlotOutcome::Failed { message: error.to_string() }),
            Err(error) => SlotOutcome::Failed { message: error.to_string() },
        }
    }

    /// Decides again under the lock, moves aside what must not be overwritten, and returns the earlier
    /// attempts; none where the record is reused after all.
    fn prepare_slot(&self, slot: &PlannedSlot) -> Result<Option<Before>, Error> {
        let export_dir = &self.plan.facts.export_dir;
        archive::recover(export_dir, Some(slot.id.slug()))?;
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
            tracing::info!("{}: {}", slot.id, decision.reasons_text());
            return Ok(Some(Before { attempts, latest }));
        }
        if (decision.set_aside || archive::has_outputs(export_dir, &slot.id))
            && let Some(moved) = archive::set_aside(export_dir, &slot.id)?
        {
            warn_of_rerun(slot, &decision, &moved);
        }
        Ok(Some(Before { attempts, latest }))
    }

    /// Adds to a reused record the differences that were accepted.
    fn record_acceptance(&self, slot: &PlannedSlot, decision: &Decision) -> Result<(), Error> {
        let path = record::record_path(&self.plan.facts.export_dir, &slot.id);
        let mut whole = record::read_whole(&path)?;
        let fields = decision.accepted.iter().filter_map(|reason| reason.path.clone());
        whole.head.accepted.push(Accepted {
            path: self.plan.options.records.accept.join(", "),
            differences: fields.collect(),
            request_hash: slot.identity.hash().to_owned(),
            accepted_at: now_text(),
        });
        whole.write(&path)?;
        let differences = joined_texts(&decision.accepted);
        tracing::warn!("{} is reused although {differences} (--accept)", slot.id);
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
            if attempt.outcome == AttemptOutcome::Running {
                attempt.outcome = AttemptOutcome::Lost;
            }
        }
        Ok(attempts)
    }

    fn compute(
        &self,
        slot: &PlannedSlot,
        before: Before,
        log: &SlotLog,
    ) -> Result<SlotOutcome, Error> {
        let segments = segments_before(&before);
        let mut head = first_head(self.plan, slot, before.attempts, before.latest.as_ref());
        let path = record::record_path(&self.plan.facts.export_dir, &slot.id);
        WholeRecord::without_result(head.clone()).write(&path)?;
        timing::describe_hardware(&self.plan.facts.export_dir.join(slot.id.slug().as_str()));
        let interrupt = interrupt_from_outside(head.clone(), path.clone());
        let running = Running { slot: slot.id.clone(), interrupt: Box::new(interrupt) };
        self.stop.begin_run(running, self.plan.options.execution.timeout);
        let env = PrepareEnv { plan: self.plan, isolation: &self.isolation, console: self.console };
        let prepared = match self.prepares.value_for(&env, self.plan.algorithm(slot)) {
            Ok(prepared) => prepared,
            Err(message) => {
                self.stop.finish_run();
                head.provenance = self.plan.provenance.whole();
                return fail(head, &path, Some(0.0), message);
            }
        };
        let attempt = head.attempts.len();
        let seconds_before = total_seconds(&segments);
        let finished = self.call(slot, prepared, attempt, before.latest, seconds_before);
        head.provenance = self.plan.provenance.whole();
        let out_of_time = self.stop.run_is_over();
        self.stop.finish_run();
        if let Err(Failure { detail: Some(detail), .. }) = &finished.result {
            log.line(format_args!("backtrace:\n{detail}"));
        }
        self.conclude(slot, head, &path, finished, &segments, out_of_time)
    }

    fn conclude(
        &self,
        slot: &PlannedSlot,
        mut head: RecordHead,
        path: &Path,
        finished: Finished,
        segments: &[Segment],
        out_of_time: bool,
    ) -> Result<SlotOutcome, Error> {
        let Finished { result, seconds, stages, context, log } = finished;
        let failed = |log: RunLog, mut head: RecordHead, message: String| {
            log.end(RunOutcome::Failed(message.clone()), &mut head, &self.sending);
            fail(head, path, Some(seconds), message)
        };
        let mut result = match result {
            Ok(result) => result,
            Err(failure) => return failed(log, head, failure.message),
        };
        if result.interrupted {
            if let (true, Some(limit)) = (out_of_time, self.plan.options.execution.timeout) {
                let limit = humantime::format_duration(limit);
                return failed(log, head, format!("did not end within --timeout {limit}"));
            }
            log.end(RunOutcome::Interrupted, &mut head, &self.sending);
            close(&mut head, RunStatus::Interrupted, Some(seconds));
            WholeRecord::without_result(head).write(path)?;
            return Ok(SlotOutcome::Interrupted);
        }
        for (stage, seconds) in std::mem::take(&mut result.timings) {
            if let Err(error) = context.record_timing(&stage, seconds, None) {
                tracing::warn!("metric `time_profile/{stage}` left out: {error}");
            }
        }
        result.add_logged(log.last_values());
        let (metrics, episodes) = match self.complete(&mut head, slot, result, seconds) {
            Ok(body) => body,
            Err(message) => return failed(log, head, message),
        };
        log.end(RunOutcome::Complete, &mut head, &self.sending);
        let total = total_seconds(segments) + seconds;
        head.seconds = Some(total);
        timing::save_run(&timing::Run {
            algorithm_dir: &context.algorithm_dir(),
            slot: &slot.id,
            seconds,
            segments,
            attempt: head.attempts.last().map_or(1, |attempt| attempt.number),
            stages: &stages,
            stages_before: &context.checkpoint().stages_before(),
            recorded: &context.recorded_timings(),
        });
        WholeRecord { head, metrics, episodes }.write(path)?;
        Ok(SlotOutcome::Complete { seconds: total })
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
        let state = latest.as_ref().and_then(Latest::logged);
        let checkpoint = Checkpoint::new(checkpoint::Setup {
            export_dir: self.plan.facts.export_dir.clone(),
            slot: slot.id.clone(),
            request_hash: slot.identity.hash().to_owned(),
            enabled: self.plan.options.records.checkpoint_enabled,
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
            latest,
            seconds_before,
            stop_at_save: self.plan.options.stop_at_save.then(|| self.stop.clone()),
        });
        let log = RunLog::begin(self.plan, slot, state);
        checkpoint.log_with(log.sink());
        let context = RunContext::from_parts(RunParts {
            common: Common::new(
                Arc::clone(&self.plan.facts),
                required_paths(&self.plan.facts.export_dir, &algorithm.requirements),
                progress.clone(),
            ),
            name: algorithm.spec.name.to_string(),
            slot: slot.id.clone(),
            seeds: slot.seeds.clone(),
            config: algorithm.config.clone(),
            prepared,
            checkpoint: checkpoint.clone(),
            logger: log.sink(),
            stop: self.stop.clone(),
        });
        self.console.slot_started(&self.plan.label(slot), progress);
        let timer = Arc::new(profile::begin_run());
        checkpoint.count_with(Arc::clone(&timer));
        let current = log.make_current();
        let clock = Instant::now();
        let result = self.isolation.call(|| (algorithm.spec.run)(&context));
        let seconds = clock.elapsed().as_secs_f64();
        let stages = timer.totals();
        timer.close();
        drop(current);
        Finished { result, seconds, stages, context, log }
    }

    /// Puts a result into the record, and returns its metrics and episodes. An error fails the run.
    fn complete(
        &self,
        head: &mut RecordHead,
        slot: &PlannedSlot,
        result: RunResult,
        seconds: f64,
    ) -> Result<(BTreeMap<String, Value>, Vec<Value>), String> {
        if !result.faults.is_empty() {
            return Err(result.faults.join("; "));
        }
        let episodes = episode_rows(&result.episodes)?;
        head.artifact_paths =
            results::track(&self.plan.facts.export_dir, &slot.id, &result.artifact_paths)?;
        head.summary = results::summary_of(&result.metrics, &result.episodes, result.summary);
        head.artifacts = result.artifacts;
        head.checkpoint = result.checkpoint;
        close(head, RunStatus::Complete, Some(seconds));
        Ok((result.metrics, episodes))
    }
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

fn warn_of_rerun(slot: &PlannedSlot, decision: &Decision, moved: &Path) {
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
        decision.reasons_text(),
        moved.display()
    );
}
