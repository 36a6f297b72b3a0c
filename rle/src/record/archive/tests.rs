use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::transaction::{LOCK, Transaction};
use super::*;
use crate::fs::dying_after;
use crate::fs::small_disk::SmallDisk;
use crate::record::{self, RecordHead, TrackedPath, WholeRecord, decision, sample};
use crate::timings::NewEntry;
use crate::value::Value;

/// More steps than any operation here has.
const MANY: usize = 500;

fn slug() -> Slug {
    Slug::new("alpha").unwrap()
}

fn slot(run_idx: u32) -> SlotId {
    SlotId::new(slug(), run_idx)
}

/// In memory where the system offers it: these tests sync thousands of directories.
fn temporary() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// An export directory with complete runs, each with everything that a run can leave, and a
/// directory elsewhere.
struct Tree {
    export: TempDir,
    outside: TempDir,
    runs: Vec<u32>,
}

impl Tree {
    fn new(runs: &[u32]) -> Self {
        let tree = Self { export: temporary(), outside: temporary(), runs: runs.to_vec() };
        for &run in runs {
            tree.add(run);
        }
        tree
    }

    fn path(&self) -> &Path {
        self.export.path()
    }

    fn add(&self, run: u32) {
        let export = self.path();
        let external = self.outside.path().join(format!("external_{run}"));
        let own = format!("alpha/artifacts/run_{run}");
        let own_files = ["policy", "nets/a", "untracked"].map(|name| format!("{own}/{name}"));
        let elsewhere = [format!("plots/curve_{run}"), format!("plots/set_{run}/inner/x")];
        let checkpoints = format!("alpha/checkpoints/run_{run}");
        let checkpoint_files =
            ["manifest.json", "generation_1/state"].map(|name| format!("{checkpoints}/{name}"));
        let archive = format!("runs/alpha_{run}.np");
        let files = own_files.into_iter().chain(elsewhere).chain(checkpoint_files).chain([archive]);
        for file in files {
            write(&export.join(&file), &format!("content of {file}"));
        }
        write(&external, &format!("content of external_{run}"));
        let tracked = [
            ("policy", format!("{own}/policy")),
            ("nets", format!("{own}/nets")),
            ("net a", format!("{own}/nets/a")),
            ("curve", format!("plots/curve_{run}")),
            ("set", format!("plots/set_{run}")),
            ("set/inner", format!("plots/set_{run}/inner")),
            ("state", format!("{checkpoints}/generation_1/state")),
            ("external", external.to_str().unwrap().to_owned()),
        ];
        self.write_record(run, &tracked);
        let entry = |seconds| NewEntry {
            hardware_id: timings::hardware_id().to_owned(),
            seconds,
            run_idx: Some(run),
            ..NewEntry::default()
        };
        let entries = vec![
            ("alpha_run".to_owned(), entry(f64::from(run) + 0.5)),
            ("train".to_owned(), entry(0.25)),
        ];
        timings::merge_entries(&export.join("alpha"), entries).unwrap();
    }

    fn write_record(&self, run: u32, tracked: &[(&str, String)]) {
        let mut head = RecordHead { run_idx: run, ..sample::complete() };
        for (label, path) in tracked {
            let found = artifacts::hash_path(&self.path().join(path)).unwrap();
            let (kind, bytes, sha256) = (found.kind, found.bytes, found.sha256);
            let place = TrackedPath { path: path.clone(), kind, bytes, sha256 };
            head.artifact_paths.insert((*label).to_owned(), place);
        }
        let metrics = BTreeMap::from([("loss".to_owned(), Value::from(f64::from(run)))]);
        let path = record::record_path(self.path(), &slot(run));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let episodes = Vec::new();
        WholeRecord { head, metrics, episodes }.write(&path).unwrap();
    }

    /// Every file below the export directory by its path, with its content, without locks and
    /// empty directories.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(self.path(), self.path(), &mut files);
        let passing = |name: &str| {
            Path::new(name).extension() == Some("lock".as_ref())
                || name.ends_with("timings_hardware.json")
        };
        files.retain(|name, _| !passing(name));
        files
    }

    /// Whether the runs are where they were; else they must be, whole, in one new place.
    fn is_unmoved(&self, before: &BTreeMap<String, String>) -> bool {
        let now = self.files();
        self.assert_nothing_twice_or_lost(before, &now);
        if now == *before {
            return true;
        }
        let entries = self.entries();
        assert_eq!(entries.len(), 1, "{:#?}", now.keys());
        self.assert_whole_archive(&entries[0], &now);
        false
    }

    /// Archived and superseded directories.
    fn entries(&self) -> Vec<PathBuf> {
        let folders = [superseded_dir(self.path()), archived_dir(self.path())];
        let list = |folder: &PathBuf| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
        };
        folders.iter().flat_map(list).collect()
    }

    fn assert_nothing_twice_or_lost(
        &self,
        before: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
    ) {
        for content in before.values().filter(|content| content.starts_with("content of")) {
            let places = now.iter().filter(|(_, found)| *found == content).count();
            // A copy of what lies outside is in the way of nothing, and goes when it is put back.
            let is_copy = content.contains("external") && places == 0;
            assert!(places == 1 || is_copy, "{places} x {content}: {:#?}", now.keys());
        }
        for run in &self.runs {
            let name = format!("alpha_{run}.json");
            let is_record = |path: &&String| Path::new(path).file_name().unwrap() == name.as_str();
            assert_eq!(now.keys().filter(is_record).count(), 1, "{name}: {:#?}", now.keys());
            let external = self.outside.path().join(format!("external_{run}"));
            assert_eq!(fs::read_to_string(external).unwrap(), format!("content of external_{run}"));
        }
        let leftover = |path: &&String| path.contains(".partial") || path.contains("journal.json");
        assert_eq!(now.keys().find(leftover), None);
    }

    fn assert_whole_archive(&self, entry: &Path, now: &BTreeMap<String, String>) {
        let below = entry.strip_prefix(self.path()).unwrap().to_str().unwrap();
        for run in &self.runs {
            let whole = record::read_whole(&entry.join(format!("alpha_{run}.json"))).unwrap();
            assert_eq!(decision::output_reasons(self.path(), &whole.head), []);
            assert_eq!(whole.metrics["loss"].as_u64(), Some(u64::from(*run)));
            for (label, tracked) in &whole.head.artifact_paths {
                assert!(tracked.path.starts_with(below), "{label}: {}", tracked.path);
            }
            let own =
                [format!("alpha/artifacts/run_{run}"), format!("alpha/checkpoints/run_{run}")];
            assert!(!now.keys().any(|path| own.iter().any(|own| path.starts_with(own))));
            assert!(!has_anything(self.path(), &slot(*run)));
        }
        let archived = timed_runs(&entry.join("timings.json"));
        let live = timed_runs(&self.path().join("alpha/timings.json"));
        for run in &self.runs {
            assert_eq!(archived.iter().filter(|found| *found == run).count(), 2, "{archived:?}");
            assert!(!live.contains(run), "{live:?}");
        }
    }
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The run indices of all entries of a timings file.
fn timed_runs(path: &Path) -> Vec<u32> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    let stages = Value::parse_json(&bytes).unwrap();
    let stages = stages.as_object().unwrap().values();
    let runs = stages.flat_map(|stage| stage.get("runs").unwrap().as_array().unwrap());
    runs.map(|run| run.get("run_idx").unwrap().as_u64().unwrap().try_into().unwrap()).collect()
}

/// Kills `work` at each of its steps, the recovery after it at each of its own, and looks at what
/// a last recovery leaves; both outcomes must occur.
fn killed_everywhere(
    tree: impl Fn() -> Tree,
    work: impl Fn(&Tree) -> Result<(), Error>,
    is_unmoved: impl Fn(&Tree, &BTreeMap<String, String>) -> bool,
) {
    let (mut unmoved, mut moved) = (0, 0);
    for steps in 0..MANY {
        let mut survived = false;
        for steps_of_recovery in 0..MANY {
            let tree = tree();
            let before = tree.files();
            survived = dying_after(steps, || work(&tree)).is_ok();
            let recovered = dying_after(steps_of_recovery, || recover(tree.path(), None));
            recover(tree.path(), None).unwrap();
            if is_unmoved(&tree, &before) {
                assert!(!survived, "it did nothing");
                unmoved += 1;
            } else {
                moved += 1;
            }
            if recovered.is_ok() {
                break;
            }
        }
        if survived {
            assert!(unmoved > 2 && moved > 10, "{unmoved} unmoved, {moved} moved");
            return;
        }
    }
    panic!("it never ended");
}

#[test]
fn a_slot_that_is_set_aside_is_in_one_place_whenever_the_process_dies() {
    killed_everywhere(
        || Tree::new(&[1]),
        |tree| set_aside(tree.path(), &slot(1)).map(drop),
        Tree::is_unmoved,
    );
}

#[test]
fn a_set_that_is_archived_is_in_one_place_whenever_the_process_dies() {
    killed_everywhere(
        || Tree::new(&[0, 1]),
        |tree| archive_set(tree.path(), &slug(), &[0, 1]).map(drop),
        Tree::is_unmoved,
    );
}

#[test]
fn what_other_runs_have_stays_where_it_is() {
    let mut tree = Tree::new(&[0, 1, 2]);
    archive_set(tree.path(), &slug(), &[0, 1]).unwrap();
    let now = tree.files();
    for path in ["runs/alpha_2.json", "alpha/artifacts/run_2/policy", "plots/curve_2"] {
        assert!(now.contains_key(path), "{:#?}", now.keys());
    }
    assert_eq!(timed_runs(&tree.path().join("alpha/timings.json")), [2, 2]);
    tree.runs = vec![0, 1];
    tree.assert_whole_archive(&tree.entries()[0], &now);
}

#[test]
fn a_slot_without_anything_is_not_set_aside() {
    let tree = Tree::new(&[1]);
    assert_eq!(set_aside(tree.path(), &slot(7)).unwrap(), None);
    assert_eq!(tree.entries(), Vec::<PathBuf>::new());
}

#[test]
fn outputs_of_a_slot_that_has_no_record_are_kept_too() {
    let tree = Tree::new(&[1]);
    fs::remove_file(record::record_path(tree.path(), &slot(1))).unwrap();
    let place = set_aside(tree.path(), &slot(1)).unwrap().unwrap();
    let policy = fs::read_to_string(place.join("artifacts/policy")).unwrap();
    assert_eq!(policy, "content of alpha/artifacts/run_1/policy");
}

#[test]
fn a_record_of_another_slot_takes_none_of_its_files_away() {
    let tree = Tree::new(&[0, 1]);
    let stray = record::record_path(tree.path(), &slot(5));
    let bytes = fs::read(record::record_path(tree.path(), &slot(0))).unwrap();
    fs::write(&stray, &bytes).unwrap();
    let before = tree.files();
    let place = set_aside(tree.path(), &slot(5)).unwrap().unwrap();
    assert_eq!(fs::read(place.join("alpha_5.json")).unwrap(), bytes);
    let mut now = tree.files();
    now.retain(|path, _| !path.starts_with("runs/_superseded"));
    now.insert("runs/alpha_5.json".to_owned(), String::from_utf8(bytes).unwrap());
    assert_eq!(now, before);
}

#[test]
fn names_of_one_second_get_suffixes() {
    let export = temporary();
    let parent = superseded_dir(export.path());
    let make = || Transaction::begin(export.path(), &parent, "alpha_1_20261129T131800Z").unwrap();
    let (first, second) = (make(), make());
    let names = [first, second].map(|transaction| transaction.commit(|_| Ok(Vec::new())).unwrap());
    let third = make().commit(|_| Ok(Vec::new())).unwrap();
    let names: Vec<_> = names
        .iter()
        .chain([&third])
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    let stem = "alpha_1_20261129T131800Z";
    assert_eq!(names, [stem.to_owned(), format!("{stem}_1"), format!("{stem}_2")]);
}

#[test]
fn recovery_leaves_a_transaction_alone_that_goes_on() {
    let tree = Tree::new(&[1]);
    let parent = superseded_dir(tree.path());
    let transaction = Transaction::begin(tree.path(), &parent, "alpha_0_20261129T131800Z").unwrap();
    let gathered = transaction.directory.join("copy");
    fs::write(&gathered, "gathered").unwrap();
    recover(tree.path(), None).unwrap();
    recover(tree.path(), Some(&slug())).unwrap();
    assert_eq!(fs::read_to_string(&gathered).unwrap(), "gathered");
    let done = transaction.commit(|_| Ok(Vec::new())).unwrap();
    assert!(done.join("copy").exists() && !done.join(LOCK).exists());
}

#[test]
fn recovery_for_a_slug_leaves_others_to_their_own() {
    let export = temporary();
    let parent = superseded_dir(export.path());
    let dead = |stem: &str| drop(Transaction::begin(export.path(), &parent, stem).unwrap());
    dead("alpha_1_20261129T131800Z");
    dead("beta_1_20261129T131800Z");
    recover(export.path(), Some(&slug())).unwrap();
    let left: Vec<_> =
        fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["beta_1_20261129T131800Z.partial"]);
    recover(export.path(), None).unwrap();
    assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
}

#[test]
fn a_full_disk_while_gathering_leaves_everything_where_it_was() {
    let Some(disk) = SmallDisk::mount() else { return };
    let tree = Tree::new(&[1]);
    let mut large = "x".repeat(200_000);
    large.push_str("content");
    let external = tree.outside.path().join("external_1");
    fs::write(&external, large).unwrap();
    tree.write_record(1, &[("external", external.to_str().unwrap().to_owned())]);
    let export = disk.join("export");
    crate::run::artifacts::copy_tree(tree.path(), &export).unwrap();
    let before = files_below(&export);
    let error = set_aside(&export, &slot(1)).unwrap_err().to_string();
    assert!(error.contains("cannot copy to"), "{error}");
    assert_eq!(files_below(&export), before);
    assert_eq!(fs::read_dir(superseded_dir(&export)).unwrap().count(), 0);
}

fn files_below(export: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(export, export, &mut files);
    files
}

#[test]
fn outputs_on_another_disk_are_copied_and_removed_whenever_the_process_dies() {
    let Some(disk) = SmallDisk::mount() else { return };
    let tree = || {
        let tree = Tree::new(&[1]);
        let (here, there) = (tree.path().join("alpha/artifacts"), disk.join("artifacts"));
        let _ = fs::remove_dir_all(&there);
        crate::run::artifacts::copy_tree(&here, &there).unwrap();
        fs::remove_dir_all(&here).unwrap();
        std::os::unix::fs::symlink(&there, &here).unwrap();
        tree
    };
    let work = |tree: &Tree| set_aside(tree.path(), &slot(1)).map(drop);
    killed_everywhere(tree, work, Tree::is_unmoved);
    // A kill in the middle of the removal: the copy is whole, the source is not.
    for steps in 0..MANY {
        let tree = tree();
        let before = tree.files();
        let own = tree.path().join("alpha/artifacts/run_1");
        let survived = dying_after(steps, || work(&tree)).is_ok();
        assert!(!survived, "the copy was never met beside its source");
        let copied = tree.entries().iter().any(|entry| entry.join("artifacts/policy").exists());
        if copied && own.join("policy").exists() {
            fs::remove_file(own.join("policy")).unwrap();
            recover(tree.path(), None).unwrap();
            assert!(!tree.is_unmoved(&before));
            return;
        }
    }
}

#[cfg(feature = "cli")]
mod entries;
