use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::fs::small_disk::SmallDisk;
use crate::names::Slug;

const REQUEST: &str = "of-this-request";

fn slot() -> SlotId {
    SlotId::new(Slug::new("alpha").unwrap(), 1)
}

fn setup(export: &Path, latest: Option<Latest>) -> Setup {
    Setup {
        export_dir: export.to_owned(),
        slot: slot(),
        request_hash: REQUEST.to_owned(),
        enabled: true,
        attempt: 1,
        seconds_before: latest.as_ref().map_or(0.0, |latest| latest.manifest.seconds),
        latest,
        stop_at_save: None,
    }
}

fn checkpoint(export: &Path) -> Checkpoint {
    Checkpoint::new(setup(export, None))
}

/// A directory with generations 1 to `saves`, each with one payload that holds its number.
fn saved(saves: u32) -> TempDir {
    let export = TempDir::new().unwrap();
    let checkpoint = checkpoint(export.path());
    for save in 1..=saves {
        checkpoint.write("state", save.to_string()).unwrap();
        checkpoint.save(save).unwrap();
    }
    export
}

fn found(export: &TempDir) -> Found {
    find(export.path(), &slot(), REQUEST).unwrap()
}

/// The offered checkpoint and what was passed over.
fn offered(export: &TempDir) -> (Latest, Vec<String>) {
    match found(export) {
        Found::Latest { latest, problems } => (latest, problems),
        other => panic!("no checkpoint is offered: {other:?}"),
    }
}

fn state_of(latest: &Latest) -> String {
    fs::read_to_string(latest.path("state").unwrap()).unwrap()
}

fn home(export: &TempDir) -> PathBuf {
    directory(export.path(), &slot())
}

fn manifest_of(export: &TempDir, generation: u64) -> PathBuf {
    home(export).join(format!("generation_{generation}")).join(store::MANIFEST)
}

/// Changes the manifest of a generation and the copy at the top.
fn edit(export: &TempDir, generation: u64, change: impl Fn(&mut Value)) {
    let path = manifest_of(export, generation);
    let mut value = Value::parse_json(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    for path in [path, home(export).join(store::MANIFEST)] {
        fs::write(path, value.to_string()).unwrap();
    }
}

fn with_payload_path(export: &TempDir, path: &str) {
    edit(export, 2, |manifest| {
        let payload = Value::from_iter([
            ("path", Value::from(path)),
            ("bytes", Value::from(1_u64)),
            ("sha256", Value::from(crate::value::digest::sha256_hex(b"2"))),
        ]);
        manifest.insert("payloads", Value::Array(vec![payload]));
    });
}

#[test]
fn the_newest_generation_is_offered_and_two_are_kept() {
    let export = saved(5);
    let (latest, problems) = offered(&export);
    assert_eq!((latest.sequence(), state_of(&latest)), (5, "5".to_owned()));
    assert_eq!(problems, Vec::<String>::new());
    let mut names: Vec<_> = fs::read_dir(home(&export))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["generation_4", "generation_5", "manifest.json"]);
    let top = fs::read(home(&export).join(store::MANIFEST)).unwrap();
    assert_eq!(top, fs::read(manifest_of(&export, 5)).unwrap());
}

#[test]
fn nothing_is_offered_where_nothing_was_saved() {
    let export = TempDir::new().unwrap();
    assert!(matches!(found(&export), Found::Nothing));
    checkpoint(export.path()).write("state", "written, never saved").unwrap();
    assert!(matches!(found(&export), Found::Nothing));
}

#[test]
fn a_damaged_generation_is_passed_over_in_words() {
    type Damage = fn(&Path);
    let payload = |export: &TempDir| home(export).join("generation_2/state");
    let cases: [(&str, Damage); 4] = [
        ("changed", |path| fs::write(path, "3").unwrap()),
        ("changed", |path| fs::write(path, "").unwrap()),
        ("changed", |path| fs::write(path, "22").unwrap()),
        ("No such file", |path| fs::remove_file(path).unwrap()),
    ];
    for (problem, damage) in cases {
        let export = saved(2);
        damage(&payload(&export));
        let (latest, problems) = offered(&export);
        assert_eq!((latest.sequence(), state_of(&latest)), (1, "1".to_owned()));
        assert_eq!(problems.len(), 1, "{problems:?}");
        let (place, what) = ("checkpoint 2: payload `generation_2/state`", problem);
        assert!(problems[0].starts_with(place) && problems[0].contains(what), "{problems:?}");
    }
}

#[test]
fn a_torn_manifest_is_passed_over_in_words() {
    let export = saved(2);
    let path = manifest_of(&export, 2);
    let bytes = fs::read(&path).unwrap();
    for torn in [&bytes[..bytes.len() / 2], b"", b"[]", b"{}"] {
        fs::write(&path, torn).unwrap();
        let (latest, problems) = offered(&export);
        assert_eq!(latest.sequence(), 1);
        assert!(problems[0].contains("generation_2"), "{problems:?}");
    }
}

#[test]
fn generations_of_which_none_is_whole_are_damaged() {
    let export = saved(2);
    for generation in [1, 2] {
        fs::write(home(&export).join(format!("generation_{generation}/state")), "x").unwrap();
    }
    let Found::Damaged(problems) = found(&export) else { panic!("something is offered") };
    // The copy at the top says nothing new.
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_checkpoint_of_another_request_run_or_slot_is_foreign() {
    let export = saved(2);
    assert!(matches!(find(export.path(), &slot(), "another").unwrap(), Found::Foreign(_)));
    edit(&export, 2, |manifest| {
        manifest.insert("run_idx", Value::from(0_u64));
    });
    let Found::Foreign(why) = found(&export) else { panic!("it is not foreign") };
    assert!(why.contains("belongs to run 0, not to run 1"), "{why}");
}

#[test]
fn a_payload_path_that_leaves_is_never_followed() {
    let export = saved(2);
    fs::write(export.path().join("alpha/checkpoints/x"), "2").unwrap();
    let absolute = export.path().join("alpha/checkpoints/x");
    let paths = ["../x", "generation_2/../../x", absolute.to_str().unwrap(), ""];
    for path in paths {
        with_payload_path(&export, path);
        let (latest, problems) = offered(&export);
        assert_eq!(latest.sequence(), 1, "{path}");
        assert!(problems[0].contains("leaves the checkpoint's directory"), "{problems:?}");
    }
    with_payload_path(&export, "generation_1/state");
    assert!(offered(&export).1[0].contains("is not in its generation"));
    std::os::unix::fs::symlink(&absolute, home(&export).join("generation_2/link")).unwrap();
    with_payload_path(&export, "generation_2/link");
    let (latest, problems) = offered(&export);
    assert_eq!(latest.sequence(), 1);
    assert!(problems[0].contains("leaves the checkpoint's directory"), "{problems:?}");
}

#[test]
fn a_newer_version_is_told_and_never_touched() {
    let export = saved(2);
    edit(&export, 2, |manifest| {
        manifest.insert("schema_version", Value::from(9_u64));
    });
    let refused = || find(export.path(), &slot(), REQUEST).unwrap_err();
    let error = refused();
    assert!(matches!(error, Error::Newer { .. }), "{error}");
    assert!(error.to_string().contains("manifest schema 9, this one reads up to 1"), "{error}");
    // Even where its other fields cannot be read.
    fs::write(manifest_of(&export, 2), r#"{"schema_version": 9, "payloads": "elsewhere"}"#)
        .unwrap();
    assert!(matches!(refused(), Error::Newer { .. }));
}

#[test]
fn names_of_payloads_that_cannot_be_are_refused() {
    let export = TempDir::new().unwrap();
    let checkpoint = checkpoint(export.path());
    for name in ["manifest.json", "../x", "/x", "", "a/../b"] {
        assert!(checkpoint.write(name, "x").is_err(), "{name}");
        assert!(checkpoint.path(name).is_err(), "{name}");
    }
    let error = checkpoint.path("manifest.json").unwrap_err().to_string();
    assert!(error.contains("the checkpoint's own description"), "{error}");
    assert!(checkpoint.write("nets/manifest.json", "x").is_ok());
}

#[test]
fn nested_payloads_are_found_by_their_names() {
    let export = TempDir::new().unwrap();
    let checkpoint = checkpoint(export.path());
    for name in ["state", "nets/actor", "nets/critic/w"] {
        checkpoint.write(name, name).unwrap();
    }
    fs::write(checkpoint.path("by/hand").unwrap(), "by/hand").unwrap();
    checkpoint.save(()).unwrap();
    let (latest, _) = offered(&export);
    for name in ["state", "nets/actor", "nets/critic/w", "by/hand"] {
        assert_eq!(fs::read_to_string(latest.path(name).unwrap()).unwrap(), name);
    }
    let error = latest.path("nets").unwrap_err().to_string();
    assert!(error.contains("no payload `nets`") && error.contains("`nets/actor`"), "{error}");
    fs::write(latest.path("nets/critic/w").unwrap(), "other").unwrap();
    assert!(matches!(found(&export), Found::Damaged(_)));
}

#[test]
fn metadata_comes_back_as_it_went_in() {
    let export = TempDir::new().unwrap();
    let metadata = Value::from_iter([
        ("rng", Value::from(u64::MAX)),
        ("lr", Value::from(0.1)),
        ("best", Value::from(f64::NEG_INFINITY)),
        ("loss", Value::Array(vec![Value::from(f64::NAN), Value::from(-0.0)])),
    ]);
    let checkpoint = checkpoint(export.path());
    checkpoint.save(&metadata).unwrap();
    let (latest, _) = offered(&export);
    let rng: u64 = latest.metadata().get("rng").unwrap().to().unwrap();
    assert_eq!(rng, u64::MAX);
    assert_eq!(latest.metadata().get("lr").unwrap().as_f64(), Some(0.1));
    assert_eq!(latest.metadata().get("best").unwrap().as_f64(), Some(f64::NEG_INFINITY));
    let loss: Vec<f64> = latest.metadata().get("loss").unwrap().to().unwrap();
    assert!(loss[0].is_nan(), "{loss:?}");
    let error = latest.metadata_as::<Vec<u64>>().unwrap_err().to_string();
    assert!(error.contains("metadata"), "{error}");
}

#[test]
fn what_a_killed_attempt_left_half_written_is_cleared() {
    let export = saved(1);
    checkpoint(export.path()).write("stale", "of the killed attempt").unwrap();
    let checkpoint = checkpoint(export.path());
    checkpoint.write("state", "2").unwrap();
    checkpoint.save(()).unwrap();
    let (latest, _) = offered(&export);
    assert_eq!(latest.sequence(), 2);
    assert!(latest.path("stale").is_err());
    assert!(!home(&export).join("generation_2/stale").exists());
}

#[test]
fn a_manifest_at_the_top_that_was_not_written_any_more_does_no_harm() {
    let export = saved(2);
    fs::write(home(&export).join(store::MANIFEST), fs::read(manifest_of(&export, 1)).unwrap())
        .unwrap();
    assert_eq!(offered(&export).0.sequence(), 2);
    fs::remove_file(home(&export).join(store::MANIFEST)).unwrap();
    assert_eq!(offered(&export).0.sequence(), 2);
}

#[test]
fn after_a_fall_back_the_numbers_go_on_and_the_good_generation_stays() {
    let export = saved(2);
    fs::write(home(&export).join("generation_2/state"), "x").unwrap();
    let (latest, _) = offered(&export);
    let checkpoint = Checkpoint::new(setup(export.path(), Some(latest)));
    checkpoint.write("state", "3").unwrap();
    checkpoint.save(()).unwrap();
    fs::write(home(&export).join("generation_3/state"), "x").unwrap();
    // Were the damaged one counted among the two that are kept, none would be left to offer.
    assert_eq!(offered(&export).0.sequence(), 1);
}

#[test]
fn where_checkpoints_are_off_nothing_is_written() {
    let export = TempDir::new().unwrap();
    let checkpoint = Checkpoint::new(Setup { enabled: false, ..setup(export.path(), None) });
    checkpoint.write("state", "x").unwrap();
    checkpoint.save(f64::NAN).unwrap();
    assert!(!checkpoint.enabled() && checkpoint.latest().is_none());
    let error = checkpoint.path("state").unwrap_err().to_string();
    assert!(error.contains("--checkpoint-enabled"), "{error}");
    assert_eq!(fs::read_dir(export.path()).unwrap().count(), 0);
}

#[test]
fn seconds_and_stage_times_add_up_over_attempts() {
    let export = saved(1);
    edit(&export, 1, |manifest| {
        manifest.insert("seconds", Value::from(1000.5));
        let train =
            Value::from_iter([("seconds", Value::from(7.0)), ("calls", Value::from(3_u64))]);
        manifest.insert("stages", Value::from_iter([("train", train)]));
    });
    let (latest, _) = offered(&export);
    let checkpoint = Checkpoint::new(setup(export.path(), Some(latest)));
    checkpoint.save(()).unwrap();
    let (latest, _) = offered(&export);
    let seconds = latest.manifest.seconds;
    assert!((1000.5..1100.0).contains(&seconds), "{seconds}");
    let train = StageSum { seconds: 7.0, calls: 3 };
    assert_eq!(latest.manifest.stages, BTreeMap::from([("train".to_owned(), train)]));
}

#[test]
fn a_full_disk_in_the_middle_of_a_save_keeps_the_previous_checkpoint() {
    let Some(disk) = SmallDisk::mount() else { return };
    let checkpoint = checkpoint(disk.path());
    checkpoint.write("state", "1").unwrap();
    checkpoint.save(1).unwrap();
    let offered = || match find(disk.path(), &slot(), REQUEST).unwrap() {
        Found::Latest { latest, problems } => (latest.sequence(), problems),
        other => panic!("{other:?}"),
    };
    let large = vec![7_u8; 200_000];
    checkpoint.write("state", &large).unwrap_err();
    assert_eq!(offered(), (1, Vec::new()));
    // A payload of the algorithm's own making fills the disk, and the manifest has no room.
    let path = checkpoint.path("filler").unwrap();
    assert!(fs::write(&path, &large).is_err());
    let error = checkpoint.save(2).unwrap_err().to_string();
    assert!(error.contains("manifest.json"), "{error}");
    assert_eq!(offered(), (1, Vec::new()));
    fs::remove_file(path).unwrap();
    checkpoint.write("state", "2").unwrap();
    checkpoint.save(2).unwrap();
    assert_eq!(offered(), (2, Vec::new()));
}

#[test]
fn a_payload_that_is_no_file_fails_the_save() {
    let export = saved(1);
    let checkpoint = checkpoint(export.path());
    let link = checkpoint.path("link").unwrap();
    std::os::unix::fs::symlink(export.path().join("nowhere"), link).unwrap();
    assert!(checkpoint.save(()).is_err());
    assert_eq!(offered(&export).0.sequence(), 1);
}

#[test]
fn a_save_asks_to_stop_where_interruption_is_tried_out() {
    let export = TempDir::new().unwrap();
    let stop = Stop::default();
    let setup = Setup { stop_at_save: Some(stop.clone()), ..setup(export.path(), None) };
    let checkpoint = Checkpoint::new(setup);
    checkpoint.write("state", "1").unwrap();
    assert!(!stop.is_requested());
    checkpoint.save(1).unwrap();
    assert!(stop.is_requested());
}
