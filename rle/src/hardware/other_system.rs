//! The CPUs of a machine that is not Linux, from `sysinfo`: affinity, clock limits and memory
//! limits of a process are nothing that such a system tells.

use std::thread;

use super::description::Cpu;

/// The CPUs of this machine.
pub(super) fn cpu() -> Cpu {
    let mut system = sysinfo::System::new();
    system.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
    let name = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned());
    let count = |number: usize| u32::try_from(number).ok();
    Cpu {
        processor_name: name.filter(|name| !name.is_empty()),
        physical_cores_available: sysinfo::System::physical_core_count().and_then(count),
        logical_threads_available: thread::available_parallelism()
            .ok()
            .and_then(|threads| count(threads.get())),
        ..Cpu::default()
    }
}
