//! A suite: which runs a request asks for, which of them a record already answers, and running
//! the others.
//!
//! Knows neither the command line nor how its results are printed.
//!
//! - `report`: what a start would do, and what became of every slot.
//! - `config`: the values of a suite, their options, and what they select.
//! - `plan`: a request resolved and checked, and the decision about each slot.
//! - `exec`: one slot from its lock to its final record, and the order of all slots.
//! - `workers`: slots in processes of their own.
//! - `runner`: the course of a start, in this process or with workers.

pub(crate) mod config;
pub(crate) mod exec;
pub(crate) mod plan;
mod report;
mod runner;
#[cfg(feature = "cli")]
pub(crate) mod workers;

pub use crate::record::SlotOutcome;
pub use config::into_config::IntoSuiteConfig;
pub use config::{OnBusy, SuiteConfig};
pub use report::{SlotPlan, SlotReport, SuitePlan, SuiteReport};

pub(crate) use config::variants::expand as expand_variants;
pub(crate) use exec::SLOT_PATIENCE;
pub(crate) use plan::{Start, resolve_config};
pub use runner::Program;
pub(crate) use runner::{Mode, run};

use crate::Error;
use crate::algorithm::{AlgorithmSpec, registry};
use crate::console::SuiteConsole;

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

    /// What [`run`](Self::run) would do now, and why; changes no file.
    ///
    /// # Errors
    /// As [`run`](Self::run), before anything runs.
    pub fn plan(self) -> Result<SuitePlan, Error> {
        self.start().map(|start| start.as_suite_plan())
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
        run(self.start()?, SuiteConsole::lines(), Mode::Library)
    }

    fn start(self) -> Result<Start, Error> {
        let mut specs = if self.registered { registry::algorithms()? } else { Vec::new() };
        specs.extend(self.specs);
        Start::new(self.config, &specs)
    }
}
