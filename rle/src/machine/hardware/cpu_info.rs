//! `/proc/cpuinfo`, whose fields are other ones on each architecture.

use std::collections::{BTreeMap, BTreeSet};

use super::cpu_names;
use super::cpu_set::CpuSet;
use super::machine::Machine;

/// Fields of one CPU, or of all of them.
type Fields = BTreeMap<String, String>;

/// What the kernel says about each CPU that runs.
pub(super) struct CpuInfo {
    by_cpu: BTreeMap<u32, Fields>,
    /// Fields that stand apart from all CPUs.
    common: Fields,
}

impl CpuInfo {
    pub(super) fn read(machine: &Machine) -> Self {
        Self::parse(&machine.text("/proc/cpuinfo").unwrap_or_default())
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut info = Self { by_cpu: BTreeMap::new(), common: Fields::new() };
        let mut current = None;
        for line in text.lines() {
            if line.trim().is_empty() {
                current = None;
                continue;
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            let (name, value) = (name.trim(), squeezed(value));
            // `processor 3: version = FF, identification = 279F25, machine = 2817`
            if let Some(cpu) = name.strip_prefix("processor ").and_then(|cpu| cpu.parse().ok()) {
                info.by_cpu.insert(cpu, assignments(&value));
                continue;
            }
            if name == "processor"
                && let Ok(cpu) = value.parse()
            {
                current = Some(cpu);
                info.by_cpu.entry(cpu).or_default();
                continue;
            }
            let fields = match current {
                Some(cpu) => info.by_cpu.entry(cpu).or_default(),
                None => &mut info.common,
            };
            fields.insert(name.to_owned(), value);
        }
        info
    }

    /// The numbers of the CPUs; none where it names none.
    pub(super) fn numbers(&self) -> Option<CpuSet> {
        let numbers: CpuSet = self.by_cpu.keys().copied().collect();
        (!numbers.is_empty()).then_some(numbers)
    }

    /// The model of these CPUs; several models, as in big and little cores, each once.
    pub(super) fn name(&self, cpus: Option<&CpuSet>) -> Option<String> {
        let wanted = |cpu: &u32| cpus.is_none_or(|cpus| cpus.contains(cpu));
        let chosen = self.by_cpu.iter().filter(|(cpu, _)| wanted(cpu));
        let names: BTreeSet<String> =
            chosen.filter_map(|(_, fields)| self.name_of(fields)).collect();
        if names.is_empty() {
            return self.name_of(&Fields::new());
        }
        Some(names.into_iter().collect::<Vec<_>>().join(" + "))
    }

    fn name_of(&self, fields: &Fields) -> Option<String> {
        let field = |name: &str| fields.get(name).or_else(|| self.common.get(name));
        let nonempty = |name: &&str| field(name).filter(|value| !value.is_empty()).cloned();
        // MIPS, POWER, RISC-V, older ARM.
        let others = ["cpu model", "cpu", "uarch", "Processor", "Hardware", "isa"];
        nonempty(&"model name")
            .or_else(|| cpu_names::arm(field("CPU implementer"), field("CPU part")))
            .or_else(|| cpu_names::mainframe(field("vendor_id"), field("machine")))
            .or_else(|| others.iter().find_map(nonempty))
    }

    /// The number of cores of these CPUs; none where one of them does not say which it is of.
    pub(super) fn cores(&self, cpus: &CpuSet) -> Option<usize> {
        let core = |cpu: &u32| {
            let fields = self.by_cpu.get(cpu)?;
            Some((fields.get("physical id")?, fields.get("core id")?))
        };
        let cores: Option<BTreeSet<_>> = cpus.iter().map(core).collect();
        cores.map(|cores| cores.len())
    }

    /// Whether a CPU has all these flags.
    pub(super) fn has_flags(&self, cpu: u32, flags: &[&str]) -> bool {
        let Some(own) = self.by_cpu.get(&cpu).and_then(|fields| fields.get("flags")) else {
            return false;
        };
        flags.iter().all(|flag| own.split(' ').any(|one| one == *flag))
    }

    /// The clock of a CPU at this moment, in MHz.
    pub(super) fn mhz(&self, cpu: u32) -> Option<f64> {
        let mhz: f64 = self.by_cpu.get(&cpu)?.get("cpu MHz")?.parse().ok()?;
        (mhz.is_finite() && mhz > 0.0).then_some(mhz)
    }
}

/// A name with single spaces: firmware pads.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The fields of `version = FF, machine = 2817`.
fn assignments(text: &str) -> Fields {
    let pairs = text.split(',').filter_map(|part| part.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        CpuInfo::parse(text).name(None)
    }

    #[test]
    fn a_name_is_that_of_the_architecture() {
        let cases = [
            ("processor\t: 0\nmodel name\t:   Intel(R)  Xeon(R)   CPU  \n", "Intel(R) Xeon(R) CPU"),
            ("processor: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "ARM Neoverse-N1"),
            ("processor: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xfff\n", "ARM part 0xfff"),
            ("processor: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x1\n", "CPU 0x99 part 0x1"),
            ("vendor_id: IBM/S390\nprocessor 0: version = 00, machine = 3906\n", "IBM z14 (3906)"),
            ("vendor_id: IBM/S390\nprocessor 0: version = 00, machine = 1\n", "IBM/S390 machine 1"),
            ("processor: 0\ncpu: POWER9, altivec supported\n", "POWER9, altivec supported"),
            ("processor: 0\nisa: rv64imafdc\nuarch: sifive,u74-mc\n", "sifive,u74-mc"),
            ("Hardware\t: BCM2835\n", "BCM2835"),
        ];
        for (text, wanted) in cases {
            assert_eq!(name(text).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(name(""), None);
        assert_eq!(name("processor: 0\nmodel name:\n"), None);
    }

    #[test]
    fn big_and_little_cores_are_both_named_and_only_those_in_use() {
        let text = "processor: 0\nCPU implementer: 0x41\nCPU part: 0xd87\n\n\
                    processor: 1\nCPU implementer: 0x41\nCPU part: 0xd85\n";
        let info = CpuInfo::parse(text);
        assert_eq!(info.name(None).as_deref(), Some("ARM Cortex-A725 + ARM Cortex-X925"));
        assert_eq!(info.name(Some(&[1].into())).as_deref(), Some("ARM Cortex-X925"));
    }
}
