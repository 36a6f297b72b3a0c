//! What macro expansions name, and nothing else.

use std::any::TypeId;
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use inventory;

pub use crate::algorithm::registry::{AlgorithmEntry, PrepareEntry, PreparedAlgorithm, StageEntry};
pub use crate::algorithm::{ConfigType, Location, Requirement};
use crate::algorithm::{PrepareOutcome, RunOutcome, TrainerError, spec};
pub use crate::profile::site::{AsyncGuard, Guard, Site};
use crate::run::{PrepareContext, RunContext, RunResult};
use crate::suite::IntoSuiteConfig;
pub use crate::suite::Program;

/// Identity of a function item: it tells two functions of one type of signature apart.
#[must_use]
pub fn type_id_of<T: 'static>(_: &T) -> TypeId {
    TypeId::of::<T>()
}

/// Calls an algorithm without a typed configuration.
///
/// # Errors
/// Its own.
pub fn run_plain<E: Into<TrainerError>>(
    context: &RunContext,
    algorithm: fn(&RunContext) -> Result<RunResult, E>,
) -> RunOutcome {
    algorithm(context).map_err(Into::into)
}

/// Calls an algorithm with its typed configuration.
///
/// # Errors
/// Its own.
pub fn run_with_config<C, E>(
    context: &RunContext,
    algorithm: fn(&RunContext, C) -> Result<RunResult, E>,
) -> RunOutcome
where
    C: Serialize + DeserializeOwned + Default + 'static,
    E: Into<TrainerError>,
{
    algorithm(context, context.config_as()?).map_err(Into::into)
}

/// Calls a prepare and keeps its value.
///
/// # Errors
/// Its own, or that its value has no JSON form.
pub fn run_prepare<T: Serialize, E: Into<TrainerError>>(
    context: &PrepareContext,
    prepare: fn(&PrepareContext) -> Result<T, E>,
) -> PrepareOutcome {
    spec::prepare_outcome(prepare(context))
}

/// The whole generated program.
#[cfg(feature = "cli")]
pub fn run_program<R: IntoSuiteConfig>(suite: fn() -> R, program: Program) -> ExitCode {
    crate::cli::main(|| suite().into_suite_config(), program)
}

/// Without the feature `cli` there is no program to generate.
#[cfg(not(feature = "cli"))]
pub fn run_program<R: IntoSuiteConfig>(suite: fn() -> R, program: Program) -> ExitCode {
    let _ = (suite, program);
    eprintln!("#[rle::main] needs the feature `cli` of the crate `rle`");
    ExitCode::from(2)
}
