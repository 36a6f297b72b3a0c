use super::*;
use crate::machine::hardware::description::ClockSource;
use crate::machine::hardware::tree::Tree;

/// Four cores of two threads, the second threads at 4 to 7.
fn smt() -> Tree {
    let tree = Tree::new(&[
        ("/sys/devices/system/cpu/online", "0-7\n"),
        ("/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"),
    ]);
    for cpu in 0..8 {
        let siblings = format!("{},{}\n", cpu % 4, cpu % 4 + 4);
        tree.write(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"), &siblings);
    }
    tree
}

fn allow(tree: &Tree, list: &str) {
    tree.write("/proc/self/status", &format!("Cpus_allowed_list:\t{list}\n"));
}

fn counts(tree: &Tree) -> (Option<u32>, Option<u32>) {
    let cpu = read(&tree.machine());
    (cpu.physical_cores_available, cpu.logical_threads_available)
}

fn clock(tree: &Tree) -> (Option<f64>, Option<f64>, Option<ClockSource>) {
    let cpu = read(&tree.machine());
    (cpu.min_clock_mhz, cpu.max_clock_mhz, cpu.clock_source)
}

const NO_CLOCK: (Option<f64>, Option<f64>, Option<ClockSource>) = (None, None, None);

#[test]
fn threads_of_one_core_count_once() {
    let tree = smt();
    assert_eq!(counts(&tree), (Some(4), Some(8)));
    allow(&tree, "1,5");
    assert_eq!(counts(&tree), (Some(1), Some(2)));
    // Odd ones, of which no two share a core.
    allow(&tree, "1,3,4,6");
    assert_eq!(counts(&tree), (Some(4), Some(4)));
    allow(&tree, "1,3,5,7");
    assert_eq!(counts(&tree), (Some(2), Some(4)));
}

#[test]
fn cpus_that_are_off_are_not_available() {
    let tree = smt();
    tree.write(&format!("{CPUS}/online"), "0-2,4-7\n");
    allow(&tree, "0-63");
    assert_eq!(counts(&tree), (Some(4), Some(7)));
}

#[test]
fn without_a_list_each_cpu_says_whether_it_runs() {
    let tree = Tree::new(&[("/sys/devices/system/cpu/cpufreq/boost", "1\n")]);
    for cpu in 0..4 {
        tree.write(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings"), "0000000f\n");
    }
    tree.write(&format!("{CPUS}/cpu2/online"), "0\n");
    tree.write(&format!("{CPUS}/cpu3/online"), "1\n");
    assert_eq!(counts(&tree), (Some(1), Some(3)));
}

#[test]
fn without_an_affinity_mask_the_group_says_which_cpus_it_allows() {
    let tree = smt();
    tree.write("/proc/self/status", "Name:\tx\n");
    tree.write("/proc/self/cgroup", "0::/job/step\n");
    tree.write("/proc/self/mountinfo", "31 23 0:27 / /cg rw - cgroup2 none rw\n");
    tree.write("/cg/job/cpuset.cpus.effective", "0,4\n");
    assert_eq!(counts(&tree), (Some(1), Some(2)));
    tree.write("/cg/job/step/cpuset.cpus.effective", "4\n");
    assert_eq!(counts(&tree), (Some(1), Some(1)));
}

#[test]
fn without_topology_the_processors_say_which_core_they_are_of() {
    let tree = Tree::new(&[("/proc/self/status", "Cpus_allowed_list:\t0-1\n")]);
    let one = |cpu: u32| {
        format!("processor\t: {cpu}\nmodel name\t: A\nphysical id\t: 0\ncore id\t\t: 3\n\n")
    };
    tree.write("/proc/cpuinfo", &(one(0) + &one(1)));
    assert_eq!(counts(&tree), (Some(1), Some(2)));
    tree.write("/proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\n");
    assert_eq!(counts(&tree), (None, Some(2)));
}

#[test]
fn nothing_is_known_where_there_is_nothing_to_read() {
    assert_eq!(read(&Tree::new(&[]).machine()), Cpu::default());
}

/// Four CPUs, two slow and two fast ones.
fn scaled() -> Tree {
    let tree = Tree::new(&[
        ("/sys/devices/system/cpu/online", "0-3\n"),
        ("/proc/self/status", "Cpus_allowed_list:\t0-3\n"),
    ]);
    for (policy, members, min, max) in
        [(0, "0 1\n", "800000\n", "2000000\n"), (2, "2 3\n", "1000000\n", "3500500\n")]
    {
        let policy = format!("{CPUS}/cpufreq/policy{policy}");
        tree.write(&format!("{policy}/affected_cpus"), members);
        tree.write(&format!("{policy}/cpuinfo_min_freq"), min);
        tree.write(&format!("{policy}/cpuinfo_max_freq"), max);
    }
    tree
}

#[test]
fn the_clock_range_is_that_of_the_available_cpus() {
    let tree = scaled();
    let cpufreq = Some(ClockSource::LinuxCpufreq);
    assert_eq!(clock(&tree), (Some(800.0), Some(3500.5), cpufreq.clone()));
    allow(&tree, "1");
    assert_eq!(clock(&tree), (Some(800.0), Some(2000.0), cpufreq.clone()));
    allow(&tree, "3");
    assert_eq!(clock(&tree), (Some(1000.0), Some(3500.5), cpufreq));
}

#[test]
fn older_kernels_describe_scaling_in_each_cpus_directory() {
    let tree = Tree::new(&[
        ("/proc/self/status", "Cpus_allowed_list:\t0-1\n"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "800000\n"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2300000\n"),
        ("/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "9900000\n"),
    ]);
    assert_eq!(clock(&tree), (Some(800.0), Some(2300.0), Some(ClockSource::LinuxCpufreq)));
}

#[test]
fn a_boost_ceiling_of_the_firmware_extends_the_range() {
    let tree = scaled();
    let cppc = |highest: &str| {
        for (file, value) in
            [("nominal_freq", "2450"), ("nominal_perf", "120"), ("highest_perf", highest)]
        {
            tree.write(&format!("{CPUS}/cpu2/acpi_cppc/{file}"), value);
        }
        clock(&tree)
    };
    // 2450 x 180 / 120 = 3675; 2450 x 171 / 120 = 3491.25, which is below the maximum.
    let boosted = (Some(800.0), Some(3675.0), Some(ClockSource::LinuxCpufreqCppc));
    let plain = (Some(800.0), Some(3500.5), Some(ClockSource::LinuxCpufreq));
    assert_eq!(cppc("180"), boosted);
    assert_eq!(cppc("171"), plain);
    assert_eq!(cppc("0"), plain);
    // Of a CPU that this process may not use.
    cppc("180");
    allow(&tree, "0-1");
    assert_eq!(clock(&tree), (Some(800.0), Some(2000.0), Some(ClockSource::LinuxCpufreq)));
}

fn guest(processors: &[(&str, &str)]) -> Tree {
    let last = processors.len() - 1;
    let tree = Tree::new(&[("/proc/self/status", &format!("Cpus_allowed_list:\t0-{last}\n"))]);
    let blocks = processors.iter().enumerate().map(|(cpu, (mhz, flags))| {
        format!("processor\t: {cpu}\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu {flags} lm\n\n")
    });
    tree.write("/proc/cpuinfo", &blocks.collect::<String>());
    tree
}

#[test]
fn a_guest_with_a_fixed_clock_has_it_as_both_limits() {
    const FIXED: &str = "hypervisor tsc_known_freq";
    let nominal = Some(ClockSource::ProcCpuinfoVirtualNominal);
    let same = (Some(2600.0), Some(2600.0), nominal);
    assert_eq!(clock(&guest(&[("2600.000", FIXED), ("2600.100", FIXED)])), same);
    assert_eq!(clock(&guest(&[("2600.000", FIXED), ("2600.101", FIXED)])), NO_CLOCK);
    assert_eq!(clock(&guest(&[("2600.000", FIXED), ("2600.000", "hypervisor")])), NO_CLOCK);
    assert_eq!(clock(&guest(&[("2600.000", "tsc_known_freq")])), NO_CLOCK);
    assert_eq!(clock(&guest(&[("2600.000", "hypervisors tsc_known_freq")])), NO_CLOCK);
    assert_eq!(clock(&guest(&[("unknown", FIXED)])), NO_CLOCK);
    // Only what this process may use has to agree.
    let tree = guest(&[("2600.000", FIXED), ("3000.000", FIXED)]);
    allow(&tree, "0");
    assert_eq!(clock(&tree), same);
}
