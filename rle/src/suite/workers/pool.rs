//! The slots of a start, each in a worker, as many at once as there are jobs.

use super::devices::Devices;
use super::launcher::{Death, Launcher, LiveWorkers, WorkerEnd};
use super::protocol::Task;
use crate::Error;
use crate::console::SuiteConsole;
use crate::fs::FileLock;
use crate::record::{self, RecordState, RunStatus};
use crate::run::{Listener, Progress, Stop};
use crate::suite::SlotOutcome;
use crate::suite::exec::attempt::fail_lost;
use crate::suite::exec::schedule::{self, with_retries};
use crate::suite::exec::{SLOT_PATIENCE, Unsent};
use crate::suite::plan::{Plan, PlannedSlot, Start};
use crate::sync::Mutex;

/// Runs the slots that have to run. Returns the outcome of every slot, and the runs whose metrics were
/// not sent.
pub(in crate::suite) fn run(
    start: &Start,
    console: &SuiteConsole,
    stop: &Stop,
    devices: &Devices,
) -> Result<(Vec<SlotOutcome>, Vec<Unsent>), Error> {
    let plan = &start.plan;
    let live = LiveWorkers::default();
    let all = live.clone();
    let _listener =
        Listener::begin(stop, plan.options.execution.stop_after, move || all.kill_all());
    let timeout = plan.options.execution.timeout;
    let launcher = Launcher { stop, devices, live: &live, timeout, unsent: Mutex::default() };
    let pool = WorkerPool { plan, console, stop, launcher, refused: Mutex::default() };
    let outcomes = schedule::run_all(start, stop, |slot| pool.run(slot));
    match pool.refused.into_inner() {
        Some(why) => Err(Error::usage(why)),
        None => Ok((outcomes, pool.launcher.unsent.into_inner())),
    }
}

/// What all workers of a start share.
struct WorkerPool<'a> {
    plan: &'a Plan,
    console: &'a SuiteConsole,
    stop: &'a Stop,
    launcher: Launcher<'a>,
    /// Why a worker could not even begin: no other begins then.
    refused: Mutex<Option<String>>,
}

impl WorkerPool<'_> {
    fn run(&self, slot: &PlannedSlot) -> SlotOutcome {
        if self.refused.lock().is_some() {
            return SlotOutcome::NotRun;
        }
        let label = self.plan.label(slot);
        let progress = Progress::default();
        self.console.slot_started(&label, progress.clone());
        let retries = self.plan.options.execution.retries;
        let outcome = with_retries(slot, retries, self.stop, |_| self.attempt(slot, &progress));
        if outcome != SlotOutcome::Busy {
            self.console.slot_finished(&label, &outcome);
        }
        outcome
    }

    fn attempt(&self, slot: &PlannedSlot, progress: &Progress) -> SlotOutcome {
        let task = Task {
            config: self.plan.options.for_worker(),
            provenance: self.plan.provenance.for_worker(),
            slot: slot.id.to_string(),
            request_hash: slot.identity.hash().to_owned(),
        };
        match self.launcher.run(&task, progress) {
            Ok(WorkerEnd::Reported(outcome)) => outcome,
            Ok(WorkerEnd::Refused(why)) => {
                self.refused.lock().get_or_insert_with(|| why.clone());
                SlotOutcome::Failed { message: why }
            }
            Ok(WorkerEnd::Died(death)) => self.after_death(slot, &death),
            Err(error) => SlotOutcome::Failed { message: error.to_string() },
        }
    }

    /// The outcome of a slot whose worker died, as its record tells it. A record that the worker
    /// left unfinished becomes that of a failed run.
    fn after_death(&self, slot: &PlannedSlot, death: &Death) -> SlotOutcome {
        let export_dir = &self.plan.facts.export_dir;
        let failed = || SlotOutcome::Failed { message: death.cause.clone() };
        let lock = record::lock_path(export_dir, &slot.id);
        // The dead process's lock is free at once; a descendant of it may hold a copy for a while.
        let Ok(Some(_lock)) = FileLock::try_acquire(&lock, SLOT_PATIENCE) else { return failed() };
        let Ok(RecordState::Head(head)) = record::read_state(export_dir, &slot.id) else {
            return failed();
        };
        if !death.is_of(&head) {
            return failed();
        }
        match head.status {
            RunStatus::Complete => {
                tracing::warn!("{} is complete; after that, {}", slot.id, death.cause);
                SlotOutcome::Complete { seconds: head.seconds.unwrap_or_default() }
            }
            RunStatus::Failed => {
                SlotOutcome::Failed { message: head.error.unwrap_or_else(|| death.cause.clone()) }
            }
            RunStatus::Interrupted if !death.out_of_time => SlotOutcome::Interrupted,
            RunStatus::Interrupted | RunStatus::Running => {
                let path = record::record_path(export_dir, &slot.id);
                fail_lost(*head, &path, death.cause.clone()).unwrap_or_else(|error| {
                    SlotOutcome::Failed { message: format!("{}; {error}", death.cause) }
                })
            }
        }
    }
}
