//! Descriptions of hardware beside the times.

use std::fs;
use std::path::Path;

use crate::timings::*;
use crate::value::Value;

const THEIRS: &str = r#"{"memory": {"limit_gib": 64.004}, "gpus": []}"#;

fn put(dir: &Path, hardware: &str, runs: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(HARDWARE_FILE), format!("{{\"hardware\": {hardware}}}")).unwrap();
    fs::write(dir.join(TIMINGS_FILE), format!("{{\"a\": {{\"runs\": [{runs}]}}}}")).unwrap();
}

fn ids(timings: &Timings) -> Vec<&str> {
    timings.hardware().map(|(id, _)| id).collect()
}

#[test]
fn descriptions_travel_with_the_times_and_entries_without_one_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let runs = r#"{"hardware_id": "hw_nowhere", "run_idx": 1, "seconds": 1}"#;
    put(&from, &format!("{{\"hw_x\": {THEIRS}, \"hw_unused\": {{}}}}"), runs);
    Timings::load(&from).unwrap().save(&to).unwrap();
    let timings = Timings::load(&to).unwrap();
    assert_eq!(ids(&timings), ["hw_unused", "hw_x"]);
    let text = fs::read_to_string(to.join(HARDWARE_FILE)).unwrap();
    assert!(text.contains(THEIRS) && text.contains("\"schema_version\": 1"), "{text}");
    assert_eq!(timings.stage("a").unwrap().runs()[0].hardware_id(), "hw_nowhere");
    assert_eq!(timings.hardware_description("hw_nowhere"), None);
}

#[test]
fn a_description_that_is_there_under_another_id_is_not_stored_twice() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let same = r#"{"gpus": [], "memory": {"limit_gib": 64.0}}"#;
    let runs = r#"{"hardware_id": "hw_x", "run_idx": 1, "seconds": 2, "note": "n", "z": 1.10,
        "of_others": {"hardware_id": "hw_x", "n": 123456789012345678901234567890},
        "segments": [{"hardware_id": "hw_x", "seconds": 1}, {"hardware_id": "hw_y", "seconds": 1}]}"#;
    put(&from, &format!("{{\"hw_x\": {THEIRS}}}"), runs);
    put(&to, &format!("{{\"hw_by_another\": {same}}}"), "");
    Timings::load(&from).unwrap().save(&to).unwrap();
    let timings = Timings::load(&to).unwrap();
    assert_eq!(ids(&timings), ["hw_by_another"]);
    let entry = &timings.stage("a").unwrap().runs()[0];
    assert_eq!(entry.hardware_id(), "hw_by_another");
    let segments: Vec<_> = entry.segments().into_iter().map(|part| part.hardware_id).collect();
    assert_eq!(segments, ["hw_by_another", "hw_y"]);
    assert_eq!(entry.extra()["note"].as_str(), Some("n"));
    // Nothing else of its text has changed.
    let text = fs::read_to_string(to.join(TIMINGS_FILE)).unwrap();
    let renamed = runs.replacen("hw_x", "hw_by_another", 1);
    let renamed =
        renamed.replace("[{\"hardware_id\": \"hw_x\"", "[{\"hardware_id\": \"hw_by_another\"");
    assert!(text.contains(&renamed), "{text}");
}

#[test]
fn an_id_that_stands_for_other_hardware_there_is_given_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    let run =
        |run_idx: u32| format!(r#"{{"hardware_id": "hw_x", "run_idx": {run_idx}, "seconds": 2}}"#);
    put(&from, &format!("{{\"hw_x\": {THEIRS}}}"), &run(1));
    put(&to, r#"{"hw_x": {"memory": {"limit_gib": 8.0}}}"#, &run(0));
    Timings::load(&from).unwrap().save(&to).unwrap();
    let timings = Timings::load(&to).unwrap();
    let runs = timings.stage("a").unwrap().runs();
    let gib = |entry: &RunEntry| {
        let description = timings.hardware_description(entry.hardware_id()).unwrap();
        description.get_dotted("memory.limit_gib").and_then(Value::as_f64)
    };
    assert_eq!(runs.iter().map(gib).collect::<Vec<_>>(), [Some(8.0), Some(64.004)]);
    assert_eq!(timings.hardware().count(), 2);
}

#[test]
fn faulty_descriptions_are_errors_that_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("", "is empty"),
        ("[]", "holds an array where an object is expected"),
        (r#"{"hardware": []}"#, "has an array at `hardware`"),
        (r#"{"hardware": {"hw_x": 3}}"#, "has a number at the hardware \"hw_x\""),
        (r#"{"hardware": {}, "schema_version": "1"}"#, "has the schema version \"1\""),
    ] {
        fs::write(dir.path().join(HARDWARE_FILE), text).unwrap();
        let error = Timings::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("timings_hardware.json: ") && error.contains(expected), "{error}");
    }
}
