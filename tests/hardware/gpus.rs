//! GPUs through the real loader of libraries and a stand-in for NVIDIA's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const A16: &str = "GPU-a1|NVIDIA A16|1|15356|128|6251|1755|1280|-";
pub(crate) const A100: &str = "GPU-b1|NVIDIA A100-SXM4-40GB|2|40960|5120|1215|1410|6912|-";
const DIVIDED: &str = "GPU-c1|NVIDIA A100-SXM4-40GB|3|40960|5120|1215|1410|6912|\
                       MIG-1/NVIDIA A100-SXM4-40GB MIG 1g.5gb/4864,\
                       MIG-2/NVIDIA A100-SXM4-40GB MIG 2g.10gb/9856";

/// A directory in which the loader finds the stand-in.
pub(crate) fn library(kind: &'static str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let root = BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvml");
        for kind in ["whole", "old", "empty"] {
            build(&root, kind);
        }
        root
    });
    root.join(kind).join("lib")
}

fn build(root: &Path, kind: &str) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nvml/Cargo.toml");
    let target = root.join(kind);
    let features = if kind == "whole" { "" } else { kind };
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--features", features, "--manifest-path"])
        .arg(manifest)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("the cargo that runs this test can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lib = target.join("lib");
    fs::create_dir_all(&lib).expect("a directory");
    fs::copy(target.join("debug/libnvidia_ml.so"), lib.join("libnvidia-ml.so.1"))
        .expect("a copied library");
}

/// A description as the program `hardware` prints it.
struct Described {
    gpus: Value,
    warnings: Vec<String>,
}

struct Driver {
    command: Command,
    bin: tempfile::TempDir,
}

impl Driver {
    /// GPUs, and the kind of library that knows them.
    fn new(kind: &'static str, gpus: &[&str]) -> Self {
        let bin = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hardware"));
        command
            .env_clear()
            .env("PATH", bin.path())
            .env("LD_LIBRARY_PATH", library(kind))
            .env("FAKE_GPUS", gpus.join(";"));
        Self { command, bin }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Waits no longer than that.
    fn patience(mut self, milliseconds: &str) -> Self {
        self.command.arg(milliseconds);
        self
    }

    /// A program `nvidia-smi` that does this.
    fn smi(self, script: &str) -> Self {
        let path = self.bin.path().join("nvidia-smi");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a written file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable file");
        self
    }

    fn describe(mut self) -> Described {
        let output = self.command.output().expect("the program can be started");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let line: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        let warnings = stderr.lines().filter(|line| line.contains("WARN"));
        Described {
            gpus: line["hardware"]["gpus"].clone(),
            warnings: warnings.map(str::to_owned).collect(),
        }
    }

    /// What is described without a warning.
    fn gpus(self) -> Value {
        let described = self.describe();
        assert_eq!(described.warnings, [""; 0]);
        described.gpus
    }

    /// The one warning that comes with no GPUs.
    fn warning(self) -> String {
        let described = self.describe();
        assert_eq!(described.gpus, json!([]));
        let [warning] = &described.warnings[..] else { panic!("{:?}", described.warnings) };
        warning.clone()
    }
}

fn a16(count: u32) -> Value {
    json!({
        "count": count, "name": "NVIDIA A16", "memory_gib": 15.0, "memory_bus_width_bits": 128,
        "max_memory_clock_mhz": 6251.0, "peak_memory_bandwidth_gb_s": 200.03,
    })
}

fn a100(count: u32) -> Value {
    json!({
        "count": count, "name": "NVIDIA A100-SXM4-40GB", "memory_gib": 40.0,
        "memory_bus_width_bits": 5120, "max_memory_clock_mhz": 1215.0,
        "peak_memory_bandwidth_gb_s": 1555.2,
    })
}

#[test]
fn a_machine_has_from_none_to_eight_gpus() {
    assert_eq!(Driver::new("whole", &[]).gpus(), json!([]));
    assert_eq!(Driver::new("whole", &[A16]).gpus(), json!([a16(1)]));
    let eight: Vec<String> = (0..8)
        .map(|n| A16.replace("a1|", &format!("a{n}|")).replace("|1|", &format!("|{n}|")))
        .collect();
    let eight: Vec<&str> = eight.iter().map(String::as_str).collect();
    assert_eq!(Driver::new("whole", &eight).gpus(), json!([a16(8)]));
    let three = Driver::new("whole", &eight).with("CUDA_VISIBLE_DEVICES", "7,0,3");
    assert_eq!(three.gpus(), json!([a16(3)]));
}

#[test]
fn gpus_of_several_models_are_grouped_and_chosen_by_every_kind_of_entry() {
    let all = [A16, A100];
    let visible = |list: &str, order: &str| {
        let driver = Driver::new("whole", &all).with("CUDA_VISIBLE_DEVICES", list);
        driver.with("CUDA_DEVICE_ORDER", order)
    };
    assert_eq!(Driver::new("whole", &all).gpus(), json!([a100(1), a16(1)]));
    assert_eq!(visible("0", "PCI_BUS_ID").gpus(), json!([a16(1)]));
    assert_eq!(visible("GPU-b", "PCI_BUS_ID").gpus(), json!([a100(1)]));
    assert_eq!(visible("0,1", "FASTEST_FIRST").gpus(), json!([a100(1), a16(1)]));
    let guessed = visible("0", "FASTEST_FIRST").describe();
    assert_eq!(guessed.gpus, json!([a100(1)]));
    assert!(guessed.warnings[0].contains("CUDA_DEVICE_ORDER=PCI_BUS_ID"), "{guessed:?}");
}

impl std::fmt::Debug for Described {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with {:?}", self.gpus, self.warnings)
    }
}

#[test]
fn an_instance_of_a_divided_gpu_is_described_by_itself() {
    let first =
        json!([{"count": 1, "name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "memory_gib": 4.75}]);
    let second =
        json!([{"count": 1, "name": "NVIDIA A100-SXM4-40GB MIG 2g.10gb", "memory_gib": 9.63}]);
    let visible =
        |list: &str| Driver::new("whole", &[A16, DIVIDED]).with("CUDA_VISIBLE_DEVICES", list);
    assert_eq!(visible("MIG-2").gpus(), second);
    assert_eq!(visible("MIG-1,MIG-2").gpus(), first);
    assert_eq!(visible("GPU-c1").gpus(), first);
    assert_eq!(visible("GPU-a1").gpus(), json!([a16(1)]));
    assert_eq!(Driver::new("whole", &[A16, DIVIDED]).gpus(), first);
}

#[test]
fn no_driver_is_woken_up_for_no_gpus() {
    for list in ["", "-1", "NoDevFiles"] {
        let driver = Driver::new("whole", &[A16]).with("CUDA_VISIBLE_DEVICES", list);
        assert_eq!(driver.with("FAKE_FAILS", "nvmlInit_v2").gpus(), json!([]), "{list}");
    }
}

#[test]
fn a_call_that_fails_leaves_its_own_fields_out() {
    for (call, fields) in [
        ("nvmlDeviceGetName", &["name"][..]),
        ("nvmlDeviceGetMemoryInfo_v2", &["memory_gib"]),
        ("nvmlDeviceGetMemoryBusWidth", &["memory_bus_width_bits", "peak_memory_bandwidth_gb_s"]),
        ("nvmlDeviceGetMaxClockInfo", &["max_memory_clock_mhz", "peak_memory_bandwidth_gb_s"]),
        ("nvmlDeviceGetUUID", &[]),
        ("nvmlDeviceGetPciInfo_v3", &[]),
        ("nvmlDeviceGetNumGpuCores", &[]),
        ("nvmlDeviceGetMigMode", &[]),
        ("nvmlDeviceGetMaxMigDeviceCount", &[]),
        ("nvmlSystemGetDriverVersion", &[]),
        ("nvmlShutdown", &[]),
    ] {
        let mut wanted = a16(1);
        for field in fields {
            wanted.as_object_mut().expect("an object").remove(*field);
        }
        let driver = Driver::new("whole", &[A16]).with("FAKE_FAILS", call);
        assert_eq!(driver.gpus(), json!([wanted]), "{call}");
    }
}

#[test]
fn a_driver_that_fails_is_one_warning_and_no_gpus() {
    for (fails, word) in [
        ("nvmlInit_v2", "the management library failed"),
        ("nvmlInit_v2=18", "the management library failed"),
        ("nvmlDeviceGetCount_v2", "cannot be counted"),
        ("nvmlDeviceGetHandleByIndex_v2", "GPU 0 cannot be opened"),
        ("all", "cannot be counted"),
    ] {
        let warning = Driver::new("whole", &[A16]).with("FAKE_FAILS", fails).warning();
        assert!(warning.contains(word), "{fails}: {warning}");
    }
}

/// Machines without a GPU have the library too, as in an image that all nodes share.
#[test]
fn a_library_without_a_driver_is_a_machine_without_gpus() {
    let driver = Driver::new("whole", &[A16]).with("FAKE_FAILS", "nvmlInit_v2=9");
    assert_eq!(driver.smi("exit 9").gpus(), json!([]));
}

#[test]
fn a_library_of_an_older_driver_tells_what_it_can() {
    let mut wanted = a16(1);
    wanted.as_object_mut().expect("an object").remove("memory_gib");
    assert_eq!(Driver::new("old", &[A16]).gpus(), json!([wanted]));
    let warning = Driver::new("empty", &[A16]).warning();
    assert!(warning.contains("the management library failed"), "{warning}");
}

#[test]
fn a_driver_that_hangs_is_waited_for_no_longer_than_the_bound() {
    for call in ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetMemoryInfo_v2"] {
        let began = Instant::now();
        let driver = Driver::new("whole", &[A16]).with("FAKE_HANGS", call).patience("100");
        // The program would ask the same driver, and is not started.
        let warning = driver.smi("echo GPU-a, 00000000:01:00.0, 1024, N/A, wrong").warning();
        assert!(warning.contains("has not answered within 100ms"), "{warning}");
        assert!(began.elapsed() < Duration::from_secs(20), "{call}");
    }
}

const LINE: &str = "echo 'GPU-a1, 00000000:01:00.0, 15356, [N/A], NVIDIA A16'";

#[test]
fn without_a_library_the_program_tells_name_and_memory() {
    let without = || Driver::new("whole", &[]).with("LD_LIBRARY_PATH", "/no/such/directory");
    let wanted = json!([{"count": 1, "name": "NVIDIA A16", "memory_gib": 15.0}]);
    assert_eq!(without().gpus(), json!([]));
    assert_eq!(without().smi(LINE).gpus(), wanted);
    let none = without().smi(LINE).with("CUDA_VISIBLE_DEVICES", "GPU-b");
    assert_eq!(none.gpus(), json!([]));
    assert_eq!(without().smi("echo No devices were found; exit 0").gpus(), json!([]));
    let warning = without().smi("echo driver mismatch; exit 15").warning();
    assert!(warning.contains("nvidia-smi failed (exit status: 15)"), "{warning}");
    let warning = without().smi("echo what").warning();
    assert!(warning.contains("a line of another form: what"), "{warning}");
}

#[test]
fn a_library_that_fails_leaves_the_word_to_the_program() {
    let driver = Driver::new("whole", &[A16]).with("FAKE_FAILS", "nvmlInit_v2").smi(LINE);
    let wanted = json!([{"count": 1, "name": "NVIDIA A16", "memory_gib": 15.0}]);
    assert_eq!(driver.gpus(), wanted);
}

#[test]
fn a_program_that_hangs_is_killed_at_the_bound() {
    let without = Driver::new("whole", &[]).with("LD_LIBRARY_PATH", "/no/such/directory");
    let began = Instant::now();
    // It stops itself, and only a kill gets through to it.
    let warning = without.patience("200").smi("kill -STOP $$").warning();
    assert!(warning.contains("has not ended within"), "{warning}");
    assert!(began.elapsed() < Duration::from_secs(20));
}
