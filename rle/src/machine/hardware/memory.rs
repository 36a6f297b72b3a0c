//! The memory limit: of the control groups, else what a scheduler says that it has allocated.

use std::path::PathBuf;

use super::cgroup::{self, Version};
use super::description::{LimitSource, Memory, two_decimals};
use super::machine::Machine;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const MIB: u64 = 1024 * 1024;
/// The first version writes the largest number of pages that it can count where there is no
/// limit; it depends on the size of a page, and no machine has as much as this.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// The limit on the memory of this process, with who sets it.
pub(super) fn read(machine: &Machine) -> Memory {
    let found = [
        (cgroup_bytes(machine), LimitSource::Cgroup),
        (slurm_bytes(machine), LimitSource::Slurm),
        (pbs_bytes(machine), LimitSource::Pbs),
    ];
    let first = found.into_iter().find_map(|(bytes, source)| Some((bytes?, source)));
    let (bytes, limit_source) = first.unzip();
    Memory { limit_gib: bytes.map(gib), limit_source, ..Memory::default() }
}

/// Bytes in GiB, with 2 decimals.
#[expect(clippy::cast_precision_loss, reason = "two decimals are kept")]
pub(super) fn gib(bytes: u64) -> f64 {
    two_decimals(bytes as f64 / GIB)
}

/// The smallest limit of the groups of this process and all their ancestors.
fn cgroup_bytes(machine: &Machine) -> Option<u64> {
    let lineages = cgroup::lineages(machine, "memory");
    lineages.iter().filter_map(|(version, lineage)| smallest(machine, *version, lineage)).min()
}

fn smallest(machine: &Machine, version: Version, lineage: &[PathBuf]) -> Option<u64> {
    match version {
        // `max` is no number.
        Version::V2 => {
            lineage.iter().filter_map(|group| machine.number(group.join("memory.max"))).min()
        }
        Version::V1 => {
            let own = lineage
                .iter()
                .filter_map(|group| machine.number(group.join("memory.limit_in_bytes")));
            // The kernel's own minimum also counts ancestors that are not mounted here.
            let seen_by_kernel = lineage.first().and_then(|leaf| {
                let text = machine.text(leaf.join("memory.stat"))?;
                let line =
                    |line: &str| line.strip_prefix("hierarchical_memory_limit ")?.parse().ok();
                text.lines().find_map(line)
            });
            own.chain(seen_by_kernel).filter(|bytes| *bytes < UNLIMITED_BYTES).min()
        }
    }
}

/// What Slurm has allocated on this node. It sets one of three variables, in MiB; 0 in it is a
/// request for all that the node has, which is no limit.
fn slurm_bytes(machine: &Machine) -> Option<u64> {
    if let Some(mib) = slurm_mib(machine, "SLURM_MEM_PER_NODE") {
        return in_bytes(mib, 1);
    }
    if let Some(mib) = slurm_mib(machine, "SLURM_MEM_PER_CPU") {
        return in_bytes(mib, slurm_cpus(machine)?);
    }
    in_bytes(slurm_mib(machine, "SLURM_MEM_PER_GPU")?, slurm_gpus(machine)?)
}

fn in_bytes(mib: u64, times: u64) -> Option<u64> {
    mib.checked_mul(MIB)?.checked_mul(times).filter(|bytes| *bytes > 0)
}

/// A number of MiB. Slurm writes no unit; a script that sets the variable for a step may.
fn slurm_mib(machine: &Machine, name: &str) -> Option<u64> {
    let text = machine.variable(name)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "M" | "MB" => Some(number),
        "K" | "KB" => Some(number / 1024),
        "G" | "GB" => number.checked_mul(1024),
        "T" | "TB" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

fn slurm_cpus(machine: &Machine) -> Option<u64> {
    let on_node = machine.variable("SLURM_CPUS_ON_NODE").and_then(|text| text.parse().ok());
    on_node.or_else(|| one_for_all_nodes(machine.variable("SLURM_JOB_CPUS_PER_NODE")?))
}

/// The number of `16` and `16(x2)`; none of `16,8`, which does not say which node is which.
fn one_for_all_nodes(text: &str) -> Option<u64> {
    let digits = text.split_once("(x").map_or(text, |(digits, _)| digits);
    if text.contains(',') { None } else { digits.parse().ok() }
}

fn slurm_gpus(machine: &Machine) -> Option<u64> {
    if let Some(count) = machine.variable("SLURM_GPUS_ON_NODE") {
        return count.parse().ok();
    }
    let list =
        ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"].iter().find_map(|name| machine.variable(name))?;
    u64::try_from(list.split(',').count()).ok()
}

/// What PBS has allocated on this node, where the site's hooks say it: PBS itself puts no amount
/// of memory into a job's environment.
fn pbs_bytes(machine: &Machine) -> Option<u64> {
    let text =
        ["PBS_RESC_MEM", "TORQUE_RESC_MEM"].iter().find_map(|name| machine.variable(name))?;
    pbs_size(text).filter(|bytes| *bytes > 0)
}

/// A size as PBS writes it, in bytes unless it names a unit: `4294967296`, `4gb`, `512mw`.
fn pbs_size(text: &str) -> Option<u64> {
    /// Bytes of a word, the other unit of PBS.
    const WORD: u64 = 8;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit = text[digits.len()..].to_ascii_lowercase();
    let (scale, of) = match unit.strip_suffix('w') {
        Some(scale) => (scale, WORD),
        None => (unit.strip_suffix('b').unwrap_or(&unit), 1),
    };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == scale)?;
    number.checked_mul(of)?.checked_mul(1 << (10 * power))
}

#[cfg(test)]
mod tests;
