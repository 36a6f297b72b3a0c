//! The suite runner: a request is planned, each slot decided, the missing ones computed.

pub(crate) mod config;
pub(crate) mod exec;
pub(crate) mod plan;
pub(crate) mod program;
mod report;
#[cfg(feature = "cli")]
pub(crate) mod workers;

pub use config::into_config::IntoSuiteConfig;
pub use config::{OnBusy, SuiteConfig};
pub use report::{SlotOutcome, SlotPlan, SlotReport, SuitePlan, SuiteReport};

#[cfg(feature = "cli")]
pub(crate) use config::variants::{Variant, expand as expand_variants};
#[cfg(feature = "cli")]
pub(crate) use exec::execute::SLOT_PATIENCE;
pub(crate) use exec::run::Mode;
#[cfg(feature = "cli")]
pub(crate) use plan::resolve_config;

#[cfg(feature = "cli")]
use std::path::Path;

use crate::Error;
use crate::algorithm::registry;
use crate::algorithm::spec::AlgorithmSpec;
use crate::console::SuiteConsole;
use crate::record::decision::Decision;
use plan::Plan;

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
    /// A process runs one suite at a time: a second one waits for the first to end, and one that
    /// an algorithm runs on its own thread is an error.
    ///
    /// # Errors
    /// When the request, the registry, a required artifact or the export directory is not fit to
    /// run: nothing is computed then. What fails inside a slot is in the report.
    pub fn run(self) -> Result<SuiteReport, Error> {
        Start::new(self.config, self.registered, self.specs)?
            .run(SuiteConsole::lines(), Mode::Library)
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
                reasons: decision.reasons.iter().cloned().chain(decision.accepted()).collect(),
            })
            .collect();
        SuitePlan { slots }
    }

    /// The export directory, absolute, and the slots that a request is about.
    ///
    /// # Errors
    /// As a start's, before anything runs.
    #[cfg(feature = "cli")]
    pub(crate) fn slots_of(
        config: SuiteConfig,
        specs: &[AlgorithmSpec],
    ) -> Result<(std::path::PathBuf, Vec<crate::names::SlotId>), Error> {
        let plan = Plan::new(config, specs)?;
        let slots = plan.slots.iter().map(|slot| slot.id.clone()).collect();
        Ok((plan.facts.export_dir.clone(), slots))
    }

    #[cfg(feature = "cli")]
    pub(crate) fn export_dir(&self) -> &Path {
        &self.plan.facts.export_dir
    }

    /// Runs what has to run, busy slots last, when no other suite of this process does.
    pub(crate) fn run(self, console: SuiteConsole, mode: Mode<'_>) -> Result<SuiteReport, Error> {
        let _turn = exec::turn::Turn::take()?;
        exec::run::run(self, console, mode)
    }
}
