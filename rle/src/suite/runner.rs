//! The course of a start: what has to run, in order, in this process or in workers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::console::SuiteConsole;
use crate::fs::{FileLock, probe_writing, sweep_leftovers};
use crate::record::{self, SlotAction, archive};
use crate::run::{Listener, Stop};
use crate::suite::exec::{SLOT_PATIENCE, SlotRunner, SuiteGuard, Unsent, schedule};
use crate::suite::plan::{NO_DIRECTORY, Plan, PlannedSlot, Start};
use crate::suite::{SlotOutcome, SlotReport, SuiteReport};
use crate::{Error, Slug};

#[cfg(feature = "cli")]
use crate::suite::workers::{self, Devices};

/// Without the command line there is no generated program, and so there are no workers.
#[cfg(not(feature = "cli"))]
type Devices = std::convert::Infallible;

/// A record's size, so that a full disk shows before anything is computed.
const RECORD_BYTES: usize = 16 * 1024;

/// What `#[rle::main]` knows of the program at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The package's directory at compile time.
    pub manifest_dir: &'static str,
    /// The binary's name.
    pub name: &'static str,
    /// The package's version.
    pub version: &'static str,
    /// Whether a panic ends the whole program.
    pub panic_abort: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A program with its own `main`: every slot runs in this process.
    Library,
    /// The generated program, which can start itself again for a slot.
    #[cfg(feature = "cli")]
    Program,
}

/// Runs what has to run when no other suite of this process does.
pub(crate) fn run(
    mut start: Start,
    mut console: SuiteConsole,
    mode: Mode,
) -> Result<SuiteReport, Error> {
    let _guard = SuiteGuard::acquire()?;
    let devices = devices(&start.plan, mode)?;
    make_ready(&mut start)?;
    archive_complete_sets(&mut start)?;
    let reused = start.plan.slots.len() - start.slots_to_run().len();
    console.start(start.plan.slots.len(), reused);
    let stop = Stop::default();
    #[cfg(feature = "cli")]
    workers::check_debugger(start.plan.slots.iter().map(|slot| &slot.id), devices.is_some());
    let (outcomes, unsent) = match devices {
        None => run_here(&start, &console, &stop),
        #[cfg(feature = "cli")]
        Some(devices) => workers::run(&start, &console, &stop, &devices)?,
        #[cfg(not(feature = "cli"))]
        Some(none) => match none {},
    };
    for (slot, outcome) in start.plan.slots.iter().zip(&outcomes) {
        if *outcome == SlotOutcome::Busy {
            console.slot_finished(&start.plan.label(slot), outcome);
        }
    }
    console.finish();
    unsent.iter().for_each(Unsent::warn);
    Ok(report(&start.plan, outcomes, &stop))
}

/// The devices for workers, where slots run in processes of their own: several at once, with a
/// time limit, or with GPUs of their own.
fn devices(plan: &Plan, mode: Mode) -> Result<Option<Devices>, Error> {
    let options = &plan.options;
    #[cfg(feature = "cli")]
    if mode == Mode::Program {
        if options.execution.jobs == 1
            && options.execution.timeout.is_none()
            && options.execution.gpus_per_run == 0
        {
            return Ok(None);
        }
        let (jobs, gpus) =
            (options.execution.jobs as usize, options.execution.gpus_per_run as usize);
        return Devices::new(jobs, gpus, |name| std::env::var(name).ok()).map(Some);
    }
    #[cfg(not(feature = "cli"))]
    let Mode::Library = mode;
    if options.execution.jobs > 1 {
        return Err(Error::usage(format!(
            "jobs({}): only a program made by #[rle::main] can run slots in processes of their own, \
             because it can start itself again for one slot; use #[rle::main], or start several \
             processes with their own run_numbers",
            options.execution.jobs
        )));
    }
    if options.execution.gpus_per_run > 0 {
        return Err(Error::usage(format!(
            "gpus_per_run({}): only a program made by #[rle::main] can give a run GPUs of its own, \
             because they are set for a process; use #[rle::main], or set CUDA_VISIBLE_DEVICES",
            options.execution.gpus_per_run
        )));
    }
    Ok(None)
}

/// Makes the export directory where something has to run, and completes what a killed process
/// had begun to archive.
fn make_ready(start: &mut Start) -> Result<(), Error> {
    let export_dir = start.plan.facts.export_dir.clone();
    let had_work = start.has_work();
    if had_work {
        make_export_dir(&export_dir)?;
    }
    // A set whose move was decided and not begun still looks complete where it was.
    if archive::recover(&export_dir, None)? || had_work {
        start.decide()?;
    }
    if start.has_work() {
        if !had_work {
            make_export_dir(&export_dir)?;
        }
        start.plan.provenance.begin();
    }
    sweep_leftovers(&record::runs_dir(&export_dir)).map(drop)
}

/// Makes the export directory, and tests that files can be written there. After an error what was made
/// is removed again.
fn make_export_dir(export_dir: &Path) -> Result<(), Error> {
    let runs = record::runs_dir(export_dir);
    let mut made = Vec::new();
    let outcome = make_dirs(&[runs.clone(), export_dir.join("_logs")], &mut made)
        .and_then(|()| probe_writing(&runs, RECORD_BYTES))
        .and_then(|()| sweep_leftovers(&runs).map(drop));
    if outcome.is_err() {
        for directory in made.iter().rev() {
            // Only what is still empty goes; the first error is the one to report.
            let _ = fs::remove_dir(directory);
        }
    }
    outcome
}

fn make_dirs(wanted: &[PathBuf], made: &mut Vec<PathBuf>) -> Result<(), Error> {
    for directory in wanted {
        let missing: Vec<&Path> =
            directory.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
        for path in missing.into_iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => made.push(path.to_owned()),
                Err(_) if path.is_dir() => {}
                Err(error) => return Err(Error::io("create the directory", path, error)),
            }
        }
        if !directory.is_dir() {
            let file = directory.ancestors().find(|ancestor| ancestor.is_file());
            return Err(Error::file(file.unwrap_or(directory), NO_DIRECTORY));
        }
    }
    Ok(())
}

/// Runs slots in this process, one after the other.
fn run_here(start: &Start, console: &SuiteConsole, stop: &Stop) -> (Vec<SlotOutcome>, Vec<Unsent>) {
    let _listener = Listener::begin(stop, start.plan.options.execution.stop_after, || {});
    let runner = SlotRunner::new(&start.plan, console, stop);
    let outcomes = schedule::run_all(start, stop, |slot| runner.run(slot));
    (outcomes, runner.end())
}

fn report(plan: &Plan, outcomes: Vec<SlotOutcome>, stop: &Stop) -> SuiteReport {
    let report = |(slot, outcome): (&PlannedSlot, SlotOutcome)| SlotReport {
        slot: slot.id.clone(),
        name: plan.algorithm(slot).spec.name.to_string(),
        outcome,
    };
    let interrupted = outcomes.contains(&SlotOutcome::Interrupted);
    let is_left = |outcome| matches!(outcome, &SlotOutcome::NotRun | &SlotOutcome::Busy);
    let left = stop.is_requested() && outcomes.iter().any(is_left);
    SuiteReport {
        slots: plan.slots.iter().zip(outcomes).map(report).collect(),
        stopped: interrupted || left,
    }
}

/// With `--restart-completed-runs`: archives each algorithm's set of which every run of the window
/// is requested and complete, so that it is computed afresh.
fn archive_complete_sets(start: &mut Start) -> Result<(), Error> {
    if !start.plan.options.records.restart_completed_runs {
        return Ok(());
    }
    for (slug, runs) in start.complete_sets() {
        archive_set(&start.plan, &slug, &runs)?;
    }
    start.decide()
}

fn archive_set(plan: &Plan, slug: &Slug, runs: &[u32]) -> Result<(), Error> {
    let export_dir = &plan.facts.export_dir;
    let slots: Vec<&PlannedSlot> =
        plan.slots.iter().filter(|slot| slot.id.slug() == slug).collect();
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
    archive::recover(export_dir, Some(slug))?;
    for slot in &slots {
        // Another start may have archived the set and be computing it afresh.
        if plan.decide(slot)?.action != SlotAction::Reuse {
            return Ok(());
        }
    }
    let place = archive::archive_set(export_dir, slug, runs)?;
    tracing::info!("the complete set of `{slug}` is archived in {}", place.display());
    Ok(())
}
