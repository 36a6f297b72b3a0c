use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::fs::small_disk::SmallDisk;

fn names_in(dir: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    write_atomically(path, |writer| writer.write_all(text.as_bytes()))
}

#[test]
fn replaces_the_whole_file_and_leaves_nothing_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_text(&path, "a long first version").unwrap();
    write_text(&path, "second").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(names_in(dir.path()), ["record.json"]);
}

#[test]
fn json_is_indented_and_ends_with_a_newline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_json_atomically(&path, &BTreeMap::from([("seed", u64::MAX)])).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"seed\": 18446744073709551615\n}\n");
}

#[test]
fn a_value_without_a_json_form_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_text(&path, "old").unwrap();
    let error = write_json_atomically(&path, &BTreeMap::from([((1, 2), 3)])).unwrap_err();
    assert!(error.to_string().contains("record.json"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(dir.path()), ["record.json"]);
}

#[test]
fn a_failing_writer_leaves_the_old_file_and_no_temporary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_text(&path, "old").unwrap();
    let error = write_atomically(&path, |writer| {
        writer.write_all(&vec![b'x'; 100_000])?;
        Err(io::Error::other("no more"))
    })
    .unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write {}: no more", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(dir.path()), ["record.json"]);
}

#[test]
fn a_panicking_writer_leaves_the_old_file_and_no_temporary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_text(&path, "old").unwrap();
    let write = AssertUnwindSafe(|| write_atomically(&path, |_| panic!("in the writer")));
    assert!(catch_unwind(write).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(dir.path()), ["record.json"]);
}

#[test]
fn a_full_disk_is_an_error_and_keeps_the_old_file() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.join("record.json");
    write_text(&path, "old").unwrap();
    let error = write_text(&path, &"x".repeat(200_000)).unwrap_err();
    assert!(error.to_string().contains("record.json"), "{error}");
    let Error::Io { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(disk.path()), ["record.json"]);
}

#[test]
fn what_fits_only_in_the_buffer_is_still_found_not_to_fit_the_disk() {
    let Some(disk) = SmallDisk::mount() else { return };
    let filled = fs::write(disk.join("filler"), vec![0; 200_000]);
    assert_eq!(filled.unwrap_err().kind(), io::ErrorKind::StorageFull);
    let error = write_text(&disk.join("record.json"), "small").unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert_eq!(names_in(disk.path()), ["filler"]);
}

#[test]
fn a_read_only_disk_is_an_error_and_keeps_the_old_file() {
    let Some(disk) = SmallDisk::mount() else { return };
    let path = disk.join("record.json");
    write_text(&path, "old").unwrap();
    disk.make_read_only();
    let error = write_text(&path, "new").unwrap_err();
    assert!(error.to_string().contains("record.json"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn a_directory_in_the_place_of_the_file_is_named_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    fs::create_dir(&path).unwrap();
    let error = write_text(&path, "new").unwrap_err();
    assert!(error.to_string().contains("record.json: is a directory"), "{error}");
    assert_eq!(names_in(dir.path()), ["record.json"]);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_an_error_naming_the_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("runs"), "").unwrap();
    let error = write_text(&dir.path().join("runs/record.json"), "new").unwrap_err();
    assert!(error.to_string().contains("runs/record.json"), "{error}");
}

#[test]
fn a_missing_directory_is_an_error_and_is_not_created() {
    let dir = tempfile::tempdir().unwrap();
    assert!(write_text(&dir.path().join("runs/record.json"), "new").is_err());
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn a_name_as_long_as_names_may_be_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["n".repeat(255), "é".repeat(127)] {
        write_text(&dir.path().join(&name), "x").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(&name)).unwrap(), "x");
    }
}

#[test]
fn a_temporary_is_hidden_names_its_target_and_is_no_json() {
    let name = unique_name(Path::new("runs/ippo_0.json"), SUFFIX).unwrap();
    assert!(name.starts_with(".ippo_0.json."), "{name}");
    assert_ne!(Path::new(&name).extension().unwrap(), "json");
    assert_ne!(name, unique_name(Path::new("runs/ippo_0.json"), SUFFIX).unwrap());
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_stays_and_the_file_it_leads_to_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        fs::write(dir.path().join("real/timings.json"), "old").unwrap();
        symlink("real/timings.json", dir.path().join("second")).unwrap();
        symlink("second", dir.path().join("timings.json")).unwrap();
        write_text(&dir.path().join("timings.json"), "new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("real/timings.json")).unwrap(), "new");
        assert_eq!(names_in(&dir.path().join("real")), ["timings.json"]);
        assert!(dir.path().join("timings.json").is_symlink());
    }

    #[test]
    fn a_link_to_no_file_yet_creates_that_file() {
        let dir = tempfile::tempdir().unwrap();
        symlink("later.json", dir.path().join("timings.json")).unwrap();
        write_text(&dir.path().join("timings.json"), "new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("later.json")).unwrap(), "new");
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = write_text(&dir.path().join("a"), "new").unwrap_err();
        assert!(error.to_string().contains("loop"), "{error}");
    }

    #[test]
    fn a_written_file_has_the_mode_of_any_new_file() {
        let dir = tempfile::tempdir().unwrap();
        write_text(&dir.path().join("ours"), "x").unwrap();
        fs::write(dir.path().join("plain"), "x").unwrap();
        let mode = |name| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[test]
    fn a_link_with_the_name_of_a_leftover_is_not_followed_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("precious"), "x").unwrap();
        symlink("precious", dir.path().join(".record.json.1-0-0.rle-tmp")).unwrap();
        assert_eq!(sweep_leftovers(dir.path()).unwrap(), 0);
        assert_eq!(names_in(dir.path()), [".record.json.1-0-0.rle-tmp", "precious"]);
    }
}

#[test]
fn a_sweep_removes_leftovers_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    for name in [".record.json.1-0-0.rle-tmp", "record.json", ".hidden", "x.rle-tmp"] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    fs::create_dir(dir.path().join(".dir.rle-tmp")).unwrap();
    assert_eq!(sweep_leftovers(dir.path()).unwrap(), 1);
    assert_eq!(names_in(dir.path()), [".dir.rle-tmp", ".hidden", "record.json", "x.rle-tmp"]);
}

#[test]
fn a_sweep_during_a_write_leaves_the_temporary_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record.json");
    write_atomically(&path, |writer| {
        assert_eq!(sweep_leftovers(dir.path()).unwrap(), 0);
        writer.write_all(b"new")
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn a_directory_that_does_not_exist_has_no_leftovers() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(sweep_leftovers(&dir.path().join("none")).unwrap(), 0);
}

#[test]
fn writes_of_many_threads_under_constant_sweeps_all_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let path = dir.path().join(format!("{writer}.json"));
                scope.spawn(move || (0..100).try_for_each(|_| write_text(&path, "x")))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                sweep_leftovers(dir.path()).unwrap();
            }
        });
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        for outcome in outcomes {
            outcome.unwrap();
        }
    });
    assert_eq!(names_in(dir.path()), ["0.json", "1.json", "2.json", "3.json"]);
}
