use super::*;
use crate::machine::hardware::tree::Tree;

const GIB_BYTES: u64 = 1 << 30;
const V1: &str = "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const V2: &str = "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
/// What the first version writes for no limit with pages of 4 KiB, and with pages of 64 KiB.
const NO_LIMIT: [&str; 2] = ["9223372036854771712\n", "9223372036854710272\n"];

fn limit(machine: &Machine) -> (Option<f64>, Option<LimitSource>) {
    let memory = read(machine);
    (memory.limit_gib, memory.limit_source)
}

fn by_cgroup(gib: f64) -> (Option<f64>, Option<LimitSource>) {
    (Some(gib), Some(LimitSource::Cgroup))
}

fn gib_text(gib: u64) -> String {
    format!("{}\n", gib * GIB_BYTES)
}

fn in_env(environment: &[(&str, &str)]) -> (Option<f64>, Option<LimitSource>) {
    limit(&Tree::new(&[]).in_job(environment))
}

#[test]
fn a_limit_of_the_first_version_is_read() {
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "9:cpu:/\n4:memory:/job\n0::/\n"),
        ("/proc/self/mountinfo", V1),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT[0]),
        ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "6442450944\n"),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(6.0));
}

#[test]
fn the_unlimited_number_of_the_first_version_is_no_limit() {
    for unlimited in NO_LIMIT {
        let tree = Tree::new(&[
            ("/proc/self/cgroup", "4:memory:/job\n"),
            ("/proc/self/mountinfo", V1),
            ("/proc/meminfo", "MemTotal: 65536000 kB\n"),
            ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", unlimited),
        ]);
        assert_eq!(limit(&tree.machine()), (None, None));
    }
}

#[test]
fn a_limit_on_a_parent_alone_holds_for_its_children() {
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/user.slice/job_1/step_0\n"),
        ("/proc/self/mountinfo", V2),
        ("/sys/fs/cgroup/user.slice/memory.max", "max\n"),
        ("/sys/fs/cgroup/user.slice/job_1/memory.max", &gib_text(8)),
        ("/sys/fs/cgroup/user.slice/job_1/step_0/memory.max", "max\n"),
        ("/sys/fs/cgroup/user.slice/job_2/memory.max", &gib_text(1)),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(8.0));
    // The smallest of all, wherever it stands.
    tree.write("/sys/fs/cgroup/user.slice/job_1/step_0/memory.max", &gib_text(9));
    assert_eq!(limit(&tree.machine()), by_cgroup(8.0));
    tree.write("/sys/fs/cgroup/user.slice/memory.max", &gib_text(2));
    assert_eq!(limit(&tree.machine()), by_cgroup(2.0));
}

#[test]
fn hybrid_mounts_are_read_where_the_controller_is() {
    let both = format!("{V1}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "8:pids:/other\n4:cpu,memory:/a/b\n0::/a/b\n"),
        ("/proc/self/mountinfo", &both),
        ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", &gib_text(5)),
        ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", NO_LIMIT[0]),
        ("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", &gib_text(1)),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(5.0));
    tree.write("/sys/fs/cgroup/unified/a/memory.max", &gib_text(4));
    assert_eq!(limit(&tree.machine()), by_cgroup(4.0));
}

#[test]
fn a_container_sees_its_own_group_at_the_mount_point() {
    let mount = "36 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "4:memory:/docker/abc\n"),
        ("/proc/self/mountinfo", mount),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", &gib_text(3)),
        ("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", &gib_text(1)),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(3.0));
}

#[test]
fn a_container_with_its_own_namespace_reads_its_root() {
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/\n"),
        ("/proc/self/mountinfo", V2),
        ("/sys/fs/cgroup/memory.max", &gib_text(3)),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(3.0));
    // The hierarchy of the host mounted into it: what is above is an ancestor.
    tree.write("/proc/self/mountinfo", &V2.replacen(" / ", " /../.. ", 1));
    assert_eq!(limit(&tree.machine()), by_cgroup(3.0));
}

#[test]
fn a_parent_that_is_not_mounted_counts_through_the_kernels_own_minimum() {
    let mount = "36 31 0:32 /pod/c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "4:memory:/pod/c\n"),
        ("/proc/self/mountinfo", mount),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT[0]),
        ("/sys/fs/cgroup/memory/memory.stat", "cache 1\nhierarchical_memory_limit 2147483648\n"),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(2.0));
}

#[test]
fn a_mount_point_may_hold_spaces() {
    let mount = r"36 31 0:32 / /mnt/control\040groups rw - cgroup2 cgroup2 rw";
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/my job:1\n"),
        ("/proc/self/mountinfo", mount),
        ("/mnt/control groups/my job:1/memory.max", &gib_text(7)),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(7.0));
}

#[test]
fn a_limit_is_given_with_two_decimals() {
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/\n"),
        ("/proc/self/mountinfo", V2),
        ("/sys/fs/cgroup/memory.max", "1234567890\n"),
    ]);
    assert_eq!(limit(&tree.machine()), by_cgroup(1.15));
}

#[test]
fn a_scheduler_is_asked_only_where_no_group_limits() {
    let slurm = [("SLURM_MEM_PER_NODE", "2048")];
    let tree = Tree::new(&[
        ("/proc/self/cgroup", "0::/job\n"),
        ("/proc/self/mountinfo", V2),
        ("/sys/fs/cgroup/job/memory.max", "max\n"),
    ]);
    assert_eq!(limit(&tree.in_job(&slurm)), (Some(2.0), Some(LimitSource::Slurm)));
    tree.write("/sys/fs/cgroup/job/memory.max", &gib_text(4));
    assert_eq!(limit(&tree.in_job(&slurm)), by_cgroup(4.0));
}

#[test]
fn slurm_allocates_by_node_by_cpu_or_by_gpu() {
    let slurm = |gib| (Some(gib), Some(LimitSource::Slurm));
    assert_eq!(in_env(&[("SLURM_MEM_PER_NODE", "65536")]), slurm(64.0));
    assert_eq!(in_env(&[("SLURM_MEM_PER_NODE", "64G")]), slurm(64.0));
    let cpu = ("SLURM_MEM_PER_CPU", "4096");
    assert_eq!(in_env(&[cpu, ("SLURM_CPUS_ON_NODE", "6")]), slurm(24.0));
    assert_eq!(in_env(&[cpu, ("SLURM_JOB_CPUS_PER_NODE", "8(x2)")]), slurm(32.0));
    let gpu = ("SLURM_MEM_PER_GPU", "10240");
    assert_eq!(in_env(&[gpu, ("SLURM_GPUS_ON_NODE", "2")]), slurm(20.0));
    assert_eq!(in_env(&[gpu, ("SLURM_STEP_GPUS", "1,3,5")]), slurm(30.0));
}

#[test]
fn what_slurm_does_not_say_for_this_node_is_not_guessed() {
    for environment in [
        [("SLURM_MEM_PER_NODE", "0"), ("SLURM_MEM_PER_CPU", "1024")],
        [("SLURM_MEM_PER_NODE", ""), ("SLURM_CPUS_ON_NODE", "4")],
        [("SLURM_MEM_PER_NODE", "all"), ("SLURM_CPUS_ON_NODE", "4")],
        [("SLURM_MEM_PER_CPU", "1024"), ("SLURM_JOB_CPUS_PER_NODE", "8,4")],
        [("SLURM_MEM_PER_CPU", "1024"), ("SLURM_JOB_NUM_NODES", "1")],
        [("SLURM_MEM_PER_GPU", "1024"), ("SLURM_CPUS_ON_NODE", "4")],
        [("SLURM_MEM_PER_CPU", "18446744073709551615"), ("SLURM_CPUS_ON_NODE", "4")],
    ] {
        assert_eq!(in_env(&environment), (None, None), "{environment:?}");
    }
}

#[test]
fn pbs_is_read_with_its_units() {
    let pbs = |gib| (Some(gib), Some(LimitSource::Pbs));
    for (text, gib) in
        [("4294967296", 4.0), ("4gb", 4.0), ("4096MB", 4.0), ("512mw", 4.0), ("1t", 1024.0)]
    {
        assert_eq!(in_env(&[("PBS_RESC_MEM", text)]), pbs(gib), "{text}");
    }
    assert_eq!(in_env(&[("TORQUE_RESC_MEM", "1073741824")]), pbs(1.0));
    for text in ["0", "4xb", "-1", "lots", "99999999999tb"] {
        assert_eq!(in_env(&[("PBS_RESC_MEM", text)]), (None, None), "{text}");
    }
}
