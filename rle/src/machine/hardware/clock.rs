//! The range of the clock of some CPUs, and where it comes from.

use super::cpu_info::CpuInfo;
use super::cpu_set::{CPUS, CpuSet, parse_list};
use super::description::{ClockSource, two_decimals};
use super::machine::Machine;

/// By how much the clocks of the CPUs of a virtual machine may differ, in MHz.
const SAME_CLOCK_MHZ: f64 = 0.1;

/// A range of clocks, in MHz with 2 decimals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clock {
    pub(super) min_mhz: f64,
    pub(super) max_mhz: f64,
    pub(super) source: ClockSource,
}

/// The range of these CPUs' clock; none where only momentary clocks are known.
pub(super) fn read(machine: &Machine, cpus: &CpuSet, info: &CpuInfo) -> Option<Clock> {
    scaling(machine, cpus).or_else(|| virtual_nominal(cpus, info))
}

/// The limits of frequency scaling, and the boost ceiling of the firmware where it is higher.
fn scaling(machine: &Machine, cpus: &CpuSet) -> Option<Clock> {
    let ranges = policies(machine, cpus).into_iter().filter_map(|directory| {
        let khz = |file: &str| machine.number(format!("{directory}/{file}"));
        Some((khz("cpuinfo_min_freq")?, khz("cpuinfo_max_freq")?))
    });
    let (min, max) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let (min_mhz, max_mhz) = (mhz(min), mhz(max));
    let ceiling = cpus.iter().filter_map(|cpu| boost_ceiling(machine, *cpu)).reduce(f64::max);
    Some(match ceiling {
        Some(ceiling) if ceiling > max_mhz => {
            Clock { min_mhz, max_mhz: ceiling, source: ClockSource::LinuxCpufreqCppc }
        }
        _ => Clock { min_mhz, max_mhz, source: ClockSource::LinuxCpufreq },
    })
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are kept")]
fn mhz(khz: u64) -> f64 {
    two_decimals(khz as f64 / 1000.0)
}

/// The directories that describe the frequency scaling of these CPUs.
fn policies(machine: &Machine, cpus: &CpuSet) -> Vec<String> {
    let policies = format!("{CPUS}/cpufreq");
    let names = machine.names(&policies);
    let shared: Vec<String> = names
        .iter()
        .filter(|name| name.starts_with("policy"))
        .map(|name| format!("{policies}/{name}"))
        .filter(|policy| {
            let text = |file: &str| machine.text(format!("{policy}/{file}"));
            let members = text("affected_cpus").or_else(|| text("related_cpus"));
            // Separated by spaces here.
            members
                .and_then(|text| parse_list(&text.trim().replace(' ', ",")))
                .is_some_and(|members| !members.is_disjoint(cpus))
        })
        .collect();
    if !shared.is_empty() {
        return shared;
    }
    // Older kernels have a directory in each CPU's own.
    cpus.iter().map(|cpu| format!("{CPUS}/cpu{cpu}/cpufreq")).collect()
}

/// The highest clock by what the firmware says that a CPU can do, in MHz: its nominal clock
/// times highest / nominal performance (ACPI 6.5, section 8.4.6.1, whose performance scale is
/// linear in the clock).
#[expect(clippy::cast_precision_loss, reason = "two decimals are kept")]
fn boost_ceiling(machine: &Machine, cpu: u32) -> Option<f64> {
    let value = |file: &str| {
        machine.number(format!("{CPUS}/cpu{cpu}/acpi_cppc/{file}")).filter(|value| *value > 0)
    };
    let (mhz, highest, nominal) =
        (value("nominal_freq")?, value("highest_perf")?, value("nominal_perf")?);
    Some(two_decimals(mhz as f64 * highest as f64 / nominal as f64))
}

/// The fixed clock of a virtual machine: all CPUs say that there is a hypervisor that tells the
/// frequency of their time-stamp counter, and name the same clock.
fn virtual_nominal(cpus: &CpuSet, info: &CpuInfo) -> Option<Clock> {
    let mut clocks = Vec::with_capacity(cpus.len());
    for cpu in cpus {
        if !info.has_flags(*cpu, &["hypervisor", "tsc_known_freq"]) {
            return None;
        }
        clocks.push(info.mhz(*cpu)?);
    }
    let min = clocks.iter().copied().reduce(f64::min)?;
    let max = clocks.iter().copied().reduce(f64::max)?;
    // No double is exactly 0.1: with the margin, a difference of just the tolerance is accepted.
    if max - min > SAME_CLOCK_MHZ + 1e-9 {
        return None;
    }
    let mhz = two_decimals(min);
    Some(Clock { min_mhz: mhz, max_mhz: mhz, source: ClockSource::ProcCpuinfoVirtualNominal })
}
