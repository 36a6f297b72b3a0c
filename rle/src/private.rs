//! What macro expansions name. Nothing here is for users.
#![allow(missing_docs, clippy::unnecessary_wraps, clippy::needless_pass_by_value)]

use std::any::TypeId;
use std::error::Error;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use inventory;

use crate::{PrepareContext, RunContext, RunResult, Stage, SuiteConfig};

type BoxError = Box<dyn Error + Send + Sync>;

#[derive(Debug)]
pub struct Location {
    pub file: &'static str,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug)]
pub struct Requirement {
    pub label: &'static str,
    pub path: &'static str,
    pub fingerprint: bool,
}

#[derive(Debug)]
pub struct RunOutcome(pub Result<RunResult, String>);

#[derive(Debug)]
pub struct PrepareOutcome(pub Result<(), String>);

#[derive(Debug)]
pub struct AlgorithmEntry {
    pub name: &'static str,
    pub slug: &'static str,
    pub flag: Option<&'static str>,
    pub requires: &'static [Requirement],
    pub doc: &'static str,
    pub location: Location,
    pub type_id: fn() -> TypeId,
    pub config: ConfigType,
    pub run: fn(&RunContext) -> RunOutcome,
}

#[derive(Debug)]
pub struct PrepareEntry {
    pub name: &'static str,
    pub always: bool,
    pub algorithms: &'static [PreparedAlgorithm],
    pub doc: &'static str,
    pub location: Location,
    pub run: fn(&PrepareContext) -> PrepareOutcome,
}

#[derive(Debug)]
pub struct PreparedAlgorithm {
    pub path: &'static str,
    pub type_id: fn() -> TypeId,
}

#[derive(Debug)]
pub struct StageEntry {
    pub names: &'static [&'static str],
    pub location: Location,
}

inventory::collect!(AlgorithmEntry);
inventory::collect!(PrepareEntry);
inventory::collect!(StageEntry);

pub fn type_id_of<T: 'static>(_: &T) -> TypeId {
    TypeId::of::<T>()
}

#[derive(Debug)]
pub struct ConfigType(pub Option<fn() -> TypeId>);

impl ConfigType {
    pub const fn none() -> Self {
        Self(None)
    }

    pub const fn of<C: Serialize + DeserializeOwned + Default + 'static>() -> Self {
        Self(Some(TypeId::of::<C>))
    }
}

pub fn run_plain<E: Into<BoxError>>(
    context: &RunContext,
    f: fn(&RunContext) -> Result<RunResult, E>,
) -> RunOutcome {
    RunOutcome(f(context).map_err(|e| e.into().to_string()))
}

pub fn run_with_config<C, E>(
    context: &RunContext,
    f: fn(&RunContext, C) -> Result<RunResult, E>,
) -> RunOutcome
where
    C: Serialize + DeserializeOwned + Default + 'static,
    E: Into<BoxError>,
{
    RunOutcome(f(context, C::default()).map_err(|e| e.into().to_string()))
}

pub fn run_prepare<T: Serialize, E: Into<BoxError>>(
    context: &PrepareContext,
    f: fn(&PrepareContext) -> Result<T, E>,
) -> PrepareOutcome {
    PrepareOutcome(f(context).map(drop).map_err(|e| e.into().to_string()))
}

#[derive(Debug)]
pub struct Program {
    pub manifest_dir: &'static str,
    pub name: &'static str,
    pub version: &'static str,
    pub panic_abort: bool,
    pub debug_assertions: bool,
}

pub trait IntoSuiteConfig {}
impl IntoSuiteConfig for SuiteConfig {}
impl<E: Into<BoxError>> IntoSuiteConfig for Result<SuiteConfig, E> {}

pub fn run_program<R: IntoSuiteConfig>(
    suite: fn() -> R,
    program: Program,
) -> std::process::ExitCode {
    let _ = suite();
    println!("{program:?}");
    std::process::ExitCode::SUCCESS
}

#[derive(Debug)]
pub struct Site {
    _stage: Stage,
    _module: &'static str,
}

#[derive(Debug)]
pub struct Guard<'a>(PhantomData<(&'a Site, *const ())>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {}
}

#[derive(Debug)]
pub struct AsyncGuard;

impl Drop for AsyncGuard {
    fn drop(&mut self) {}
}

impl Site {
    pub const fn new(stage: Stage, module: &'static str) -> Self {
        Self { _stage: stage, _module: module }
    }

    pub fn enter(&'static self) -> Guard<'static> {
        Guard(PhantomData)
    }

    pub fn enter_async(&'static self) -> AsyncGuard {
        AsyncGuard
    }
}
