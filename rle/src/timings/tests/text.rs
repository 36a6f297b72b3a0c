//! Reading and writing of the files' text: nothing of others is lost, nothing faulty taken.

use std::fs;
use std::io;
use std::path::Path;

use proptest::prelude::*;

use crate::fs::small_disk::SmallDisk;
use crate::timings::scan::{Fault, Scanner};
use crate::timings::*;
use crate::value::Value;
use crate::value::arbitrary::any_value;

fn load_text(text: &[u8]) -> Result<Timings, crate::Error> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), text).unwrap();
    Timings::load(dir.path())
}

fn problem(text: &[u8]) -> String {
    let error = load_text(text).unwrap_err().to_string();
    assert!(error.contains("timings.json: "), "{error}");
    error
}

#[test]
fn what_others_wrote_comes_back_byte_for_byte_in_its_place() {
    let theirs = r#"{ "z": 1, "hardware_id":"hw_x","a":[1e2,-0, 12345678901234567890123],
      "run_idx": "three", "seconds": 1, "\u006c": "\ud83e\uddea" }"#;
    let text = format!(
        "{{\"s\": {{\"total_seconds\": 1, \"why\": {{\"b\": 1, \"a\": 2}}, \"runs\": [{theirs}]}}}}"
    );
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), text).unwrap();
    Timings::update(dir.path(), |timings| timings.record("s", 2.0, RunKey::run(7))).unwrap();
    let after = fs::read_to_string(dir.path().join(TIMINGS_FILE)).unwrap();
    assert!(after.contains(theirs), "{after}");
    assert!(after.contains("\"why\": {\"b\": 1, \"a\": 2}"), "{after}");
    assert!(after.starts_with("{\n  \"s\": {\n    \"total_seconds\": 3.0,\n"), "{after}");
    let timings = Timings::load(dir.path()).unwrap();
    let entry = &timings.stage("s").unwrap().runs()[0];
    assert_eq!(entry.run_idx(), None);
    assert_eq!(entry.extra()["run_idx"].as_str(), Some("three"));
    assert_eq!(entry.extra()["l"].as_str(), Some("\u{1f9ea}"));
}

#[test]
fn text_that_is_no_json_is_told_with_its_place() {
    let cases: [(&[u8], &str); 14] = [
        (b"{\"a\": {\"runs\": [}}", "a value is expected at line 1 column 17"),
        (b"{\n\n  a: 1}", "a key in quotes is expected at line 3 column 3"),
        (
            b"{\"a\": {\"runs\": []}, \"a\": {\"runs\": []}}",
            "the key \"a\" stands twice in one object",
        ),
        (b"{\"a\": {\"runs\": [{\"x\": 1, \"\\u0078\": 1}]}}", "the key \"x\" stands twice"),
        (b"{\"a\": {\"runs\": [], \"b\": {\"k\": 1, \"k\": 1}}}", "the key \"k\" stands twice"),
        (b"{\"a\": {\"runs\": []}} x", "more text after the end"),
        (b"{\"a\": {\"runs\": [], \"b\": 01}}", "`,` or `}` is expected"),
        (b"{\"a\": {\"runs\": [], \"b\": 1e400}}", "the number 1e400 is out of range"),
        (b"{\"a\": {\"runs\": [], \"b\": \"\n\"}}", "a control character stands bare"),
        (b"{\"a\": {\"runs\": [], \"b\": \"\\x\"}}", "an invalid escape"),
        (b"{\"a\": {\"runs\": [], \"b\": \"\\ud800\"}}", "an invalid escape"),
        (b"{\"a\": {\"runs\": [], \"b\": Infinity}}", "a value is expected"),
        (b"{\"a\": {\"runs\": [], \"b\": \"\xff\"}}", "not UTF-8 from byte 25 on"),
        (b"\x00\x00\x00", "a value is expected at line 1 column 1"),
    ];
    for (text, expected) in cases {
        let error = problem(text);
        assert!(error.contains("is not whole JSON") && error.contains(expected), "{error}");
    }
}

#[test]
fn nesting_ends_at_a_depth() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!("{{\"a\": {{\"runs\": [], \"b\": {open}{close}}}}}")
    };
    load_text(nested(90).as_bytes()).unwrap();
    for depth in [101, 10_000, 1_000_000] {
        let error = problem(nested(depth).as_bytes());
        assert!(error.contains("nested deeper than 100 levels"), "{error}");
    }
}

#[test]
fn many_keys_are_looked_through_in_no_time_and_for_doubles() {
    let keys = |last: &str| {
        let keys: Vec<_> = (0..100_000).map(|key| format!("\"{key}\": 1, ")).collect();
        let keys = keys.concat();
        format!("{{\"a\": {{\"runs\": [], \"b\": {{{keys}\"{last}\": 1}}}}}}")
    };
    load_text(keys("x").as_bytes()).unwrap();
    for last in ["3", "77777"] {
        let error = problem(keys(last).as_bytes());
        assert!(error.contains(&format!("the key {last:?} stands twice")), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let mut timings = Timings::new();
    let extra = Value::from_iter([("n", Value::from(-1.5e-7)), ("t", "\"\u{e9}\n".into())]);
    timings.record_with("a \u{1f9ea}", 1.0, RunKey::run(0).with_label("x"), &extra).unwrap();
    let dir = tempfile::tempdir().unwrap();
    timings.save(dir.path()).unwrap();
    let whole = fs::read(dir.path().join(TIMINGS_FILE)).unwrap();
    for end in 0..whole.len() - 1 {
        let error = problem(&whole[..end]);
        assert!(error.contains("move the file away"), "{end}: {error}");
    }
    load_text(&whole[..whole.len() - 1]).unwrap();
}

#[test]
fn a_directory_a_pipe_and_an_unreadable_file_are_told_from_a_missing_one() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(TIMINGS_FILE);
    fs::create_dir(&path).unwrap();
    for error in [Timings::load(dir.path()).unwrap_err(), Timings::load(&path).unwrap_err()] {
        let expected = "timings.json: is a directory where a file is expected; move it away";
        assert!(error.to_string().ends_with(expected), "{error}");
    }
    let replaced = Timings::new()
        .save_with(dir.path(), SaveOptions::default().merge_existing(false))
        .unwrap_err();
    assert!(replaced.to_string().contains("timings.json: is a directory"), "{replaced}");
    fs::remove_dir(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        let error = Timings::load(dir.path()).unwrap_err();
        assert!(error.to_string().contains("timings.json: is not a regular file"), "{error}");
        fs::remove_file(&path).unwrap();
    } else {
        eprintln!("SKIPPED: `mkfifo` is not installed");
    }
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        let error = Timings::load(dir.path()).unwrap_err();
        assert!(error.to_string().starts_with("cannot read "), "{error}");
        Timings::new().save(dir.path()).unwrap_err();
    } else {
        eprintln!("SKIPPED: this user may read every file");
    }
}

#[test]
fn a_disk_without_room_or_without_writing_is_an_error_and_leaves_nothing() {
    let Some(disk) = SmallDisk::mount() else { return };
    let mut timings = Timings::new();
    timings.record("a", 1.0, RunKey::run(0)).unwrap();
    timings.save(disk.path()).unwrap();
    let before = listing(disk.path());
    let mut large = timings.clone();
    let text = Value::from_iter([("text", "x".repeat(100_000))]);
    large.record_with("b", 1.0, RunKey::run(0), &text).unwrap();
    let error = large.save(disk.path()).unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert_eq!(listing(disk.path()), before);
    disk.make_read_only();
    let error = timings.save(disk.path()).unwrap_err();
    assert!(error.to_string().contains("timings.json"), "{error}");
    assert_eq!(listing(disk.path()), before);
}

#[test]
fn a_sum_that_others_wrote_stays_until_the_stage_changes() {
    let run = r#"{"hardware_id": "hw_x", "seconds": 1.5}"#;
    let text = format!(
        "{{\"a\": {{\"runs\": [{run}], \"total_seconds\": 1.50}}, \
         \"b\": {{\"runs\": [{run}], \"total_seconds\": \"much\"}}, \"c\": {{\"runs\": [{run}]}}}}"
    );
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), text).unwrap();
    Timings::update(dir.path(), |_| Ok::<_, crate::Error>(())).unwrap();
    let after = fs::read_to_string(dir.path().join(TIMINGS_FILE)).unwrap();
    let totals: Vec<_> = after.lines().filter(|line| line.contains("total_seconds")).collect();
    let sum = "    \"total_seconds\": ";
    assert_eq!(totals, [format!("{sum}1.50"), format!("{sum}1.5"), format!("{sum}1.5")]);
}

fn listing(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut listing: Vec<_> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    listing.sort();
    listing
}

/// Texts that are nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\"",
        "\"\\u00e9\"",
        "\\",
        "1",
        "-",
        "0",
        ".",
        "5",
        "e",
        "E+",
        "true",
        "false",
        "null",
        " ",
        "\n",
        "\t",
        "\u{e9}",
        "\"\\n\"",
        "NaN",
        "{\"a\":1}",
        "[1,2]",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_text_is_taken_for_json_exactly_when_another_reader_takes_it(text in nearly_json()) {
        let mut scanner = Scanner::new(&text);
        let ours = scanner.value().and_then(|_| scanner.finish());
        let theirs = Value::parse_json(text.as_bytes());
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?} {:?}", text, ours, theirs);
    }

    #[test]
    fn the_beginning_of_a_json_text_is_never_called_faulty(value in any_value(), cut in any::<prop::sample::Index>()) {
        let text = Value::Array(vec![value]).to_json_pretty();
        let mut end = cut.index(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        prop_assert_eq!(Scanner::new(&text[..end]).value().err(), Some(Fault::End));
    }
}
