//! The public store: recording, measuring, saving.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::fs::FileLock;
use crate::timings::*;
use crate::value::Value;

fn seconds(timings: &Timings, stage: &str) -> Vec<f64> {
    let runs = timings.stage(stage).map(Stage::runs).unwrap_or_default();
    runs.iter().map(RunEntry::seconds).collect()
}

fn of(stage: &str, seconds: f64, key: RunKey) -> Timings {
    let mut timings = Timings::new();
    timings.record(stage, seconds, key).unwrap();
    timings
}

#[test]
fn a_record_without_a_run_replaces_run_0_begins_anew_and_later_ones_are_appended() {
    let mut timings = Timings::new();
    let mut record = |seconds, key| {
        timings.record("a", seconds, key).unwrap();
        self::seconds(&timings, "a")
    };
    assert_eq!(record(1.0, RunKey::run(3)), [1.0]);
    assert_eq!(record(2.0, RunKey::run(4).with_label("x")), [1.0, 2.0]);
    assert_eq!(record(3.0, RunKey::run(0)), [3.0]);
    assert_eq!(record(4.0, RunKey::run(1)), [3.0, 4.0]);
    assert_eq!(record(5.0, RunKey::label("final")), [5.0]);
    assert_eq!(record(6.0, RunKey::none()), [6.0]);
    assert!((timings.stage("a").unwrap().total_seconds() - 6.0).abs() < 1e-12);
}

#[test]
fn an_entry_says_what_was_recorded() {
    let mut timings = Timings::new();
    let extra = BTreeMap::from([(7_u8, PathBuf::from("a/b"))]);
    timings.record_with("a", 1.5, RunKey::run(2).with_label("x\n\"y\""), &extra).unwrap();
    let entry = &timings.stage("a").unwrap().runs()[0];
    assert_eq!((entry.run_idx(), entry.label()), (Some(2), Some("x\n\"y\"")));
    assert_eq!(entry.hardware_id(), hardware_id());
    assert_eq!(entry.extra(), BTreeMap::from([("7".to_owned(), "a/b".into())]));
    assert!(timings.hardware_description(entry.hardware_id()).is_some());
}

#[test]
fn further_values_keep_their_order_and_become_json() {
    #[derive(serde::Serialize)]
    struct Further<'a> {
        list: [f64; 3],
        set: BTreeSet<&'a str>,
        pair: (u8, Option<bool>),
        nested: BTreeMap<i32, char>,
        unit: (),
    }
    let mut timings = Timings::new();
    let further = Further {
        list: [3.0, 1.5, 2.0],
        set: BTreeSet::from(["b", "a"]),
        pair: (1, None),
        nested: BTreeMap::from([(-1, 'x')]),
        unit: (),
    };
    timings.record_with("a", 1.0, RunKey::none(), &further).unwrap();
    let extra = Value::from(timings.stage("a").unwrap().runs()[0].extra()).to_string();
    let expected =
        r#"{"list":[3.0,1.5,2.0],"nested":{"-1":"x"},"pair":[1,null],"set":["a","b"],"unit":null}"#;
    assert_eq!(extra, expected);
}

#[test]
fn what_cannot_be_recorded_is_an_error_and_nothing_is() {
    let mut timings = of("a", 1.0, RunKey::run(0));
    let before = timings.clone();
    let mut refuse = |seconds, extra: Value, expected: &str| {
        let error = timings.record_with("a", seconds, RunKey::run(0), &extra).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("stage `a`") && text.contains(expected), "{text}");
        assert!(text.contains("nothing is recorded"), "{text}");
        assert_eq!(timings, before);
    };
    let with = |key: &str, value: Value| Value::from_iter([(key, value)]);
    refuse(-1.0, Value::Null, "has `seconds` -1");
    refuse(f64::NAN, Value::Null, "has `seconds` NaN");
    refuse(f64::INFINITY, Value::Null, "has `seconds` inf");
    refuse(1.0, with("loss", f64::NAN.into()), "further value: loss: NaN is not accepted");
    refuse(1.0, with("label", "x".into()), "`label`");
    refuse(1.0, with("memory_gb", 64.into()), "retired key `memory_gb`");
    refuse(1.0, Value::Array(vec![]), "has an array for further values");
    refuse(1.0, "text".into(), "has a string for further values");
}

#[test]
fn whatever_is_recorded_can_be_loaded_again_however_deep() {
    let dir = tempfile::tempdir().unwrap();
    let nested = |depth| (0..depth).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
    let record = |depth| {
        let mut timings = Timings::new();
        let extra = BTreeMap::from([("x", nested(depth))]);
        timings.record_with("a", 1.0, RunKey::run(0), &extra).map(|()| timings)
    };
    for depth in [1, 96] {
        record(depth).unwrap().save(dir.path()).unwrap();
        assert_eq!(Timings::load(dir.path()).unwrap(), record(depth).unwrap());
    }
    for depth in [97, 99, 101] {
        let error = record(depth).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("nested deeper than 100 levels; nothing is recorded"), "{error}");
    }
}

#[test]
fn a_guard_records_at_the_end_on_an_early_return_and_on_a_panic() {
    fn early(timings: &mut Timings) -> Option<()> {
        let _guard = timings.guard("early", RunKey::run(0));
        None
    }
    let mut timings = Timings::new();
    {
        let mut guard = timings.guard("block", RunKey::label("x"));
        guard.record("inside", 1.0, RunKey::none()).unwrap();
        assert!(guard.stage("block").is_none());
    }
    early(&mut timings);
    let panicking = AssertUnwindSafe(|| timings.timed("panic", RunKey::none(), || panic!("in it")));
    assert!(catch_unwind(panicking).is_err());
    assert_eq!(timings.timed("value", RunKey::none(), || 7), 7);
    let names: Vec<_> = timings.stages().map(|(name, _)| name).collect();
    assert_eq!(names, ["block", "early", "inside", "panic", "value"]);
    assert_eq!(timings.stage("block").unwrap().runs()[0].label(), Some("x"));
}

#[test]
fn a_timer_that_is_misused_records_nothing() {
    let mut timings = Timings::new();
    let mut timer = Timer::new("a", RunKey::run(0));
    let stopped = timer.stop(&mut timings).unwrap_err().to_string();
    assert!(stopped.contains("stage `a` is stopped before its start"), "{stopped}");
    timer.start().unwrap();
    let twice = timer.start().unwrap_err().to_string();
    assert!(twice.contains("is started twice"), "{twice}");
    assert!(timings.is_empty());
    let seconds = timer.stop(&mut timings).unwrap();
    assert_eq!(self::seconds(&timings, "a"), [seconds]);
    assert!(timer.stop(&mut timings).unwrap_err().to_string().contains("is stopped twice"));
    assert!(timer.start().unwrap_err().to_string().contains("after its stop"));
    assert_eq!(self::seconds(&timings, "a").len(), 1);
}

#[test]
fn a_save_merges_and_the_entry_that_comes_wins() {
    let dir = tempfile::tempdir().unwrap();
    of("a", 1.0, RunKey::run(0)).save(dir.path()).unwrap();
    of("a", 2.0, RunKey::run(1)).save(dir.path()).unwrap();
    of("b", 3.0, RunKey::none()).save(dir.path()).unwrap();
    of("a", 4.0, RunKey::run(0)).save(dir.path()).unwrap();
    let timings = Timings::load(dir.path()).unwrap();
    assert_eq!(seconds(&timings, "a"), [4.0, 2.0]);
    assert_eq!(seconds(&timings, "b"), [3.0]);
}

#[test]
fn an_exact_replacement_keeps_nothing_and_minds_no_faulty_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), "{\"half").unwrap();
    let timings = of("a", 1.0, RunKey::run(3));
    timings.save(dir.path()).unwrap_err();
    let exactly = SaveOptions::default().merge_existing(false);
    timings.save_with(dir.path(), exactly).unwrap();
    of("b", 1.0, RunKey::none()).save(dir.path()).unwrap();
    timings.save_with(dir.path(), exactly).unwrap();
    assert_eq!(Timings::load(dir.path()).unwrap(), timings);
}

#[test]
fn an_update_changes_what_the_file_holds_now() {
    let dir = tempfile::tempdir().unwrap();
    of("gone", 1.0, RunKey::none()).save(dir.path()).unwrap();
    let change = |timings: &mut Timings| {
        timings.remove("gone");
        timings.record("a", 2.0, RunKey::run(0))
    };
    let timings = Timings::update(dir.path(), change).unwrap();
    assert_eq!(timings, Timings::load(dir.path()).unwrap());
    assert_eq!(timings.stages().map(|(name, _)| name).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn an_update_whose_closure_fails_or_panics_writes_nothing_and_frees_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let record = |timings: &mut Timings| timings.record("a", 1.0, RunKey::none());
    let error = Timings::update(dir.path(), |timings| {
        record(timings)?;
        Err(Box::<dyn std::error::Error>::from("of the user's own"))
    });
    assert_eq!(error.unwrap_err().to_string(), "of the user's own");
    let panicking = AssertUnwindSafe(|| {
        Timings::update::<Error>(dir.path(), |timings| {
            record(timings)?;
            panic!("in the closure")
        })
    });
    assert!(catch_unwind(panicking).is_err());
    assert!(!dir.path().join(TIMINGS_FILE).exists());
    assert!(!FileLock::is_held(&dir.path().join(LOCK_FILE)).unwrap());
}

#[test]
fn a_save_waits_no_longer_than_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let _lock = FileLock::acquire(&dir.path().join(LOCK_FILE), Duration::ZERO).unwrap();
    let options = SaveOptions::default().lock_timeout(Duration::from_millis(20));
    let timings = of("a", 1.0, RunKey::none());
    let saved = timings.save_with(dir.path(), options).unwrap_err();
    assert!(matches!(saved, Error::Locked { .. }), "{saved}");
    let updated = Timings::update_with(dir.path(), options, |_| Ok::<_, Error>(()));
    assert!(matches!(updated.unwrap_err(), Error::Locked { .. }));
}

#[test]
fn a_path_is_a_directory_or_a_file_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    of("a", 1.0, RunKey::none()).save(root.join("run-001/bundle.np")).unwrap();
    assert!(root.join("run-001/timings.json").is_file());
    for path in ["run-001", "run-001/", "run-001/timings.json", "run-001/other.json"] {
        assert_eq!(seconds(&Timings::load(root.join(path)).unwrap(), "a"), [1.0], "{path}");
    }
    fs::write(root.join("run-001/plain"), "").unwrap();
    assert!(!Timings::load(root.join("run-001/plain")).unwrap().is_empty());
    // A name with a number at its end is a directory's.
    of("a", 2.0, RunKey::none()).save(root.join("ppo_0.5")).unwrap();
    of("a", 3.0, RunKey::none()).save(root.join("dir.d/")).unwrap();
    assert!(
        root.join("ppo_0.5/timings.json").is_file() && root.join("dir.d/timings.json").is_file()
    );
    assert!(!root.join("timings.json").exists());
}

#[test]
fn names_of_stages_are_kept_whatever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let long = "n".repeat(10_000);
    let names = ["", "a\nb", "\"quoted\"", "\u{1f9ea}", "\u{0}\u{1f}\\", long.as_str()];
    for name in names {
        of(name, 1.0, RunKey::label(name)).save(dir.path()).unwrap();
    }
    let timings = Timings::load(dir.path()).unwrap();
    let found: BTreeSet<_> = timings.stages().map(|(name, _)| name).collect();
    assert_eq!(found, BTreeSet::from(names));
    for (name, stage) in timings.stages() {
        assert_eq!(stage.runs()[0].label(), Some(name));
    }
}

#[test]
fn a_summary_has_sample_statistics_and_all_the_hardware() {
    let text = r#"{"a": {"runs": [
        {"hardware_id": "hw_x", "run_idx": 1, "seconds": 2},
        {"hardware_id": "hw_x", "run_idx": 0, "seconds": 4.0},
        {"hardware_id": "hw_x", "run_idx": 2.0, "seconds": 9, "segments": [
            {"attempt": 1, "hardware_id": "hw_y", "seconds": 4},
            {"attempt": 2, "hardware_id": "hw_x", "seconds": 5}]}
    ]}}"#;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(TIMINGS_FILE), text).unwrap();
    let timings = Timings::load(dir.path()).unwrap();
    let summary = timings.stage("a").unwrap().summary().unwrap();
    let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-12, "{x} {y}");
    close(summary.mean, 5.0);
    close(summary.std.unwrap(), 13_f64.sqrt());
    close(summary.total, 15.0);
    assert_eq!((summary.runs, summary.min, summary.max), (3, 2.0, 9.0));
    assert_eq!(summary.run_indices, [0, 1, 2]);
    assert_eq!(summary.hardware_ids, BTreeSet::from(["hw_x".to_owned(), "hw_y".to_owned()]));
    assert_eq!((summary.segmented, &summary.mixed_runs[..]), (1, &[2][..]));
    let single = of("b", 0.1, RunKey::none());
    let single = single.stage("b").unwrap().summary().unwrap();
    assert_eq!((single.mean, single.std), (0.1, None));
    assert_eq!(Summary::of([]), None);
}

#[test]
fn a_segment_without_a_time_names_its_hardware_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let entry = r#"{"hardware_id": "h", "seconds": 3, "segments": [{"hardware_id": "other"}]}"#;
    let text = format!(r#"{{"a": {{"runs": [{entry}]}}}}"#);
    fs::write(dir.path().join(TIMINGS_FILE), text).unwrap();
    let timings = Timings::load(dir.path()).unwrap();
    let summary = timings.stage("a").unwrap().summary().unwrap();
    assert_eq!(summary.mixed_runs, [0]);
    assert_eq!(summary.hardware_ids, ["h", "other"].map(str::to_owned).into());
}

#[test]
fn equal_times_have_no_spread_at_all() {
    let mut timings = Timings::new();
    for run_idx in 0..7 {
        timings.record("a", 0.1, RunKey::run(run_idx)).unwrap();
    }
    let summary = timings.stage("a").unwrap().summary().unwrap();
    assert_eq!((summary.mean, summary.std), (0.1, Some(0.0)));
}

#[test]
fn the_entry_of_a_directory_that_has_only_a_link_goes_where_it_leads() {
    let dir = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (dir.path().join("home"), dir.path().join("elsewhere"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink("../elsewhere/real.json", home.join(TIMINGS_FILE)).unwrap();
    // The link leads nowhere yet.
    assert!(Timings::load(&home).unwrap().is_empty());
    of("a", 1.0, RunKey::run(0)).save(&home).unwrap();
    of("a", 2.0, RunKey::run(1)).save(&home).unwrap();
    assert!(home.join(TIMINGS_FILE).is_symlink());
    assert_eq!(seconds(&Timings::load(&home).unwrap(), "a"), [1.0, 2.0]);
    assert_eq!(names_in(&elsewhere), ["real.json", "real.json.lock"]);
}

#[test]
fn a_link_and_its_file_in_one_directory_with_one_lock_do_not_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("real.json", dir.path().join(TIMINGS_FILE)).unwrap();
    std::os::unix::fs::symlink(LOCK_FILE, dir.path().join("real.json.lock")).unwrap();
    let options = SaveOptions::default().lock_timeout(Duration::from_millis(50));
    of("a", 1.0, RunKey::none()).save_with(dir.path(), options).unwrap();
    assert!(dir.path().join("real.json").is_file());
}

fn names_in(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_link_to_a_directory_is_refused_without_a_lock_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (home, elsewhere) = (dir.path().join("home"), dir.path().join("elsewhere"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink("../elsewhere", home.join(TIMINGS_FILE)).unwrap();
    let error = of("a", 1.0, RunKey::none()).save(&home).unwrap_err().to_string();
    assert!(error.contains("elsewhere, which is not a file"), "{error}");
    assert!(!dir.path().join("elsewhere.lock").exists());
}

#[test]
fn a_sum_beyond_all_numbers_is_still_json() {
    let dir = tempfile::tempdir().unwrap();
    for run_idx in [0, 1] {
        of("a", 1.5e308, RunKey::run(run_idx)).save(dir.path()).unwrap();
    }
    let text = fs::read_to_string(dir.path().join(TIMINGS_FILE)).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["a"]["total_seconds"], f64::MAX, "{text}");
}
