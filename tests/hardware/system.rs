//! This machine, beside the programs that describe it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the program `hardware` prints when it is started by these words.
fn described(words: &[&str]) -> Value {
    let program = env!("CARGO_BIN_EXE_hardware");
    let (first, rest) =
        words.split_first().map_or((program, &[][..]), |(first, rest)| (*first, rest));
    let mut command = Command::new(first);
    command.args(rest).env("CUDA_VISIBLE_DEVICES", "");
    if !words.is_empty() {
        command.arg(program);
    }
    // A scheduler around these tests would put its own limits in.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("SLURM_") || name.contains("RESC_MEM") {
            command.env_remove(&*name);
        }
    }
    let output = command.output().expect("the program can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a line of JSON")
}

/// What a program prints; none where it is not there.
fn printed(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).env("LC_ALL", "C").output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => {
            crate::skip(words[0], "it is not there");
            None
        }
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn threads_are_those_that_nproc_counts() {
    let Some(nproc) = printed(&["env", "-u", "OMP_NUM_THREADS", "nproc"]) else { return };
    let threads = &described(&[])["hardware"]["cpu"]["logical_threads_available"];
    assert_eq!(threads.to_string(), nproc.trim());
}

#[test]
fn name_cores_and_clocks_are_those_of_lscpu() {
    let Some(text) = printed(&["lscpu"]) else { return };
    let fields: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let hardware = described(&[]);
    let cpu = &hardware["hardware"]["cpu"];
    let name = cpu["processor_name"].as_str().expect("a name");
    assert!(name.contains(&squeezed(fields["Model name"])), "{name} and {}", fields["Model name"]);
    // Beside a clock range of its own it shows none of a guest's.
    if let (Some(min), Some(max)) = (fields.get("CPU min MHz"), fields.get("CPU max MHz")) {
        let mhz = |text: &str| text.parse::<f64>().expect("a number");
        let close =
            |ours: &Value, theirs: f64| (ours.as_f64().unwrap_or(-1.0) - theirs).abs() < 0.01;
        assert!(close(&cpu["min_clock_mhz"], mhz(min)), "{cpu} and {min}");
        if cpu["clock_source"] == "linux_cpufreq" {
            assert!(close(&cpu["max_clock_mhz"], mhz(max)), "{cpu} and {max}");
        }
    }
    let Some(cores) = cores_of_lscpu() else { return };
    assert_eq!(cpu["physical_cores_available"], cores.len());
}

/// The cores of the CPUs that these tests may run on.
fn cores_of_lscpu() -> Option<BTreeSet<(String, String)>> {
    let allowed = printed(&["taskset", "-cp", &std::process::id().to_string()])?;
    let allowed = allowed.rsplit(' ').next().expect("a list").trim().to_owned();
    let is_allowed = |cpu: u32| {
        allowed.split(',').any(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().expect("a number");
            (number(first)..=number(last)).contains(&cpu)
        })
    };
    let table = printed(&["lscpu", "-p=CPU,CORE,SOCKET"])?;
    let rows = table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].parse().expect("a number"), (fields[1].to_owned(), fields[2].to_owned()))
    });
    Some(rows.filter(|(cpu, _)| is_allowed(*cpu)).map(|(_, core)| core).collect())
}

#[test]
fn under_taskset_one_cpu_is_there() {
    let process = std::process::id().to_string();
    let Some(allowed) = printed(&["taskset", "-cp", &process]) else { return };
    let last = allowed.trim().rsplit([' ', ',', '-']).next().expect("a number").to_owned();
    let hardware = described(&["taskset", "-c", &last]);
    let cpu = &hardware["hardware"]["cpu"];
    assert_eq!(cpu["logical_threads_available"], 1);
    assert_eq!(cpu["physical_cores_available"], 1);
    let whole = described(&[]);
    let threads = whole["hardware"]["cpu"]["logical_threads_available"].as_u64();
    assert_eq!(threads > Some(1), whole["id"] != hardware["id"]);
}

/// A group of the first version's memory controller; none where none can be made.
struct Group(std::path::PathBuf);

impl Group {
    fn new(bytes: u64) -> Option<Self> {
        for (root, file) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let path = Path::new(root).join(format!("rle-test-{}", std::process::id()));
            if fs::create_dir(&path).is_err() {
                continue;
            }
            let group = Self(path);
            if fs::write(group.0.join(file), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn inside_a_memory_limited_group_its_limit_is_there() {
    let Some(group) = Group::new(3 << 29) else {
        eprintln!("skipped: this machine lets nobody make a memory-limited control group");
        return;
    };
    let enter = "echo $$ > \"$0/cgroup.procs\" && exec \"$1\"";
    let path = group.0.to_str().expect("a path of text");
    let memory = described(&["sh", "-c", enter, path]);
    let memory = &memory["hardware"]["memory"];
    assert_eq!(memory["limit_gib"], 1.5, "{memory}");
    assert_eq!(memory["limit_source"], "cgroup");
}

/// The smallest file of this process's own groups, by a shell.
#[test]
fn outside_any_limit_there_is_none() {
    let script = "p=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup); \
                  while :; do cat /sys/fs/cgroup/memory$p/memory.limit_in_bytes; \
                  [ \"$p\" = / ] || [ -z \"$p\" ] && break; p=${p%/*}; done";
    if !Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes").is_file() {
        eprintln!("skipped: this machine has no memory controller of the first version");
        return;
    }
    let Some(text) = printed(&["sh", "-c", script]) else { return };
    let limits = text.lines().map(|line| line.parse::<u64>().expect("a number"));
    let smallest = limits.filter(|bytes| *bytes < 1 << 62).min();
    let memory = described(&[])["hardware"]["memory"]["limit_gib"].as_f64();
    match smallest {
        None => assert_eq!(memory, None),
        #[expect(clippy::cast_precision_loss, reason = "compared with 2 decimals")]
        Some(bytes) => {
            let gib = bytes as f64 / f64::from(1 << 30);
            assert!((memory.expect("a limit") - gib).abs() < 0.006, "{memory:?} and {gib}");
        }
    }
}

/// Printed, not judged: a machine under load is slow.
#[test]
fn how_long_it_takes_is_said() {
    let mut milliseconds: Vec<f64> =
        (0..9).map(|_| described(&[])["seconds"].as_f64().expect("a time") * 1e3).collect();
    milliseconds.sort_by(f64::total_cmp);
    println!("described without a GPU in {:.2} ms (median of 9 processes)", milliseconds[4]);
}
