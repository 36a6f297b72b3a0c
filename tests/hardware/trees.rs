//! The files of real machines. Their archives are in the directory that `RLE_MACHINE_TREES` names;
//! without it these tests are skipped. What is expected was read from the files by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rle::hardware::{ClockSource, Cpu, Hardware, Machine};
use tempfile::TempDir;

struct Captured {
    dir: TempDir,
}

impl Captured {
    /// Unpacks the archive whose name begins so; none where there are no archives.
    fn unpack(name: &str) -> Option<Self> {
        let Some(archives) = std::env::var_os("RLE_MACHINE_TREES") else {
            eprintln!("skipped: {name}: RLE_MACHINE_TREES names no directory of captured machines");
            return None;
        };
        let archive = format!("{name}.tar.bz2");
        let archive = Path::new(&archives).join(archive);
        assert!(archive.is_file(), "{} is not there", archive.display());
        let dir = tempfile::tempdir().expect("a temporary directory");
        let unpacked =
            Command::new("tar").arg("xjf").arg(&archive).arg("-C").arg(dir.path()).status();
        if !unpacked.is_ok_and(|status| status.success()) {
            crate::skip(name, "`tar` with `bzip2` does not unpack it");
            return None;
        }
        Some(Self { dir })
    }

    /// The one directory that the archive holds.
    fn root(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.dir.path()).expect("a listed directory");
        entries.next().expect("a directory").expect("a directory entry").path()
    }

    fn machine(&self) -> Machine {
        Machine::captured(self.root(), [("", ""); 0])
    }

    fn cpu(&self) -> Cpu {
        Hardware::of(&self.machine()).cpu
    }

    /// The same with an affinity mask, which no archive has.
    fn cpu_of(&self, allowed: &str) -> Cpu {
        let status = self.root().join("proc/self/status");
        fs::create_dir_all(status.parent().expect("a parent")).expect("a directory");
        fs::write(&status, format!("Cpus_allowed_list:\t{allowed}\n")).expect("a written file");
        let cpu = self.cpu();
        fs::remove_file(&status).expect("a removed file");
        cpu
    }
}

fn name(cpu: &Cpu) -> &str {
    cpu.processor_name.as_deref().unwrap_or_default()
}

/// Physical cores and logical threads.
fn counts(cpu: &Cpu) -> (u32, u32) {
    (
        cpu.physical_cores_available.expect("a number of cores"),
        cpu.logical_threads_available.expect("a number of threads"),
    )
}

fn clock(cpu: &Cpu) -> Option<(f64, f64, ClockSource)> {
    Some((cpu.min_clock_mhz?, cpu.max_clock_mhz?, cpu.clock_source.clone()?))
}

fn scaling(min: f64, max: f64) -> (f64, f64, ClockSource) {
    (min, max, ClockSource::LinuxCpufreq)
}

/// CPUs 2, 5, 13 and 14 of 16 are off, and there is no list of those that run. The cores of the
/// other 12: 0+8, 1+9, 10, 3+11, 4+12, 6, 7+15.
#[test]
fn cpus_that_are_off_take_their_threads_with_them() {
    let Some(captured) = Captured::unpack("16em64t-4s2c2t-offlines") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "Intel(R) Xeon(TM) CPU 2.60GHz");
    assert_eq!(counts(&cpu), (7, 12));
    // Its clock is a momentary one, of bare metal.
    assert_eq!(clock(&cpu), None);
    assert_eq!(counts(&captured.cpu_of("0-15")), (7, 12));
    assert_eq!(counts(&captured.cpu_of("2,10")), (1, 1));
}

/// 6 cores with two threads, CPUs 0 to 11, and 8 with one. Of the former two can reach 67 / 24 of
/// nominal 1900 MHz, which is 5304.17 MHz, above the 5200 MHz of their scaling, and the others
/// 64 / 24, 5066.67 MHz, above 5000 MHz; the latter 39 / 19, which are the 3900 MHz of their scaling.
#[test]
fn cores_of_two_kinds_have_the_range_of_those_in_use() {
    let Some(captured) = Captured::unpack("20em64t-hybrid-1p6c2t+2ca4co1t") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "13th Gen Intel(R) Core(TM) i7-1370P");
    assert_eq!(counts(&cpu), (14, 20));
    assert_eq!(clock(&cpu), Some((400.0, 5304.17, ClockSource::LinuxCpufreqCppc)));
    let small = captured.cpu_of("12-19");
    assert_eq!(counts(&small), (8, 8));
    assert_eq!(clock(&small), Some(scaling(400.0, 3900.0)));
    let large = captured.cpu_of("0-3");
    assert_eq!(counts(&large), (2, 4));
    assert_eq!(clock(&large), Some((400.0, 5066.67, ClockSource::LinuxCpufreqCppc)));
    assert_eq!(counts(&captured.cpu_of("1,3,5")), (3, 3));
}

/// A step that its group allows the CPUs 0 to 5 of 32.
#[test]
fn a_step_of_a_job_has_the_cpus_of_its_group() {
    let Some(captured) = Captured::unpack("32amd64-4s2n4c-cgroup2") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "AMD Opteron(tm) Processor 6134");
    assert_eq!(counts(&cpu), (6, 6));
    assert_eq!(clock(&cpu), Some(scaling(800.0, 2300.0)));
    // No group limits its memory, and the 64 GiB of the node are no limit.
    assert_eq!(Hardware::of(&captured.machine()).memory.limit_gib, None);
    let job = [("SLURM_MEM_PER_CPU", "1024"), ("SLURM_CPUS_ON_NODE", "6")];
    let in_job = Hardware::of(&Machine::captured(captured.root(), job));
    assert_eq!(in_job.memory.limit_gib, Some(6.0));
}

/// 10 cores of 2808 MHz and 10 of 3900 MHz; of the latter, one reaches 3900 x 154 / 150 = 4004
/// MHz; of the former, the second five 2808 x 110 / 108 = 2860 MHz.
#[test]
fn clocks_that_differ_between_cores_are_one_range() {
    let Some(captured) = Captured::unpack("nvidia-dgx-gb10") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "ARM Cortex-A725 + ARM Cortex-X925");
    assert_eq!(counts(&cpu), (20, 20));
    assert_eq!(clock(&cpu), Some((338.0, 4004.0, ClockSource::LinuxCpufreqCppc)));
    let fast = captured.cpu_of("5-9");
    assert_eq!((name(&fast), counts(&fast)), ("ARM Cortex-X925", (5, 5)));
    assert_eq!(clock(&fast), Some(scaling(1378.0, 3900.0)));
    let slow = captured.cpu_of("10-14");
    assert_eq!(clock(&slow), Some((338.0, 2860.0, ClockSource::LinuxCpufreqCppc)));
}

/// No scaling is described.
#[test]
fn a_server_of_another_architecture_is_named_and_counted() {
    let Some(captured) = Captured::unpack("128arm-2pa2n8cluster4co") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "HiSilicon TaiShan-v110");
    assert_eq!(counts(&cpu), (128, 128));
    assert_eq!(clock(&cpu), None);
}

/// 20 of 64 possible CPUs run.
#[test]
fn a_mainframe_is_named_by_its_machine_type() {
    let Some(captured) = Captured::unpack("20s390-2g6s4c") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "IBM z196 (2817)");
    assert_eq!(counts(&cpu), (20, 20));
    assert_eq!(counts(&captured.cpu_of("0-63")), (20, 20));
    assert_eq!(clock(&cpu), None);
}

/// The set is 0-6,12-15 and CPU 4 is off.
#[test]
fn a_cpu_set_of_the_old_kind_is_met_with_the_cpus_that_run() {
    let Some(captured) = Captured::unpack("16amd64-8n2c-cpusets") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "Dual Core AMD Opteron(tm) Processor 865");
    assert_eq!(counts(&cpu), (10, 10));
    assert_eq!(clock(&cpu), None);
}

#[test]
fn a_node_with_sparse_numbers_has_all_its_cpus() {
    let Some(captured) = Captured::unpack("48amd64-4pa2n6c-sparse") else { return };
    let cpu = captured.cpu();
    assert_eq!(name(&cpu), "AMD Engineering Sample");
    assert_eq!(counts(&cpu), (48, 48));
    assert_eq!(clock(&cpu), Some(scaling(800.0, 1700.0)));
}
