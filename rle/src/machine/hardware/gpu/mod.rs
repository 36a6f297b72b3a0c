//! The GPUs that this process sees: read from the driver, chosen as CUDA chooses, and counted.
//!
//! A driver that is broken, or does not answer, costs a warning and never a run.
//!
//! - `nvml`: the devices by the driver's library.
//! - `smi`: the devices by `nvidia-smi`.
//! - `visible`: the devices that `CUDA_VISIBLE_DEVICES` chooses.
//! - `usage`: how much memory of the devices is in use.

#[cfg(feature = "gpu")]
mod nvml;
mod smi;
#[cfg(feature = "gpu")]
mod usage;
mod visible;

use std::time::Instant;

use super::description::Gpu;
use super::machine::Machine;
use visible::Choice;

#[cfg(feature = "cli")]
pub(super) use smi::indices;
#[cfg(feature = "gpu")]
pub(crate) use usage::memory_in_use;

/// How much of a GPU's memory is in use, in bytes; none where the driver does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryInUse {
    /// By this process.
    pub(crate) process: Option<u64>,
    /// By all processes and the driver, and all that there is.
    pub(crate) used_and_total: Option<(u64, u64)>,
}

/// Without the feature `gpu` nobody is asked.
#[cfg(not(feature = "gpu"))]
pub(crate) fn memory_in_use() -> Result<Vec<MemoryInUse>, String> {
    Err("the program is built without the feature `gpu`".to_owned())
}

/// Why a source does not say which devices there are.
enum ReadError {
    /// There is no such source on this machine.
    Absent,
    /// It is there and says that the driver is not.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only the library says so"))]
    NoDriver,
    /// It is there and does not work.
    Broken(String),
    /// It does not answer in time.
    Hung(String),
}

/// The devices in the order of their places on the bus, as far as it is known.
type Reading = Result<Vec<Device>, ReadError>;

/// One GPU of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
struct Device {
    uuid: Option<String>,
    /// Where it is on the bus, in a form that sorts.
    place: Option<(u32, u32, u32)>,
    /// Cores times the highest clock, the larger the faster.
    speed: Option<u64>,
    gpu: Gpu,
    /// Whether it is divided: then only its instances can be used.
    is_divided: bool,
    instances: Vec<Instance>,
}

/// A part of a divided GPU that can be used as one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Instance {
    uuid: Option<String>,
    gpu: Gpu,
}

/// The GPUs of this process, equal ones together, ordered by name.
pub(super) fn read(machine: &Machine) -> Vec<Gpu> {
    let choice = Choice::read(machine);
    // Waking a driver up for nothing would cost seconds.
    if choice.is_nothing() {
        return Vec::new();
    }
    match devices(machine) {
        Ok(devices) => group(choice.among(devices)),
        Err(problem) => {
            tracing::warn!("the GPUs are not described: {problem}");
            Vec::new()
        }
    }
}

fn devices(machine: &Machine) -> Result<Vec<Device>, String> {
    let began = Instant::now();
    let mut problem = None;
    match library(machine) {
        Ok(devices) => return Ok(devices),
        // The program asks the same driver.
        Err(ReadError::Hung(hung)) => return Err(hung),
        // As on each machine that has the software and no GPU.
        Err(ReadError::NoDriver) if !machine.has_nvidia_device() => return Ok(Vec::new()),
        Err(ReadError::NoDriver) => problem = Some("their driver is not loaded".to_owned()),
        Err(ReadError::Broken(broken)) => problem = Some(broken),
        Err(ReadError::Absent) => {}
    }
    let patience = machine.gpus.patience.saturating_sub(began.elapsed());
    smi::read(machine, patience).or_else(|error| match error {
        ReadError::Absent | ReadError::NoDriver => problem.map_or(Ok(Vec::new()), Err),
        ReadError::Broken(broken) | ReadError::Hung(broken) => Err(problem.unwrap_or(broken)),
    })
}

#[cfg(feature = "gpu")]
fn library(machine: &Machine) -> Reading {
    match &machine.gpus.library {
        Some(path) => nvml::read_within(machine.gpus.patience, path),
        None => Err(ReadError::Absent),
    }
}

#[cfg(not(feature = "gpu"))]
fn library(_: &Machine) -> Reading {
    Err(ReadError::Absent)
}

/// Equal ones counted together.
fn group(gpus: Vec<Gpu>) -> Vec<Gpu> {
    let mut groups: Vec<Gpu> = Vec::new();
    for gpu in gpus {
        let like = |group: &&mut Gpu| Gpu { count: None, ..(**group).clone() } == gpu;
        match groups.iter_mut().find(like) {
            Some(group) => group.count = group.count.map(|count| count + 1),
            None => groups.push(Gpu { count: Some(1), ..gpu }),
        }
    }
    groups.sort_by(|a, b| {
        let key = |gpu: &Gpu| (gpu.name.clone(), gpu.memory_gib.map(f64::to_bits));
        key(a).cmp(&key(b))
    });
    groups
}

#[cfg(test)]
mod tests;
