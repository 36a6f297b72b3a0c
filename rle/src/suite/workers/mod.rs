//! Slots in processes of their own: the program runs itself again for each.
//!
//! A crash, an abort, a kill for want of memory or a run that never ends takes only its own slot.
//! Each worker holds its own slot's lock; its record on disk is the truth, what it says over the
//! socket a convenience. A worker whose parent is gone stops.

mod child;
mod debugger;
mod devices;
mod parent;
mod protocol;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::Error;
use crate::console::{self, SuiteConsole};
use crate::fs::FileLock;
use crate::record::decision::SlotAction;
use crate::record::{self, RecordState, RunStatus};
use crate::run::progress::Progress;
use crate::run::stop::{Listener, Stop};
use crate::suite::exec::attempt::fail_lost;
use crate::suite::exec::execute::SLOT_PATIENCE;
use crate::suite::exec::logging::Unsent;
use crate::suite::plan::{Plan, PlannedSlot};
use crate::suite::report::SlotOutcome;
use crate::suite::{Start, SuiteConfig};
use crate::sync::Mutex;

pub(crate) use child::{is_worker, main};
pub(super) use debugger::check as check_debugger;
pub(super) use devices::Devices;

use parent::{Death, Ended, Launcher, Living};
use protocol::Handoff;

/// Runs the slots that have to run, as many at once as there are jobs.
pub(super) fn run(
    start: &Start,
    config: &SuiteConfig,
    console: &SuiteConsole,
    stop: &Stop,
    devices: &Devices,
    unsent: &mut Vec<Unsent>,
) -> Result<Vec<SlotOutcome>, Error> {
    let plan = &start.plan;
    let living = Living::default();
    let all = living.clone();
    let _listener = Listener::begin(stop, plan.options.stop_after, move || all.kill_all());
    let launcher = Launcher {
        stop,
        devices,
        living: &living,
        timeout: plan.options.timeout,
        unsent: Mutex::default(),
    };
    let lanes = Lanes {
        plan,
        config: config.clone(),
        console,
        stop,
        launcher,
        failed: AtomicBool::new(false),
        refused: Mutex::new(None),
    };
    let to_run: Vec<usize> = (0..plan.slots.len())
        .filter(|&slot| {
            let decision = &start.decisions[slot];
            decision.action != SlotAction::Reuse || !decision.accepted.is_empty()
        })
        .collect();
    let mut done = lanes.run(&to_run);
    let busy: Vec<usize> = done
        .iter()
        .filter(|(_, outcome)| **outcome == SlotOutcome::Busy)
        .map(|(&slot, _)| slot)
        .collect();
    if !busy.is_empty() && !stop.is_requested() {
        done.extend(lanes.run(&busy));
    }
    unsent.append(&mut lanes.launcher.unsent.lock());
    if let Some(why) = lanes.refused.lock().take() {
        return Err(Error::usage(why));
    }
    let outcome = |slot| done.get(&slot).cloned().unwrap_or(SlotOutcome::Reused);
    Ok((0..plan.slots.len()).map(outcome).collect())
}

/// As many threads as jobs, each with a worker at a time.
struct Lanes<'a> {
    plan: &'a Plan,
    config: SuiteConfig,
    console: &'a SuiteConsole,
    stop: &'a Stop,
    launcher: Launcher<'a>,
    failed: AtomicBool,
    /// A worker could not even begin: nothing is run any more.
    refused: Mutex<Option<String>>,
}

impl Lanes<'_> {
    fn run(&self, slots: &[usize]) -> BTreeMap<usize, SlotOutcome> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..self.plan.options.jobs.min(slots.len()) {
                scope.spawn(|| {
                    while let Some(&slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let outcome = self.run_slot(&self.plan.slots[slot]);
                        if matches!(outcome, SlotOutcome::Failed { .. }) {
                            self.failed.store(true, Ordering::Relaxed);
                        }
                        done.lock().insert(slot, outcome);
                    }
                });
            }
        });
        done.into_inner()
    }

    fn run_slot(&self, slot: &PlannedSlot) -> SlotOutcome {
        let hindered = self.plan.options.fail_fast && self.failed.load(Ordering::Relaxed);
        let refused = self.refused.lock().is_some();
        if self.stop.is_requested() || hindered || refused {
            return SlotOutcome::NotRun;
        }
        let label = self.plan.label(slot);
        let progress = Progress::default();
        self.console.slot_started(&label, progress.clone());
        let mut outcome = self.attempt(slot, &progress);
        for retry in 1..=self.plan.options.retries {
            let SlotOutcome::Failed { message } = &outcome else { break };
            if self.stop.is_requested() {
                break;
            }
            tracing::warn!("{} failed, retry {retry}: {message}", slot.id);
            outcome = self.attempt(slot, &progress);
        }
        let shown = match &outcome {
            SlotOutcome::Reused => console::SlotOutcome::Reused,
            SlotOutcome::Done { .. } => console::SlotOutcome::Complete,
            SlotOutcome::Failed { message } => {
                tracing::error!("{} failed: {message}", slot.id);
                console::SlotOutcome::Failed
            }
            SlotOutcome::Interrupted | SlotOutcome::NotRun => console::SlotOutcome::Interrupted,
            SlotOutcome::Busy => return outcome,
        };
        self.console.slot_finished(&label, shown);
        outcome
    }

    fn attempt(&self, slot: &PlannedSlot, progress: &Progress) -> SlotOutcome {
        let mut config = self.config.clone();
        config.export_dir.clone_from(&self.plan.facts.export_dir);
        config.start_id = Some(self.plan.start_id.clone());
        config.retries = 0;
        config.jobs = 1;
        config.timeout = None;
        config.stop_after = None;
        let handoff = Handoff {
            config,
            provenance: self.plan.provenance.to_hand_over(),
            slot: slot.id.to_string(),
            request_hash: slot.identity.hash().to_owned(),
        };
        match self.launcher.run(&handoff, progress) {
            Ok(Ended::Said(outcome)) => outcome,
            Ok(Ended::Refused(why)) => {
                let mut refused = self.refused.lock();
                refused.get_or_insert_with(|| why.clone());
                SlotOutcome::Failed { message: why }
            }
            Ok(Ended::Died(death)) => self.after_death(slot, &death),
            Err(error) => SlotOutcome::Failed { message: error.to_string() },
        }
    }

    /// A worker died: its record tells how far it came, and if it is still as it began, says so
    /// from now on.
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
                SlotOutcome::Done { seconds: head.seconds.unwrap_or_default() }
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
