//! The suite runner: a request is planned, each slot decided, the missing ones computed.

mod config;
mod execute;
mod isolate;
pub(crate) mod plan;
mod prepare;
mod report;
pub(crate) mod selection;
pub(crate) mod settings;
mod summary;
mod timing;

use std::fs;
use std::path::{Path, PathBuf};

pub use config::{IntoSuiteConfig, SuiteConfig};
pub use report::{SlotOutcome, SlotPlan, SlotReport, SuitePlan, SuiteReport};

#[cfg(feature = "cli")]
pub(crate) use config::{AlgorithmOverride, ConfigChange};

use crate::Error;
use crate::algorithm::AlgorithmSpec;
use crate::console::{self, SuiteConsole};
use crate::record;
use crate::registry;
use crate::resume::{Decision, SlotAction};
use crate::storage::{probe_writing, sweep_leftovers};
use execute::Executor;
use isolate::Isolation;
use plan::{Plan, PlannedSlot};
use prepare::Prepares;

/// A record's size, so that a full disk shows before anything is computed.
const RECORD_BYTES: usize = 16 * 1024;

/// A suite and its algorithms, run from a program with its own `main`.
///
/// ```no_run
/// use rle::{AlgorithmSpec, RunContext, RunResult, Suite, SuiteConfig};
///
/// fn random(ctx: &RunContext) -> rle::Result<RunResult> {
///     Ok(RunResult::new().metric("final_reward", ctx.seed()))
/// }
///
/// let config = SuiteConfig::new("bandit").num_runs(3);
/// let report = Suite::new(config).algorithm(AlgorithmSpec::new("Random", random)).run()?;
/// assert!(report.is_complete());
/// # Ok::<(), rle::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Suite {
    config: SuiteConfig,
    specs: Vec<AlgorithmSpec>,
    registered: bool,
}

impl Suite {
    /// A suite without algorithms.
    pub fn new(config: SuiteConfig) -> Self {
        Self { config, specs: Vec::new(), registered: false }
    }

    /// Adds an algorithm.
    pub fn algorithm(mut self, spec: AlgorithmSpec) -> Self {
        self.specs.push(spec);
        self
    }

    /// Adds algorithms.
    pub fn algorithms(mut self, specs: impl IntoIterator<Item = AlgorithmSpec>) -> Self {
        self.specs.extend(specs);
        self
    }

    /// Adds the algorithms that attributes declare and that are linked into this program. They
    /// come first, in source order.
    pub fn registered(mut self) -> Self {
        self.registered = true;
        self
    }

    /// What [`run`](Self::run) would do now, and why; touches nothing.
    ///
    /// # Errors
    /// As [`run`](Self::run), before anything runs.
    pub fn plan(self) -> Result<SuitePlan, Error> {
        Start::new(self.config, self.registered, self.specs).map(|start| start.as_suite_plan())
    }

    /// Computes every requested slot that no stored record answers.
    ///
    /// # Errors
    /// When the request, the registry, a required artifact or the export directory is not fit to
    /// run: nothing is computed then. What fails inside a slot is in the report.
    pub fn run(self) -> Result<SuiteReport, Error> {
        Start::new(self.config, self.registered, self.specs)?.run(SuiteConsole::lines())
    }
}

/// A planned start with the decision about each slot.
pub(crate) struct Start {
    plan: Plan,
    decisions: Vec<Decision>,
}

impl Start {
    pub(crate) fn new(
        config: SuiteConfig,
        registered: bool,
        given: Vec<AlgorithmSpec>,
    ) -> Result<Self, Error> {
        let mut specs = if registered { registry::algorithms()? } else { Vec::new() };
        specs.extend(given);
        let plan = Plan::new(config, &specs)?;
        let decisions =
            plan.slots.iter().map(|slot| plan.inspect(slot)).collect::<Result<_, Error>>()?;
        Ok(Self { plan, decisions })
    }

    pub(crate) fn as_suite_plan(&self) -> SuitePlan {
        let slots = self.plan.slots.iter().zip(&self.decisions);
        let slots = slots
            .map(|(slot, decision)| SlotPlan {
                slot: slot.id.to_string(),
                action: decision.action,
                reasons: decision.reasons.clone(),
            })
            .collect();
        SuitePlan { slots }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn export_dir(&self) -> &Path {
        &self.plan.facts.export_dir
    }

    /// Runs what has to run, busy slots last.
    pub(crate) fn run(self, mut console: SuiteConsole) -> Result<SuiteReport, Error> {
        let to_run = self.decisions.iter().filter(|decision| decision.action != SlotAction::Reuse);
        let reused = self.decisions.len() - to_run.clone().count();
        if to_run.count() > 0 {
            make_export_dir(&self.plan.facts.export_dir)?;
        }
        sweep_leftovers(&record::runs_dir(&self.plan.facts.export_dir))?;
        console.start(self.decisions.len(), reused);
        let isolation = Isolation::begin();
        let mut executor = Executor {
            plan: &self.plan,
            isolation: &isolation,
            console: &console,
            prepares: Prepares::default(),
        };
        let mut outcomes = Vec::with_capacity(self.plan.slots.len());
        for (slot, decision) in self.plan.slots.iter().zip(&self.decisions) {
            let outcome = match decision.action {
                SlotAction::Reuse => SlotOutcome::Reused,
                SlotAction::Run | SlotAction::Busy => executor.run(slot),
            };
            if outcome == SlotOutcome::Busy {
                tracing::info!(
                    "{} is held by another process: looked at again at the end",
                    slot.id
                );
            }
            outcomes.push(outcome);
        }
        for (slot, outcome) in self.plan.slots.iter().zip(&mut outcomes) {
            if *outcome == SlotOutcome::Busy {
                *outcome = executor.run(slot);
                if *outcome == SlotOutcome::Busy {
                    console.slot_finished(&self.plan.label(slot), console::SlotOutcome::Busy);
                }
            }
        }
        drop(isolation);
        console.finish();
        Ok(self.report(outcomes))
    }

    fn report(&self, outcomes: Vec<SlotOutcome>) -> SuiteReport {
        let report = |(slot, outcome): (&PlannedSlot, SlotOutcome)| SlotReport {
            slot: slot.id.clone(),
            name: self.plan.algorithm(slot).spec.name.clone(),
            outcome,
        };
        SuiteReport { slots: self.plan.slots.iter().zip(outcomes).map(report).collect() }
    }
}

/// Makes the export directory and proves that files can be written there; on failure what was
/// made is removed again.
fn make_export_dir(export_dir: &Path) -> Result<(), Error> {
    let runs = record::runs_dir(export_dir);
    let mut made = Vec::new();
    let outcome = make_dirs(&[runs.clone(), export_dir.join("_logs")], &mut made)
        .and_then(|()| probe_writing(&runs, RECORD_BYTES));
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
            return Err(Error::file(file.unwrap_or(directory), plan::NO_DIRECTORY));
        }
    }
    Ok(())
}
