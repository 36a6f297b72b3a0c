//! GPUs from NVIDIA's management library. Each call may fail by itself: what one does not tell
//! is left out of the description.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device as Handle, Nvml};

use super::{Device, Instance, ReadError, Reading};
use crate::machine::hardware::description::{Gpu, two_decimals};
use crate::machine::hardware::memory::gib;

/// As [`read`], unless it takes longer than `patience`: then its thread is left to itself, since
/// nothing can end a call into a driver.
pub(super) fn read_within(patience: Duration, library: &OsStr) -> Reading {
    let (sender, receiver) = mpsc::channel();
    let library = library.to_owned();
    let spawned = thread::Builder::new().name("rle-gpus".to_owned()).spawn(move || {
        // Nobody listens any more after the wait.
        let _ = sender.send(load(&library).and_then(|nvml| devices(&nvml)));
    });
    answer_within(patience, spawned, &receiver)?
}

/// What a thread that has been `spawned` to read the library answers first.
pub(super) fn answer_within<T>(
    patience: Duration,
    spawned: io::Result<JoinHandle<()>>,
    answers: &Receiver<T>,
) -> Result<T, ReadError> {
    if let Err(error) = spawned {
        return Err(ReadError::Broken(format!("no thread could be started: {error}")));
    }
    answers.recv_timeout(patience).map_err(|error| match error {
        RecvTimeoutError::Timeout => {
            ReadError::Hung(format!("the management library has not answered within {patience:?}"))
        }
        RecvTimeoutError::Disconnected => {
            ReadError::Broken("the management library's reader panicked".to_owned())
        }
    })
}

pub(super) fn load(library: &OsStr) -> Result<Nvml, ReadError> {
    Nvml::builder().lib_path(library).init().map_err(|error| match error {
        NvmlError::LibloadingError(error) => not_loaded(library, &error.to_string()),
        NvmlError::DriverNotLoaded => ReadError::NoDriver,
        error => ReadError::Broken(format!("the management library failed: {error}")),
    })
}

/// All GPUs of the library.
pub(super) fn devices(nvml: &Nvml) -> Reading {
    let count = nvml
        .device_count()
        .map_err(|error| ReadError::Broken(format!("the GPUs cannot be counted: {error}")))?;
    let opened = (0..count).map(|index| match nvml.device_by_index(index) {
        Ok(handle) => Ok(device(&handle)),
        // Without it, the later indices would stand for other GPUs than CUDA's.
        Err(error) => Err(ReadError::Broken(format!("GPU {index} cannot be opened: {error}"))),
    });
    opened.collect()
}

/// A library that is not there is no fault; one that is there and cannot be loaded is one.
fn not_loaded(library: &OsStr, error: &str) -> ReadError {
    let is_missing = error.contains("No such file") || error.contains("not found");
    if is_missing && !Path::new(library).is_absolute() {
        return ReadError::Absent;
    }
    ReadError::Broken(format!("the management library cannot be loaded: {error}"))
}

fn device(handle: &Handle<'_>) -> Device {
    let place = handle.pci_info().ok().map(|pci| (pci.domain, pci.bus, pci.device));
    let cores = handle.num_cores().ok();
    let clock_mhz = handle.max_clock_info(Clock::SM).ok();
    Device {
        uuid: handle.uuid().ok(),
        place,
        speed: cores.zip(clock_mhz).map(|(cores, mhz)| u64::from(cores) * u64::from(mhz)),
        gpu: gpu(handle),
        // The kind of a GPU that cannot be divided is an error of its own.
        is_divided: handle.mig_mode().is_ok_and(|mode| mode.current == MIG_ENABLED),
        instances: instances(handle),
    }
}

/// `NVML_DEVICE_MIG_ENABLE`.
const MIG_ENABLED: u32 = 1;

fn instances(handle: &Handle<'_>) -> Vec<Instance> {
    let places = handle.mig_device_count().unwrap_or(0);
    // A place without an instance is an error.
    let found = (0..places).filter_map(|index| handle.mig_device_by_index(index).ok());
    found.map(|instance| Instance { uuid: instance.uuid().ok(), gpu: gpu(&instance) }).collect()
}

fn gpu(handle: &Handle<'_>) -> Gpu {
    let bus_bits = handle.memory_bus_width().ok();
    let clock_mhz = handle.max_clock_info(Clock::Memory).ok();
    Gpu {
        name: handle.name().ok().filter(|name| !name.is_empty()),
        memory_gib: handle.memory_info().ok().map(|memory| gib(memory.total)),
        memory_bus_width_bits: bus_bits,
        max_memory_clock_mhz: clock_mhz.map(f64::from),
        peak_memory_bandwidth_gb_s: bus_bits.zip(clock_mhz).map(|(bits, mhz)| bandwidth(bits, mhz)),
        ..Gpu::default()
    }
}

/// The theoretical bandwidth of a memory that transfers twice a clock, in GB/s.
fn bandwidth(bus_bits: u32, clock_mhz: u32) -> f64 {
    two_decimals(f64::from(bus_bits) / 8.0 * 2.0 * f64::from(clock_mhz) / 1000.0)
}
