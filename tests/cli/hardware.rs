//! What records and times say about the hardware, and about the job.

use rle::hardware::{Hardware, Machine};
use serde_json::{Value, json};

use crate::support::{Lab, read_json, text};

#[test]
fn records_attempts_and_times_name_the_same_described_hardware() {
    let lab = Lab::new();
    lab.run(&["--algorithms", "alpha,owner"]).ok();
    let record = lab.record("alpha_0");
    let id = text(&record["hardware_id"]);
    assert_eq!(record["attempts"][0]["hardware_id"], record["hardware_id"]);
    for (times, stage) in [
        ("alpha/timings.json", "alpha_run"),
        ("alpha/timings.json", "train"),
        ("owner/timings.json", "owner_run"),
        ("_prepared/own_step/timings.json", "own_step_prepare"),
    ] {
        let times = lab.out(times);
        assert_eq!(read_json(&times)[stage]["runs"][0]["hardware_id"], id.as_str(), "{stage}");
        let described = read_json(&times.with_file_name("timings_hardware.json"));
        let described = described["hardware"].as_object().unwrap();
        assert_eq!(described.keys().collect::<Vec<_>>(), [&id]);
        let here = Hardware::of(&Machine::this().without_gpus());
        let here = serde_json::to_value(here).unwrap();
        assert_eq!(described[&id]["cpu"], here["cpu"]);
        assert!(described[&id]["gpus"].is_array());
    }
}

#[test]
fn a_schedulers_job_stands_in_the_attempt_and_not_in_the_hardware() {
    let lab = Lab::new();
    let slurm = [
        ("SLURM_JOB_ID", "1234"),
        ("SLURM_ARRAY_JOB_ID", "1230"),
        ("SLURM_ARRAY_TASK_ID", "4"),
        ("SLURM_JOB_PARTITION", "gpu-short"),
        ("SLURMD_NODENAME", "node0017"),
        ("SLURM_RESTART_COUNT", "1"),
    ];
    lab.run_with(&["--algorithms", "alpha"], &slurm).ok();
    let attempt = lab.record("alpha_0")["attempts"][0].clone();
    assert_eq!(attempt["job"], "slurm 1230_4");
    let wanted = json!({
        "scheduler": "slurm", "job_id": "1234", "array_job_id": "1230", "array_task": "4",
        "node": "node0017", "queue": "gpu-short", "restarts": 1,
    });
    assert_eq!(attempt["scheduler"], wanted);

    let pbs = [("PBS_JOBID", "17[3].server"), ("PBS_ARRAY_INDEX", "3"), ("PBS_QUEUE", "workq")];
    lab.run_with(&["--algorithms", "beta"], &pbs).ok();
    let attempt = lab.record("beta_0")["attempts"][0].clone();
    assert_eq!(attempt["job"], "pbs 17[3].server");
    let wanted = json!({
        "scheduler": "pbs", "job_id": "17[3].server", "array_job_id": "17[].server",
        "array_task": "3", "node": attempt["host"], "queue": "workq",
    });
    assert_eq!(attempt["scheduler"], wanted);

    // Another node and another job are the same hardware.
    let described = read_json(&lab.out("alpha/timings_hardware.json")).to_string();
    assert!(!described.contains("1234") && !described.contains("node0017"), "{described}");
    assert_eq!(lab.record("alpha_0")["hardware_id"], lab.record("beta_0")["hardware_id"]);
    lab.run(&["--algorithms", "alpha", "--rerun", "alpha:0"]).ok();
    assert_eq!(lab.record("alpha_0")["attempts"][0].get("scheduler"), None);
    assert_eq!(lab.record("alpha_0")["attempts"][0]["job"], Value::Null);
}

#[test]
fn the_memory_that_a_job_was_given_is_part_of_the_hardware() {
    let lab = Lab::new();
    let given = |mib: &'static str| [("SLURM_MEM_PER_NODE", mib)];
    lab.run_with(&["--algorithms", "alpha"], &given("2048")).ok();
    let id = text(&lab.record("alpha_0")["hardware_id"]);
    let memory = &read_json(&lab.out("alpha/timings_hardware.json"))["hardware"][&id]["memory"];
    if memory["limit_source"] == "cgroup" {
        eprintln!("skipped: a control group limits the memory of these tests");
        return;
    }
    assert_eq!(*memory, json!({ "limit_gib": 2.0, "limit_source": "slurm" }));
    lab.run_with(&["--algorithms", "alpha", "--rerun", "alpha:0"], &given("4096")).ok();
    assert_ne!(text(&lab.record("alpha_0")["hardware_id"]), id);
}
