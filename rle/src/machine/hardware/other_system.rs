//! The CPUs of a machine that is not Linux, from `sysinfo`: affinity, clock limits and memory
//! limits of a process are nothing that such a system tells.

use std::thread;

use sysinfo::{CpuRefreshKind, System};

use super::description::Cpu;

/// The CPUs of this machine.
pub(super) fn cpu() -> Cpu {
    let count = |number: usize| u32::try_from(number).ok();
    let threads = thread::available_parallelism().ok();
    Cpu {
        processor_name: name().filter(|name| !name.is_empty()),
        physical_cores_available: System::physical_core_count().ok().and_then(count),
        logical_threads_available: threads.and_then(|threads| count(threads.get())),
        ..Cpu::default()
    }
}

fn name() -> Option<String> {
    let mut system = System::new().ok()?;
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    system.cpus().first().map(|cpu| cpu.brand().trim().to_owned())
}
