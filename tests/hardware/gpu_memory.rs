//! The lines about the memory of the GPUs, through a stand-in for NVIDIA's library.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::gpus::{A16, A100, library};

const DIVIDED: &str = "GPU-c1|NVIDIA A100|3|40960|5120|1215|1410|6912|MIG-1/A100 1g.5gb/4864";

/// What the program logs, without the levels' padding.
fn logged(kind: &'static str, words: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_hardware"))
        .arg("memory")
        .args(words)
        .env_clear()
        .env("LD_LIBRARY_PATH", library(kind))
        .envs(environment.iter().copied())
        .output()
        .expect("the program can be started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    stderr.lines().map(|line| line.trim().replace("rle::profile: ", "")).collect()
}

#[test]
fn one_gpu_has_one_line_of_the_documented_form() {
    let environment = [("FAKE_GPUS", A16), ("FAKE_USED", "GPU-a1=3072/1536")];
    assert_eq!(
        logged("whole", &[], &environment),
        [
            "INFO [GPU Memory] before_train, process memory (GB): 1.50, \
             device memory used/total (GB): 3.00/15.00",
            "WARN [GPU Memory] after_train\\n, process memory (GB): 1.50, \
             device memory used/total (GB): 3.00/15.00",
        ]
    );
}

#[test]
fn visible_gpus_are_numbered_as_cuda_counts_them() {
    let gpus = format!("{A16};{A100}");
    let environment = [
        ("FAKE_GPUS", gpus.as_str()),
        ("FAKE_USED", "GPU-a1=1024/0,GPU-b1=20480/10240"),
        ("CUDA_VISIBLE_DEVICES", "1,0"),
        ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
    ];
    assert_eq!(
        logged("whole", &["probe"], &environment)[..2],
        [
            "INFO [GPU Memory] before_train, GPU 0, process memory (GB): 10.00, \
             memory allocated (GB): 1.00, memory reserved (GB): 2.00, \
             device memory used/total (GB): 20.00/40.00",
            "INFO [GPU Memory] before_train, GPU 1, process memory (GB): 0.00, \
             memory allocated (GB): 2.00, memory reserved (GB): 4.00, \
             device memory used/total (GB): 1.00/15.00",
        ]
    );
}

#[test]
fn of_a_divided_gpu_the_instance_counts() {
    let environment = [("FAKE_GPUS", DIVIDED), ("FAKE_USED", "GPU-c1=9000/1,MIG-1=1024/512")];
    assert_eq!(
        logged("whole", &[], &environment)[0],
        "INFO [GPU Memory] before_train, process memory (GB): 0.50, \
         device memory used/total (GB): 1.00/4.75"
    );
}

#[test]
fn without_a_gpu_there_is_a_quiet_line() {
    let quiet = |kind, environment: &[(&str, &str)], reason: &str| {
        let lines = logged(kind, &[], environment);
        let expected = ["before_train", "after_train\\n"]
            .map(|head| format!("DEBUG [GPU Memory] {head}, no GPU: {reason}"));
        assert_eq!(lines, expected);
    };
    quiet("whole", &[], "no GPU is visible");
    quiet("whole", &[("FAKE_FAILS", "nvmlInit_v2=9")], "there is no management library");
    let none = [("FAKE_GPUS", A16), ("CUDA_VISIBLE_DEVICES", "-1")];
    quiet("whole", &none, "CUDA_VISIBLE_DEVICES lists none");
}

#[test]
fn what_the_driver_does_not_tell_is_unknown() {
    let unknown = "process memory (GB): unknown, device memory used/total (GB): unknown/unknown";
    for environment in [
        [("FAKE_GPUS", A16), ("FAKE_FAILS", "all")],
        [("FAKE_GPUS", A16), ("FAKE_FAILS", "nvmlDeviceGetHandleByUUID")],
        [
            ("FAKE_GPUS", A16),
            ("FAKE_FAILS", "nvmlDeviceGetMemoryInfo_v2,nvmlDeviceGetComputeRunningProcesses_v3"),
        ],
    ] {
        let line = &logged("whole", &[], &environment)[0];
        let told = line.ends_with(unknown) || line.contains("no GPU: ");
        assert!(told, "{environment:?}: {line}");
    }
    // An older driver has neither function.
    assert!(logged("old", &[], &[("FAKE_GPUS", A16)])[0].ends_with(unknown));
    assert!(logged("empty", &[], &[])[0].starts_with("DEBUG [GPU Memory] before_train, no GPU: "));
}

#[test]
fn a_frameworks_own_figures_need_no_driver() {
    assert_eq!(
        logged("empty", &["probe"], &[])[0],
        "INFO [GPU Memory] before_train, memory allocated (GB): 1.00, memory reserved (GB): 2.00"
    );
}

#[test]
fn a_driver_that_hangs_is_waited_for_once() {
    library("whole");
    let began = Instant::now();
    let environment =
        [("FAKE_GPUS", A16), ("FAKE_HANGS", "nvmlDeviceGetComputeRunningProcesses_v3")];
    let lines = logged("whole", &[], &environment);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert!(
        lines.iter().all(|line| line.ends_with("has not answered within 2s")) && lines.len() == 2,
        "{lines:?}"
    );
}
