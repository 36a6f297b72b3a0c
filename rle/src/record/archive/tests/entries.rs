use super::*;
use crate::record::{RunStatus, WholeRecord};

fn only(export: &Path) -> Entry {
    let mut entries = list(export).unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

/// The tree as it was before, archived; its files before that.
fn archived() -> (Tree, BTreeMap<String, String>) {
    let tree = Tree::new(&[0, 1]);
    let before = tree.files();
    archive_set(tree.path(), &slug(), &[0, 1]).unwrap();
    (tree, before)
}

#[test]
fn what_is_restored_is_as_it_was_whenever_the_process_dies() {
    let live = Tree::new(&[1]).files();
    let archived = || {
        let tree = Tree::new(&[1]);
        archive_set(tree.path(), &slug(), &[1]).unwrap();
        tree
    };
    killed_everywhere(
        archived,
        |tree| restore(tree.path(), &only(tree.path())),
        |tree, before| {
            let now = tree.files();
            // The archive of the moment, the tests' own records, may hold a rewritten copy.
            let unrestored: BTreeMap<_, _> = now
                .iter()
                .filter(|(path, _)| !path.contains("/restored/"))
                .map(|(path, content)| (path.clone(), content.clone()))
                .collect();
            tree.assert_nothing_twice_or_lost(before, &unrestored);
            if unrestored == *before {
                return true;
            }
            let names =
                |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<String>>();
            assert_eq!(names(&now), names(&live));
            let path = record::record_path(tree.path(), &slot(1));
            let whole = record::read_whole(&path).unwrap();
            assert_eq!(decision::output_reasons(tree.path(), &whole.head), []);
            assert_eq!(timed_runs(&tree.path().join("alpha/timings.json")), [1, 1]);
            false
        },
    );
}

#[test]
fn a_restored_tree_is_the_same_to_the_byte() {
    let (tree, before) = archived();
    fs::remove_file(tree.outside.path().join("external_1")).unwrap();
    restore(tree.path(), &only(tree.path())).unwrap();
    assert_eq!(tree.files(), before);
    assert!(tree.outside.path().join("external_1").exists());
    assert!(list(tree.path()).unwrap().is_empty());
}

#[test]
fn nothing_is_restored_over_what_is_live() {
    type Block = fn(&Tree);
    let cases: [(&str, Block); 4] = [
        ("runs/alpha_1.json", |tree| write(&tree.path().join("runs/alpha_1.json"), "{}")),
        ("alpha/artifacts/run_0", |tree| {
            write(&tree.path().join("alpha/artifacts/run_0/new"), "new");
        }),
        ("plots/curve_1", |tree| write(&tree.path().join("plots/curve_1"), "new")),
        ("external_1", |tree| write(&tree.outside.path().join("external_1"), "new")),
    ];
    for (place, block) in cases {
        let (tree, _) = archived();
        block(&tree);
        let before = tree.files();
        let error = restore(tree.path(), &only(tree.path())).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains("is not restored"), "{error}");
        assert_eq!(tree.files(), before, "{place}");
    }
}

#[test]
fn an_entry_names_its_slots_with_and_without_records() {
    let (tree, _) = archived();
    assert_eq!(only(tree.path()).slots, ["alpha:0", "alpha:1"]);
    let tree = Tree::new(&[1]);
    fs::write(record::record_path(tree.path(), &slot(1)), "{torn").unwrap();
    set_aside(tree.path(), &slot(1)).unwrap();
    let entry = only(tree.path());
    assert_eq!((entry.kind, entry.slots.as_slice()), ("superseded", &["alpha:1".to_owned()][..]));
    restore(tree.path(), &entry).unwrap();
    let record = fs::read_to_string(record::record_path(tree.path(), &slot(1))).unwrap();
    assert_eq!(record, "{torn");
    assert_eq!(timed_runs(&tree.path().join("alpha/timings.json")), [1, 1]);
}

#[test]
fn an_algorithm_may_be_called_like_a_file_of_ours() {
    let export = temporary();
    let slug = Slug::new("timings").unwrap();
    let slot = SlotId::new(slug, 0);
    let mut head = RecordHead { run_idx: 0, ..sample::complete() };
    head.algorithm.slug = "timings".to_owned();
    head.status = RunStatus::Failed;
    let path = record::record_path(export.path(), &slot);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    WholeRecord::without_result(head).write(&path).unwrap();
    let before = fs::read(&path).unwrap();
    set_aside(export.path(), &slot).unwrap().unwrap();
    restore(export.path(), &only(export.path())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn the_newest_of_each_set_and_slot_are_kept() {
    let export = temporary();
    let make = |parent: &Path, stem: &str| {
        let transaction = Transaction::begin(export.path(), parent, stem).unwrap();
        transaction.commit(|_| Ok(Vec::new())).unwrap();
    };
    let superseded = superseded_dir(export.path());
    for _ in 0..12 {
        make(&superseded, "alpha_1_20261129T131800Z");
    }
    make(&superseded, "alpha_1_20261128T131800Z");
    make(&superseded, "alpha_11_20261127T131800Z");
    make(&archived_dir(export.path()), "alpha_1_20261129T131800Z");
    let names = |keep| {
        let entries = to_prune(export.path(), keep).unwrap();
        entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(names(12), ["alpha_1_20261128T131800Z"]);
    let stem = "alpha_1_20261129T131800Z";
    let old = ["alpha_1_20261128T131800Z".to_owned(), stem.to_owned(), format!("{stem}_1")];
    assert_eq!(names(10), old);
    assert_eq!(names(0).len(), 15);
    for entry in to_prune(export.path(), 10).unwrap() {
        prune(&entry.path).unwrap();
    }
    assert_eq!(list(export.path()).unwrap().len(), 12);
    assert_eq!(names(10), Vec::<String>::new());
}

#[test]
fn a_pruned_entry_is_whole_or_gone_whenever_the_process_dies() {
    for steps in 0..MANY {
        let (tree, _) = archived();
        let before = tree.files();
        let entry = only(tree.path());
        let pruned = dying_after(steps, || prune(&entry.path)).is_ok();
        recover(tree.path(), None).unwrap();
        let now = tree.files();
        let is_gone = !now.keys().any(|path| path.contains("_archived_complete_runs"));
        assert!(is_gone || now == before, "{:#?}", now.keys());
        assert!(is_gone || !pruned);
        if pruned {
            assert!(steps >= 2);
            return;
        }
    }
    panic!("it never ended");
}

#[test]
fn an_entry_that_is_not_there_is_answered_with_the_near_one() {
    let (tree, _) = archived();
    let name = only(tree.path()).name;
    let error = find(tree.path(), &name[..name.len() - 1]).unwrap_err().to_string();
    assert!(error.contains(&format!("did you mean `{name}`?")), "{error}");
}
