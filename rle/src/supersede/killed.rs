//! Moves that were killed, finished by the next holder of the slot.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;
use crate::record::TrackedPath;
use crate::record::sample;
use crate::storage::write_json_atomically;

const STAMPED: &str = "alpha_1_20261129T131800Z";

/// What a slot has: a record, a file and a directory of its own, and outputs elsewhere.
struct Slot {
    root: TempDir,
}

impl Slot {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let slot = Self { root };
        let mut head = sample::complete();
        let outside = slot.root.path().join("outside.txt");
        for (label, path) in [
            ("curve", "alpha/curve.txt"),
            ("far", outside.to_str().unwrap()),
            ("policy", "alpha/artifacts/run_1/policy.txt"),
        ] {
            let place = slot.export().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, label).unwrap();
            let found = artifact::hash_path(&place).unwrap();
            let tracked = TrackedPath {
                path: path.to_owned(),
                kind: found.kind,
                bytes: found.bytes,
                sha256: found.sha256,
            };
            head.artifact_paths.insert(label.to_owned(), tracked);
        }
        fs::create_dir_all(record::runs_dir(&slot.export())).unwrap();
        record::write_record(&slot.record(), &head, &BTreeMap::new(), &[]).unwrap();
        slot
    }

    fn export(&self) -> PathBuf {
        self.root.path().join("export")
    }

    fn record(&self) -> PathBuf {
        record::record_path(&self.export(), &sample::slot())
    }

    fn partial(&self) -> PathBuf {
        superseded_dir(&self.export()).join(format!("{STAMPED}{PARTIAL}"))
    }

    fn recover(&self) {
        recover(&self.export(), &sample::slot()).unwrap();
    }

    /// The names directly in `_superseded`.
    fn aside(&self) -> Vec<String> {
        let entries = fs::read_dir(superseded_dir(&self.export())).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn assert_aside(&self) {
        assert_eq!(self.aside(), [STAMPED]);
        assert!(!self.record().exists());
        let export = self.export();
        assert!(!artifact::run_directory(&export, &sample::slot()).exists());
        assert!(!export.join("alpha/curve.txt").exists());
        let done = superseded_dir(&export).join(STAMPED);
        let head = record::read_head(&done.join("alpha_1.json")).unwrap();
        assert_eq!(head.artifact_paths.len(), 3);
        for (label, tracked) in &head.artifact_paths {
            let path = artifact::resolve_stored(&export, &tracked.path);
            assert!(path.starts_with(&done), "{}", path.display());
            assert_eq!(artifact::hash_path(&path).unwrap().sha256, tracked.sha256, "{label}");
        }
        let hidden = |entry: io::Result<fs::DirEntry>| {
            entry.unwrap().file_name().to_string_lossy().starts_with('.')
        };
        assert!(!fs::read_dir(&done).unwrap().any(hidden), "a temporary is left");
    }
}

/// The steps of a move, each as a kill right after it leaves them.
const STEPS: [fn(&Slot); 6] = [
    |slot| {
        fs::rename(slot.export().join("alpha/curve.txt"), slot.partial().join("output_0")).unwrap();
    },
    |slot| fs::write(slot.partial().join("output_1.copying"), "f").unwrap(),
    |slot| {
        let from = artifact::run_directory(&slot.export(), &sample::slot());
        fs::rename(from, slot.partial().join("artifacts")).unwrap();
    },
    |slot| fs::write(slot.partial().join(".alpha_1.json.9-0-1.rle-tmp"), "{\"schem").unwrap(),
    |slot| {
        let original = fs::read(slot.record()).unwrap();
        let (record, partial) = (slot.record(), slot.partial());
        let done = done_path(&partial);
        let copy = Move { export_dir: &slot.export(), slot: &sample::slot(), partial };
        copy.move_record(&record, &done).unwrap();
        fs::write(record, original).unwrap();
    },
    |slot| fs::remove_file(slot.record()).unwrap(),
];

#[test]
fn a_move_that_was_killed_after_any_step_is_finished() {
    for steps in 0..=STEPS.len() {
        let slot = Slot::new();
        fs::create_dir_all(slot.partial()).unwrap();
        for step in &STEPS[..steps] {
            step(&slot);
        }
        slot.recover();
        slot.assert_aside();
        slot.recover();
        slot.assert_aside();
    }
}

#[test]
fn two_moves_in_one_second_get_places_of_their_own() {
    let slot = Slot::new();
    let first = set_aside(&slot.export(), &sample::slot()).unwrap().unwrap();
    write_json_atomically(&slot.record(), &"no record").unwrap();
    let second = set_aside(&slot.export(), &sample::slot()).unwrap().unwrap();
    assert_ne!(first, second);
    assert_eq!(fs::read(second.join("alpha_1.json")).unwrap(), b"\"no record\"\n");
    assert_eq!(set_aside(&slot.export(), &sample::slot()).unwrap(), None);
    // What lies outside the export directory stays, and a copy is kept.
    assert!(slot.root.path().join("outside.txt").exists());
    assert_eq!(fs::read(first.join("output_1")).unwrap(), b"far");
}
