mod hardware;
mod store;
mod text;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::set::merge_within;
use super::stages::{self, Stages};
use super::*;
use crate::Error;
use crate::fs::FileLock;
use crate::fs::small_disk::SmallDisk;
use crate::value::Value;

const SAMPLE: &str = r#"{
  "ippo_train": {
    "note": "by hand",
    "runs": [
      {
        "calls": 18446744073709551615,
        "hardware_id": "hw_3d836072b1cf2b24",
        "run_idx": 0,
        "seconds": 1.25
      },
      {
        "hardware_id": "hw_other",
        "label": null,
        "seconds": 0.1
      }
    ],
    "total_seconds": 1.35
  }
}
"#;

fn entry(seconds: f64, run_idx: Option<u32>, label: Option<&str>) -> NewEntry {
    NewEntry {
        hardware_id: hardware_id().to_owned(),
        seconds,
        run_idx,
        label: label.map(str::to_owned),
        ..NewEntry::default()
    }
}

fn merge(dir: &Path, stage: &str, entry: NewEntry) {
    merge_entries(dir, vec![(stage.to_owned(), entry)]).unwrap();
}

fn load(dir: &Path) -> Stages {
    stages::load(&dir.join(TIMINGS_FILE)).unwrap()
}

fn seconds(dir: &Path, stage: &str) -> Vec<f64> {
    load(dir)[stage].runs().iter().map(RunEntry::seconds).collect()
}

fn json(dir: &Path, name: &str) -> Value {
    Value::parse_json(&fs::read(dir.join(name)).unwrap()).unwrap()
}

#[test]
fn a_first_entry_is_written_in_the_documented_form() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = entry(1.25, Some(0), None);
    run.extra.insert("calls".to_owned(), 3_u64.into());
    merge(&dir.path().join("ippo"), "ippo_train", run);
    let id = hardware_id();
    let expected = format!(
        "{{\n  \"ippo_train\": {{\n    \"runs\": [\n      {{\n        \"calls\": 3,\n        \
         \"hardware_id\": \"{id}\",\n        \"run_idx\": 0,\n        \"seconds\": 1.25\n      \
         }}\n    ],\n    \"total_seconds\": 1.25\n  }}\n}}\n"
    );
    assert_eq!(fs::read_to_string(dir.path().join("ippo/timings.json")).unwrap(), expected);
}

#[test]
fn the_hardware_is_described_once_under_the_hash_of_its_description() {
    let dir = tempfile::tempdir().unwrap();
    merge(dir.path(), "a", entry(1.0, Some(0), None));
    let written = fs::read_to_string(dir.path().join(HARDWARE_FILE)).unwrap();
    let file = Value::parse_json(written.as_bytes()).unwrap();
    let known = file.get("hardware").unwrap().as_object().unwrap();
    assert_eq!(known.keys().collect::<Vec<_>>(), [hardware_id()]);
    assert_eq!(known[hardware_id()], crate::machine::hardware::current().to_value());
    assert_eq!(file.get("schema_version").unwrap().as_u64(), Some(1));
    // Not even its layout changes when the description is there already.
    let layout = file.to_string();
    fs::write(dir.path().join(HARDWARE_FILE), &layout).unwrap();
    merge(dir.path(), "a", entry(1.0, Some(1), None));
    describe_hardware(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join(HARDWARE_FILE)).unwrap(), layout);
}

#[test]
fn hardware_is_described_without_a_time_and_once_under_any_id() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("new");
    describe_hardware(&dir).unwrap();
    let path = dir.join(HARDWARE_FILE);
    let ours = fs::read_to_string(&path).unwrap();
    assert!(ours.contains(hardware_id()));
    assert!(!dir.join(TIMINGS_FILE).exists());
    let theirs = ours.replace(hardware_id(), "hw_theirs");
    fs::write(&path, &theirs).unwrap();
    describe_hardware(&dir).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
}

#[test]
fn hardware_of_others_and_their_keys_stay() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = r#"{"hardware": {"hw_x": {"memory": {"limit_gib": 64.0}}}, "by": "other"}"#;
    fs::write(dir.path().join(HARDWARE_FILE), theirs).unwrap();
    merge(dir.path(), "a", entry(1.0, Some(0), None));
    let file = json(dir.path(), HARDWARE_FILE);
    assert_eq!(file.get_dotted("hardware.hw_x.memory.limit_gib").unwrap().as_f64(), Some(64.0));
    assert_eq!(file.get("by").unwrap().as_str(), Some("other"));
    assert_eq!(file.get("hardware").unwrap().as_object().unwrap().len(), 2);
    assert_eq!(file.get("schema_version").unwrap().as_u64(), Some(1));
}

#[test]
fn hardware_of_a_newer_version_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let newer = r#"{"hardware": {}, "schema_version": 2}"#;
    fs::write(dir.path().join(HARDWARE_FILE), newer).unwrap();
    let entries = vec![("a".to_owned(), entry(1.0, None, None))];
    let error = merge_entries(dir.path(), entries).unwrap_err().to_string();
    assert!(error.contains("timings_hardware.json: has the schema version 2"), "{error}");
    assert_eq!(fs::read_to_string(dir.path().join(HARDWARE_FILE)).unwrap(), newer);
    assert!(!dir.path().join(TIMINGS_FILE).exists());
}

#[test]
fn a_file_of_another_program_comes_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), SAMPLE).unwrap();
    merge(dir.path(), "zz", entry(1.0, None, None));
    let mut file = json(dir.path(), TIMINGS_FILE);
    file.as_object_mut().unwrap().remove("zz");
    assert_eq!(file.to_json_pretty() + "\n", SAMPLE);
}

#[test]
fn a_later_run_that_comes_first_is_kept_when_run_0_follows() {
    let dir = tempfile::tempdir().unwrap();
    for run_idx in [2, 1, 0] {
        merge(dir.path(), "ippo_run", entry(f64::from(run_idx) + 0.5, Some(run_idx), None));
    }
    assert_eq!(seconds(dir.path(), "ippo_run"), [2.5, 1.5, 0.5]);
    assert!((load(dir.path())["ippo_run"].total_seconds() - 4.5).abs() < 1e-12);
}

#[test]
fn an_entry_replaces_the_one_of_its_run_and_label_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let entries = [(Some(0), None), (Some(0), Some("x")), (None, Some("x")), (None, Some("y"))];
    for (run_idx, label) in entries {
        merge(dir.path(), "a", entry(1.0, run_idx, label));
    }
    assert_eq!(seconds(dir.path(), "a"), [1.0; 4]);
    for (place, (run_idx, label)) in entries.into_iter().enumerate() {
        merge(dir.path(), "a", entry(2.0, run_idx, label));
        let expected: Vec<_> = (0..4).map(|at| if at <= place { 2.0 } else { 1.0 }).collect();
        assert_eq!(seconds(dir.path(), "a"), expected);
    }
}

#[test]
fn entries_without_run_and_label_are_the_same_only_when_all_of_them_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut with_extra = entry(1.0, None, None);
    with_extra.extra.insert("n".to_owned(), 1_u64.into());
    for run in [entry(1.0, None, None), entry(2.0, None, None), with_extra.clone()] {
        merge(dir.path(), "a", run);
    }
    assert_eq!(seconds(dir.path(), "a").len(), 3);
    merge(dir.path(), "a", with_extra);
    assert_eq!(seconds(dir.path(), "a").len(), 3);
}

#[test]
fn eight_writers_at_once_lose_nothing_and_a_reader_always_sees_whole_files() {
    let dir = tempfile::tempdir().unwrap();
    let writing = AtomicBool::new(true);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut most = 0;
            while writing.load(Ordering::Relaxed) {
                let seen: usize = load(dir.path()).values().map(|stage| stage.runs().len()).sum();
                assert!(seen >= most);
                most = seen;
            }
        });
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let dir = dir.path();
                scope.spawn(move || {
                    for count in 0..50 {
                        merge(dir, "a_run", entry(1.0, Some(writer * 50 + count), None));
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        writing.store(false, Ordering::Relaxed);
        reader.join().unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    });
    let mut runs: Vec<_> = load(dir.path())["a_run"].runs().iter().map(RunEntry::run_idx).collect();
    runs.sort_unstable();
    assert_eq!(runs, (0..400).map(Some).collect::<Vec<_>>());
}

#[test]
fn a_lock_that_stays_held_is_an_error_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let _lock = FileLock::acquire(&dir.path().join(LOCK_FILE), Duration::ZERO).unwrap();
    let entries = vec![("a".to_owned(), entry(1.0, None, None))];
    let error = merge_within(
        dir.path(),
        entries,
        SaveOptions::default().lock_timeout(Duration::from_millis(20)),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert!(error.to_string().contains("timings.json.lock"), "{error}");
    assert!(!dir.path().join(TIMINGS_FILE).exists());
}

#[test]
fn a_missing_file_holds_no_stages() {
    let dir = tempfile::tempdir().unwrap();
    assert!(load(dir.path()).is_empty());
}

#[test]
fn a_faulty_file_is_an_error_with_file_stage_and_entry_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(TIMINGS_FILE);
    let run = |fields: &str| {
        let good = r#"{"hardware_id": "hw_x", "seconds": 1}"#;
        format!(r#"{{"train": {{"runs": [{good}, {{{fields}}}]}}}}"#)
    };
    let cases = [
        (String::new(), "is empty"),
        (" \n".to_owned(), "is empty"),
        (SAMPLE[..SAMPLE.len() / 2].to_owned(), "is not whole JSON"),
        ("[]".to_owned(), "holds an array"),
        (r#"{"train": 3}"#.to_owned(), "stage `train` is a number"),
        (r#"{"train": {}}"#.to_owned(), "stage `train` has no array `runs`"),
        (
            r#"{"train": {"runs": {}}}"#.to_owned(),
            "stage `train` has an object where an array `runs` is expected",
        ),
        (run(r#""seconds": 1"#), "stage `train` run entry 1 has no string `hardware_id`"),
        (run(r#""hardware_id": "hw_x""#), "run entry 1 has no number `seconds`"),
        (run(r#""hardware_id": "hw_x", "seconds": -0.5"#), "run entry 1 has `seconds` -0.5"),
        (run(r#""hardware_id": "hw_x", "seconds": "NaN""#), "run entry 1 has no number"),
        (run(r#""hardware_id": "hw_x", "seconds": NaN"#), "is not whole JSON"),
        (run(r#""hardware_id": "hw_x", "seconds": 1, "ram_gb": 1"#), "retired key `ram_gb`"),
        (run(r#""hardware_id": "x", "seconds": 1, "memory_gib": 1"#), "key `memory_gib`"),
    ];
    for (text, expected) in cases {
        fs::write(&path, &text).unwrap();
        let entries = vec![("a".to_owned(), entry(1.0, None, None))];
        let error = merge_entries(dir.path(), entries).unwrap_err().to_string();
        assert!(error.contains("timings.json: ") && error.contains(expected), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_faulty_entry_is_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let with = |key: &str| {
        let mut run = entry(1.0, None, None);
        run.extra.insert(key.to_owned(), 1_u64.into());
        run
    };
    let faulty = [
        (entry(-1.0, None, None), "has `seconds` -1"),
        (entry(f64::NAN, None, None), "has `seconds` NaN"),
        (entry(f64::INFINITY, None, None), "has `seconds` inf"),
        (with("total_ram_gib"), "`total_ram_gib`"),
        (with("seconds"), "`seconds`, which is one of the entry's own"),
    ];
    for (run, expected) in faulty {
        let entries = vec![("fine".to_owned(), entry(1.0, None, None)), ("bad".to_owned(), run)];
        let error = merge_entries(&dir.path().join("ippo"), entries).unwrap_err().to_string();
        assert!(error.contains("stage `bad`") && error.contains(expected), "{error}");
    }
    assert!(!dir.path().join("ippo").exists());
}

#[test]
fn a_full_disk_is_an_error_and_keeps_the_old_times() {
    let Some(disk) = SmallDisk::mount() else { return };
    merge(disk.path(), "a", entry(1.0, Some(0), None));
    let before = fs::read_to_string(disk.join(TIMINGS_FILE)).unwrap();
    let mut large = entry(1.0, Some(1), None);
    large.extra.insert("text".to_owned(), "x".repeat(100_000).into());
    let error = merge_entries(disk.path(), vec![("a".to_owned(), large)]).unwrap_err();
    assert!(error.to_string().contains("timings.json"), "{error}");
    assert_eq!(fs::read_to_string(disk.join(TIMINGS_FILE)).unwrap(), before);
}

#[test]
fn what_a_killed_writer_left_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let leftover = dir.path().join(".timings.json.1-0-0.rle-tmp");
    fs::write(&leftover, "{").unwrap();
    merge(dir.path(), "a", entry(1.0, None, None));
    assert!(!leftover.exists());
}
