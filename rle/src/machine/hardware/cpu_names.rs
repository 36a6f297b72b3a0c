//! Names of processors that the kernel gives by number only.

/// ARM: implementer and part, from the registers that its reference manuals and the vendors
/// number (`MIDR_EL1`); the usual cores of machines on which experiments run.
pub(super) fn arm(implementer: Option<&String>, part: Option<&String>) -> Option<String> {
    let (implementer, part) = (implementer?, part?);
    let vendor = match implementer.as_str() {
        "0x41" => "ARM",
        "0x42" => "Broadcom",
        "0x43" => "Cavium",
        "0x46" => "Fujitsu",
        "0x48" => "HiSilicon",
        "0x4e" => "NVIDIA",
        "0x50" => "APM",
        "0x51" => "Qualcomm",
        "0x53" => "Samsung",
        "0x61" => "Apple",
        "0x6d" => "Microsoft",
        "0x70" => "Phytium",
        "0xc0" => "Ampere",
        other => return Some(format!("CPU {other} part {part}")),
    };
    let known = ARM_PARTS.iter().find(|(by, number, _)| by == implementer && number == part);
    Some(match known {
        Some((_, _, name)) => format!("{vendor} {name}"),
        None => format!("{vendor} part {part}"),
    })
}

const ARM_PARTS: [(&str, &str, &str); 48] = [
    ("0x41", "0xc07", "Cortex-A7"),
    ("0x41", "0xc0f", "Cortex-A15"),
    ("0x41", "0xd02", "Cortex-A34"),
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd04", "Cortex-A35"),
    ("0x41", "0xd05", "Cortex-A55"),
    ("0x41", "0xd07", "Cortex-A57"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd09", "Cortex-A73"),
    ("0x41", "0xd0a", "Cortex-A75"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd0d", "Cortex-A77"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd41", "Cortex-A78"),
    ("0x41", "0xd42", "Cortex-A78AE"),
    ("0x41", "0xd44", "Cortex-X1"),
    ("0x41", "0xd46", "Cortex-A510"),
    ("0x41", "0xd47", "Cortex-A710"),
    ("0x41", "0xd48", "Cortex-X2"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4a", "Neoverse-E1"),
    ("0x41", "0xd4b", "Cortex-A78C"),
    ("0x41", "0xd4d", "Cortex-A715"),
    ("0x41", "0xd4e", "Cortex-X3"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x41", "0xd80", "Cortex-A520"),
    ("0x41", "0xd81", "Cortex-A720"),
    ("0x41", "0xd82", "Cortex-X4"),
    ("0x41", "0xd83", "Neoverse-V3AE"),
    ("0x41", "0xd84", "Neoverse-V3"),
    ("0x41", "0xd85", "Cortex-X925"),
    ("0x41", "0xd87", "Cortex-A725"),
    ("0x41", "0xd8e", "Neoverse-N3"),
    ("0x43", "0x0a1", "ThunderX"),
    ("0x43", "0x0af", "ThunderX2"),
    ("0x46", "0x001", "A64FX"),
    ("0x48", "0xd01", "TaiShan-v110"),
    ("0x48", "0xd02", "TaiShan-v120"),
    ("0x4e", "0x003", "Denver 2"),
    ("0x4e", "0x004", "Carmel"),
    ("0x51", "0xc00", "Falkor"),
    ("0x61", "0x022", "Icestorm"),
    ("0x61", "0x023", "Firestorm"),
    ("0x61", "0x032", "Blizzard"),
    ("0x61", "0x033", "Avalanche"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1a"),
];

/// The mainframes of IBM, which the kernel names by the number of the machine's type.
pub(super) fn mainframe(vendor: Option<&String>, machine: Option<&String>) -> Option<String> {
    let (vendor, machine) = (vendor?, machine?);
    if vendor != "IBM/S390" {
        return None;
    }
    let name = match machine.as_str() {
        "2064" => "z900",
        "2066" => "z800",
        "2084" => "z990",
        "2086" => "z890",
        "2094" => "z9 EC",
        "2096" => "z9 BC",
        "2097" => "z10 EC",
        "2098" => "z10 BC",
        "2817" => "z196",
        "2818" => "z114",
        "2827" => "zEC12",
        "2828" => "zBC12",
        "2964" => "z13",
        "2965" => "z13s",
        "3906" => "z14",
        "3907" => "z14 ZR1",
        "8561" => "z15",
        "8562" => "z15 T02",
        "3931" => "z16",
        "3932" => "z16 A02",
        "9175" => "z17",
        other => return Some(format!("IBM/S390 machine {other}")),
    };
    Some(format!("IBM {name} ({machine})"))
}
