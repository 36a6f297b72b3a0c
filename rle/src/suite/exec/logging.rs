//! What a start logs, and where: resolved with its plan, and one logger for each run.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::SlotId;
use crate::metrics::{
    Current, LogReport, LoggedRun, MetricSink, MetricState, RunLogger, RunOutcome, Upload,
    UploadOutcome,
};
use crate::record::{LogLoss, RecordHead};
use crate::run::DURATIONS;
use crate::suite::plan::{Plan, PlannedSlot};
use crate::sync::Mutex;
use crate::value::Value;

/// How long the vendor's tool is waited for at the end; after that it goes on by itself.
const SENDING_PATIENCE: Duration = Duration::from_mins(1);

/// What runs can be told apart by, under the names that configuration files have.
fn run_config(plan: &Plan, slot: &PlannedSlot) -> Value {
    let algorithm = plan.algorithm(slot);
    let facts = &plan.facts;
    let seeds = slot.seeds.by_domain().iter();
    Value::from_iter([
        ("algorithm", Value::from(algorithm.spec.name.to_string())),
        ("slug", Value::from(slot.id.slug().to_string())),
        ("run_idx", Value::from(slot.id.run_idx())),
        ("seed", Value::from(slot.seeds.learner())),
        ("seeds", seeds.map(|(domain, seed)| (domain.clone(), Value::from(*seed))).collect()),
        ("config", algorithm.config.clone()),
        ("env_name", Value::from(facts.env_name.clone())),
        ("env_config", facts.env_config.clone()),
        ("common_config", facts.common_config.clone()),
    ])
}

pub(in crate::suite) struct RunLog {
    logger: RunLogger,
    sink: MetricSink,
    slot: SlotId,
}

impl RunLog {
    /// Begins to log a run; `state` is that of the checkpoint from which it resumes.
    pub(in crate::suite) fn begin(
        plan: &Plan,
        slot: &PlannedSlot,
        state: Option<MetricState>,
    ) -> Self {
        let log = &plan.log;
        let run = LoggedRun {
            project: log.project.clone(),
            name: log.name.clone(),
            group: plan.algorithm(slot).spec.name.to_string(),
            slug: slot.id.slug().clone(),
            run_idx: slot.id.run_idx(),
            config: run_config(plan, slot),
            tags: log.tags.clone(),
            request: slot.identity.hash().to_owned(),
            resume_step: state.as_ref().and_then(|state| state.highest_step),
        };
        let logger = RunLogger::start_when_logging(&log.options, &run);
        let sink = logger.sink();
        if let Some(state) = state {
            sink.resume_from(state);
        }
        Self { logger, sink, slot: slot.id.clone() }
    }

    pub(in crate::suite) fn sink(&self) -> MetricSink {
        self.sink.clone()
    }

    /// From anywhere in the process metrics go to this run.
    pub(in crate::suite) fn make_current(&self) -> Current {
        Current::begin(self.sink())
    }

    pub(in crate::suite) fn last_values(&self) -> impl Iterator<Item = (String, f64)> + use<> {
        let values = self.sink.last_values().into_iter();
        values.filter(|(name, _)| !name.starts_with(DURATIONS))
    }

    /// Ends the files as the run ended, and notes in its record what they miss.
    pub(in crate::suite) fn end(
        self,
        outcome: RunOutcome,
        head: &mut RecordHead,
        sending: &Sending,
    ) {
        let goes_on = outcome == RunOutcome::Interrupted;
        if self.sink.metric_state().highest_step.is_none() {
            head.log_dir = None;
        }
        let report = self.logger.finish(outcome);
        if let Some(attempt) = head.attempts.last_mut() {
            attempt.log_loss = loss(&report);
        }
        for backend in report.backends {
            match backend.upload {
                // A run that goes on is sent when it is whole.
                Some(upload) if upload.is_requested() && !goes_on => {
                    sending.begin(&self.slot, upload);
                }
                _ => {}
            }
        }
    }
}

fn loss(report: &LogReport) -> Option<LogLoss> {
    let problems = report
        .backends
        .iter()
        .filter_map(|backend| Some((backend.name.to_owned(), backend.problem.clone()?)));
    let loss = LogLoss { points: report.lost(), problems: problems.collect() };
    (loss != LogLoss::default()).then_some(loss)
}

/// A run that the vendor's tool has not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unsent {
    slot: String,
    why: String,
    command: String,
}

impl Unsent {
    pub(crate) fn warn(&self) {
        let Self { slot, why, command } = self;
        tracing::warn!("metrics of {slot} are not sent: {why}; send them with: {command}");
    }
}

/// The vendors' tools at work, each beside the runs that follow.
#[derive(Default)]
pub(crate) struct Sending(Mutex<Vec<JoinHandle<Option<Unsent>>>>);

impl Sending {
    fn begin(&self, slot: &SlotId, upload: Upload) {
        let slot = slot.to_string();
        let unsent = Unsent {
            slot: slot.clone(),
            why: "no thread could be started for it".to_owned(),
            command: upload.command_line(),
        };
        let work = move || send(&slot, &upload);
        match thread::Builder::new().name("rle-send".to_owned()).spawn(work) {
            Ok(thread) => self.0.lock().push(thread),
            Err(_) => unsent.warn(),
        }
    }

    /// Waits for all; those that were not sent.
    pub(crate) fn end(self) -> Vec<Unsent> {
        let threads = self.0.into_inner();
        threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    }
}

fn send(slot: &str, upload: &Upload) -> Option<Unsent> {
    let command = upload.command_line();
    let why = match upload.start(SENDING_PATIENCE) {
        UploadOutcome::Sent => {
            tracing::info!("metrics of {slot} are sent ({command})");
            return None;
        }
        UploadOutcome::StillSending { log } => {
            tracing::info!("metrics of {slot} are still being sent; see {}", log.display());
            return None;
        }
        UploadOutcome::Failed { status, log } => format!("{status}, see {}", log.display()),
        UploadOutcome::NotStarted { reason } => reason,
    };
    Some(Unsent { slot: slot.to_owned(), why, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lost_is_nothing_said() {
        assert_eq!(loss(&LogReport::default()), None);
    }
}
