//! The CPUs that this process may run on: which, of which kind, of how many cores.

use super::cgroup::{self, Version};
use super::clock;
use super::cpu_info::CpuInfo;
use super::cpu_set::{CPUS, CpuSet, parse_list, parse_mask};
use super::description::Cpu;
use super::machine::Machine;

/// The CPUs of this process.
pub(super) fn read(machine: &Machine) -> Cpu {
    let info = CpuInfo::read(machine);
    let Some(cpus) = available(machine, &info) else {
        return Cpu { processor_name: info.name(None), ..Cpu::default() };
    };
    let clock = clock::read(machine, &cpus, &info);
    Cpu {
        processor_name: info.name(Some(&cpus)),
        physical_cores_available: cores(machine, &cpus, &info).map(count),
        logical_threads_available: Some(count(cpus.len())),
        min_clock_mhz: clock.as_ref().map(|clock| clock.min_mhz),
        max_clock_mhz: clock.as_ref().map(|clock| clock.max_mhz),
        clock_source: clock.map(|clock| clock.source),
        ..Cpu::default()
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The CPUs that this process may run on and that are running.
fn available(machine: &Machine, info: &CpuInfo) -> Option<CpuSet> {
    // The mask may name CPUs that are off at present.
    let running = online(machine).or_else(|| info.numbers());
    let cpus = match (allowed(machine), running) {
        (Some(allowed), Some(running)) => allowed.intersection(&running).copied().collect(),
        (allowed, running) => allowed.or(running)?,
    };
    (!cpus.is_empty()).then_some(cpus)
}

/// The affinity mask of this process; where it cannot be read, the set that its group allows.
fn allowed(machine: &Machine) -> Option<CpuSet> {
    let status = machine.text("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.and_then(parse_list).or_else(|| allowed_to_group(machine))
}

fn allowed_to_group(machine: &Machine) -> Option<CpuSet> {
    let files = |version| match version {
        Version::V2 => ["cpuset.cpus.effective"].as_slice(),
        Version::V1 => ["cpuset.effective_cpus", "cpuset.cpus", "cpus"].as_slice(),
    };
    let lineages = cgroup::lineages(machine, "cpuset");
    lineages.iter().find_map(|(version, lineage)| {
        let mut texts = lineage.iter().flat_map(|group| {
            files(*version).iter().filter_map(|file| machine.text(group.join(file)))
        });
        texts.find_map(|text| parse_list(&text).filter(|cpus| !cpus.is_empty()))
    })
}

/// The CPUs that are running.
fn online(machine: &Machine) -> Option<CpuSet> {
    if let Some(online) = machine.text(format!("{CPUS}/online")).and_then(|text| parse_list(&text))
    {
        return Some(online);
    }
    let names = machine.names(CPUS);
    let numbers = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
    let is_on = |cpu: &u32| machine.number(format!("{CPUS}/cpu{cpu}/online")) != Some(0);
    let cpus: CpuSet = numbers.filter(is_on).collect();
    (!cpus.is_empty()).then_some(cpus)
}

/// The number of cores of which `cpus` are the hardware threads; none where nothing says it.
fn cores(machine: &Machine, cpus: &CpuSet, info: &CpuInfo) -> Option<usize> {
    let mut left = cpus.clone();
    let mut cores = 0;
    while let Some(cpu) = left.pop_first() {
        let Some(siblings) = siblings(machine, cpu) else { return info.cores(cpus) };
        left.retain(|other| !siblings.contains(other));
        cores += 1;
    }
    Some(cores)
}

/// The hardware threads of a CPU's core.
fn siblings(machine: &Machine, cpu: u32) -> Option<CpuSet> {
    let text = |file: &str| machine.text(format!("{CPUS}/cpu{cpu}/topology/{file}"));
    let lists = ["thread_siblings_list", "core_cpus_list"];
    let masks = ["thread_siblings", "core_cpus"];
    let mut listed = lists.iter().filter_map(|file| parse_list(&text(file)?));
    let mut masked = masks.iter().filter_map(|file| parse_mask(&text(file)?));
    listed.next().or_else(|| masked.next())
}

#[cfg(test)]
mod tests;
