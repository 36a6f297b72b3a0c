//! The course of a start: what has to run, in order, in this process or in workers.

use std::collections::BTreeMap;

use crate::Error;
use crate::console::{self, SuiteConsole};
use crate::fs::{FileLock, sweep_leftovers};
use crate::names::Slug;
use crate::record;
use crate::record::archive;
use crate::record::decision::SlotAction;
use crate::run::stop::{Listener, Stop};
use crate::suite::Start;
use crate::suite::exec::execute::{Executor, SLOT_PATIENCE};
use crate::suite::exec::export_dir;
use crate::suite::exec::isolate::Isolation;
use crate::suite::exec::logging::{Sending, Unsent};
use crate::suite::exec::prepare::Prepares;
use crate::suite::plan::{Plan, PlannedSlot};
use crate::suite::report::{SlotOutcome, SlotReport, SuiteReport};

/// What kind of program this is.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'a> {
    /// A program with its own `main`: everything runs in this process.
    Library,
    /// The generated program, which can run itself again for a slot, with this request.
    #[cfg(feature = "cli")]
    Program(&'a crate::suite::SuiteConfig),
    #[cfg(not(feature = "cli"))]
    #[expect(dead_code, reason = "there is no generated program without the command line")]
    Never(std::marker::PhantomData<&'a ()>),
}

pub(in crate::suite) fn run(
    mut start: Start,
    mut console: SuiteConsole,
    mode: Mode<'_>,
) -> Result<SuiteReport, Error> {
    let workers = workers(&start.plan, mode)?;
    let had_work = start.has_work();
    if had_work {
        export_dir::make(&start.plan.facts.export_dir)?;
    }
    // A set whose move was decided and not begun still looks complete where it was.
    if archive::recover(&start.plan.facts.export_dir)? || had_work {
        start.decide()?;
    }
    if start.has_work() {
        if !had_work {
            export_dir::make(&start.plan.facts.export_dir)?;
        }
        start.plan.provenance.begin();
    }
    sweep_leftovers(&record::runs_dir(&start.plan.facts.export_dir))?;
    start.archive_complete_sets()?;
    let reused = start.slots_to_reuse();
    console.start(start.plan.slots.len(), reused);
    let stop = Stop::default();
    let (sending, mut unsent) = (Sending::default(), Vec::new());
    #[cfg(feature = "cli")]
    crate::suite::workers::check_debugger(
        start.plan.slots.iter().map(|slot| &slot.id),
        workers.is_some(),
    );
    let outcomes = if let Some(workers) = workers {
        #[cfg(feature = "cli")]
        {
            let Mode::Program(config) = mode else { unreachable!("only a program has workers") };
            crate::suite::workers::run(&start, config, &console, &stop, &workers, &mut unsent)?
        }
        #[cfg(not(feature = "cli"))]
        match workers {}
    } else {
        let _listener = Listener::begin(&stop, start.plan.options.stop_after, || {});
        let isolation = Isolation::begin();
        let mut executor = Executor {
            plan: &start.plan,
            isolation: &isolation,
            console: &console,
            stop: &stop,
            sending: &sending,
            prepares: Prepares::default(),
        };
        one_after_the_other(&start, &stop, |slot| executor.run(slot))
    };
    for (slot, outcome) in start.plan.slots.iter().zip(&outcomes) {
        if matches!(outcome, SlotOutcome::Busy) {
            console.slot_finished(&start.plan.label(slot), console::SlotOutcome::Busy);
        }
    }
    console.finish();
    unsent.extend(sending.end());
    unsent.iter().for_each(Unsent::say);
    Ok(report(&start.plan, outcomes, &stop))
}

/// What is dealt out to workers.
#[cfg(feature = "cli")]
type Workers = crate::suite::workers::Devices;
#[cfg(not(feature = "cli"))]
type Workers = std::convert::Infallible;

/// Whether slots run in processes of their own: several at once, one that can be ended, or one
/// that sees some of the GPUs.
fn workers(plan: &Plan, mode: Mode<'_>) -> Result<Option<Workers>, Error> {
    let options = &plan.options;
    match mode {
        #[cfg(feature = "cli")]
        Mode::Program(_) => {
            if options.jobs == 1 && options.timeout.is_none() && options.gpus_per_run == 0 {
                return Ok(None);
            }
            let variable = |name: &str| std::env::var(name).ok();
            Workers::new(options.jobs, options.gpus_per_run, variable).map(Some)
        }
        _ if options.jobs > 1 => Err(Error::usage(format!(
            "jobs({}): only a program made by #[rle::main] can run slots in processes of their own, \
             because it can start itself again for one slot; use #[rle::main], or start several \
             processes with their own run_numbers",
            options.jobs
        ))),
        _ if options.gpus_per_run > 0 => Err(Error::usage(format!(
            "gpus_per_run({}): only a program made by #[rle::main] can give a run GPUs of its own, \
             because they are set for a process; use #[rle::main], or set CUDA_VISIBLE_DEVICES",
            options.gpus_per_run
        ))),
        _ => Ok(None),
    }
}

/// Runs every slot that has to run in order, and looks at busy ones again at the end.
fn one_after_the_other(
    start: &Start,
    stop: &Stop,
    mut run: impl FnMut(&PlannedSlot) -> SlotOutcome,
) -> Vec<SlotOutcome> {
    let mut failed = false;
    let mut outcomes = Vec::with_capacity(start.plan.slots.len());
    for (slot, decision) in start.plan.slots.iter().zip(&start.decisions) {
        let outcome = if decision.action == SlotAction::Reuse && decision.accepted.is_empty() {
            SlotOutcome::Reused
        } else if stop.is_requested() || (failed && start.plan.options.fail_fast) {
            SlotOutcome::NotRun
        } else {
            run(slot)
        };
        failed |= matches!(outcome, SlotOutcome::Failed { .. });
        if outcome == SlotOutcome::Busy {
            tracing::info!("{} is held by another process: looked at again at the end", slot.id);
        }
        outcomes.push(outcome);
    }
    for (slot, outcome) in start.plan.slots.iter().zip(&mut outcomes) {
        if *outcome == SlotOutcome::Busy && !stop.is_requested() {
            *outcome = run(slot);
        }
    }
    outcomes
}

fn report(plan: &Plan, outcomes: Vec<SlotOutcome>, stop: &Stop) -> SuiteReport {
    let report = |(slot, outcome): (&PlannedSlot, SlotOutcome)| SlotReport {
        slot: slot.id.clone(),
        name: plan.algorithm(slot).spec.name.clone(),
        outcome,
    };
    let interrupted = outcomes.contains(&SlotOutcome::Interrupted);
    let not_done = |outcome| matches!(outcome, &SlotOutcome::NotRun | &SlotOutcome::Busy);
    let left = stop.is_requested() && outcomes.iter().any(not_done);
    SuiteReport {
        slots: plan.slots.iter().zip(outcomes).map(report).collect(),
        stopped: interrupted || left,
    }
}

impl Start {
    fn has_work(&self) -> bool {
        self.plan.options.restart_completed_runs || self.slots_to_reuse() < self.plan.slots.len()
    }

    fn slots_to_reuse(&self) -> usize {
        let reused = |action| action == SlotAction::Reuse;
        self.decisions.iter().filter(|decision| reused(decision.action)).count()
    }

    fn decide(&mut self) -> Result<(), Error> {
        self.decisions =
            self.plan.slots.iter().map(|slot| self.plan.inspect(slot)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// With `--restart-completed-runs`: archives each algorithm's set of which every run of the
    /// window is requested and complete, so that it is computed afresh.
    fn archive_complete_sets(&mut self) -> Result<(), Error> {
        if !self.plan.options.restart_completed_runs {
            return Ok(());
        }
        let mut complete: BTreeMap<&Slug, Vec<u32>> = BTreeMap::new();
        for (slot, decision) in self.plan.slots.iter().zip(&self.decisions) {
            if decision.action == SlotAction::Reuse {
                complete.entry(slot.id.slug()).or_default().push(slot.id.run_idx());
            }
        }
        let window = self.plan.facts.num_runs as usize;
        let complete: Vec<(Slug, Vec<u32>)> = complete
            .into_iter()
            .filter(|(_, runs)| runs.len() == window)
            .map(|(slug, runs)| (slug.clone(), runs))
            .collect();
        for (slug, runs) in complete {
            self.archive_set(&slug, &runs)?;
        }
        self.decide()
    }

    fn archive_set(&self, slug: &Slug, runs: &[u32]) -> Result<(), Error> {
        let export_dir = &self.plan.facts.export_dir;
        let slots: Vec<&PlannedSlot> =
            self.plan.slots.iter().filter(|slot| slot.id.slug() == slug).collect();
        let mut locks = Vec::new();
        for slot in &slots {
            let path = record::lock_path(export_dir, &slot.id);
            let Some(lock) = FileLock::try_acquire(&path, SLOT_PATIENCE)? else {
                tracing::warn!(
                    "the complete set of `{slug}` is not archived: another process holds {}",
                    slot.id
                );
                return Ok(());
            };
            locks.push(lock);
        }
        archive::recover_slug(export_dir, slug)?;
        for slot in &slots {
            // Another start may have archived the set and be computing it afresh.
            if self.plan.decide(slot)?.action != SlotAction::Reuse {
                return Ok(());
            }
        }
        let place = archive::archive_set(export_dir, slug, runs)?;
        tracing::info!("the complete set of `{slug}` is archived in {}", place.display());
        Ok(())
    }
}
