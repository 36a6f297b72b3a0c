//! What this process may use: its memory limit, its CPUs, its GPUs.
//!
//! A description says what a job was given, not what the machine has: two runs are comparable
//! when they had the same, wherever that was. Names of hosts, users and jobs are no part of it.
//!
//! - `machine`: the files and variables of a machine, this one or a captured one.
//! - `cgroup`: the control groups of this process.
//! - `description`: the description of hardware, and its id.
//! - `compare`: where two descriptions differ.
//! - `memory`: the memory limit.
//! - `cpu_names`: the models of CPUs that say only a number.
//! - `cpu_set`: sets of CPUs as the kernel writes them.
//! - `cpu_info`: `/proc/cpuinfo`.
//! - `clock`: the range of the clock of some CPUs.
//! - `cpu`: the CPUs that this process may run on.
//! - `other_system`: the CPUs of a machine that is not Linux.
//! - `gpu`: the GPUs that this process sees.
//!
//! ```
//! let hardware = rle::hardware::current();
//! assert!(hardware.id().starts_with("hw_"));
//! ```

mod cgroup;
mod clock;
mod compare;
mod cpu;
mod cpu_info;
mod cpu_names;
mod cpu_set;
mod description;
pub(crate) mod gpu;
mod machine;
mod memory;
#[cfg(not(target_os = "linux"))]
mod other_system;

use std::sync::OnceLock;

pub use compare::{Difference, differences, differences_among};
pub use description::{ClockSource, Cpu, Gpu, Hardware, LimitSource, Memory};
pub(crate) use description::{id_of, rounded};
pub use machine::Machine;

/// The description of what this process may use, collected by the first call and the same for
/// as long as the process lives.
///
/// It never fails: what cannot be found out is said to be unknown.
pub fn current() -> &'static Hardware {
    static CURRENT: OnceLock<Hardware> = OnceLock::new();
    CURRENT.get_or_init(|| Hardware::of(&Machine::this()))
}

/// The indices of this machine's GPUs as `nvidia-smi` counts them, whatever the environment says;
/// none where it does not tell in time.
#[cfg(feature = "cli")]
pub(crate) fn gpu_indices() -> Vec<String> {
    gpu::indices(&Machine::this())
}

impl Hardware {
    /// Describes what a process on `machine` may use.
    ///
    /// It never fails: what cannot be found out is said to be unknown.
    pub fn of(machine: &Machine) -> Self {
        let mut hardware = Self::default();
        hardware.memory = memory::read(machine);
        hardware.cpu = cpus(machine);
        hardware.gpus = gpu::read(machine);
        hardware
    }
}

#[cfg(target_os = "linux")]
fn cpus(machine: &Machine) -> Cpu {
    cpu::read(machine)
}

#[cfg(not(target_os = "linux"))]
fn cpus(machine: &Machine) -> Cpu {
    if machine.is_this { other_system::cpu() } else { cpu::read(machine) }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tree;
