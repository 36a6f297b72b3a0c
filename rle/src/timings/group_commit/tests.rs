//! Saves that wait, written by whoever holds the lock.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::holder::merge;
use super::offer::{Offer, Offered, offers_for, render};
use crate::Error;
use crate::fs::dying_after;
use crate::timings::locked::LockedFiles;
use crate::timings::*;
use crate::value::Value;

const FILES: [&str; 3] = ["timings.json", "timings.json.lock", "timings_hardware.json"];
const LONG: Duration = Duration::from_mins(1);

fn of(run_idx: u32, seconds: f64) -> Timings {
    let mut timings = Timings::new();
    timings.record("a", seconds, RunKey::run(run_idx)).unwrap();
    timings
}

fn runs(dir: &Path) -> Vec<u32> {
    let timings = Timings::load(dir).unwrap();
    let runs = timings.stage("a").map(Stage::runs).unwrap_or_default();
    runs.iter().map(|run| run.run_idx().unwrap()).collect()
}

fn sorted(mut runs: Vec<u32>) -> Vec<u32> {
    runs.sort_unstable();
    runs
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A directory whose hardware is described, so that nothing else is in the way of an offer.
fn described() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    describe_hardware(dir.path()).unwrap();
    dir
}

fn lock(dir: &Path) -> LockedFiles {
    LockedFiles::lock(dir, LONG).unwrap()
}

fn offered(dir: &Path) -> usize {
    names(dir).iter().filter(|name| name.ends_with(".rle-offer")).count()
}

/// Waits until so many saves offer what they have, or one of them has ended.
fn await_offers<T>(dir: &Path, count: usize, savers: &[ScopedJoinHandle<'_, T>]) {
    while offered(dir) < count && !savers.iter().any(ScopedJoinHandle::is_finished) {
        thread::yield_now();
    }
}

#[test]
fn what_waiting_saves_have_is_written_by_the_holder_before_its_own() {
    let dir = described();
    let files = lock(dir.path());
    thread::scope(|scope| {
        let savers = [1, 2, 3].map(|run| {
            let dir = dir.path();
            scope.spawn(move || of(run, 1.0).save(dir))
        });
        await_offers(dir.path(), 3, &savers);
        // Of a key that an offer has too the holder's own is the newer.
        let mut own = of(3, 9.0);
        own.record("a", 4.0, RunKey::run(4)).unwrap();
        merge(files, &own).unwrap();
        for saver in savers {
            saver.join().unwrap().unwrap();
        }
    });
    let runs = runs(dir.path());
    assert_eq!(runs.last(), Some(&4));
    assert_eq!(sorted(runs), [1, 2, 3, 4]);
    let timings = Timings::load(dir.path()).unwrap();
    let total = timings.stage("a").unwrap().total_seconds();
    assert!((total - 15.0).abs() < 1e-12, "{total}");
    assert_eq!(names(dir.path()), FILES);
}

#[test]
fn a_holder_that_dies_at_any_step_loses_no_save_that_returned_and_writes_none_twice() {
    for steps in 0.. {
        let dir = described();
        let files = lock(dir.path());
        let outcome = thread::scope(|scope| {
            let savers = [1, 2].map(|run| {
                let dir = dir.path();
                scope.spawn(move || of(run, 1.0).save(dir))
            });
            await_offers(dir.path(), 2, &savers);
            let outcome = dying_after(steps, || merge(files, &of(3, 1.0)));
            for saver in savers {
                saver.join().unwrap().unwrap();
            }
            outcome
        });
        let runs = sorted(runs(dir.path()));
        if outcome.is_ok() {
            assert_eq!(runs, [1, 2, 3]);
            assert_eq!(steps, 7);
            break;
        }
        assert!(runs == [1, 2] || runs == [1, 2, 3], "{steps}: {runs:?}");
        of(4, 1.0).save(dir.path()).unwrap();
        assert_eq!(names(dir.path()), FILES, "{steps}");
    }
}

#[test]
fn an_owner_that_dies_at_any_step_has_its_entry_there_once_or_not_at_all() {
    for holder_merges in [true, false] {
        for steps in 0.. {
            let dir = described();
            let files = lock(dir.path());
            let outcome = thread::scope(|scope| {
                let saver = scope.spawn(|| dying_after(steps, || of(1, 1.0).save(dir.path())));
                let savers = [saver];
                await_offers(dir.path(), 1, &savers);
                if holder_merges {
                    merge(files, &of(2, 1.0)).unwrap();
                } else {
                    drop(files);
                }
                let [saver] = savers;
                saver.join().unwrap()
            });
            let found = runs(dir.path());
            assert!(found.iter().filter(|run| **run == 1).count() <= 1, "{steps}: {found:?}");
            assert_eq!(found.contains(&2), holder_merges);
            of(3, 1.0).save(dir.path()).unwrap();
            assert_eq!(names(dir.path()), FILES, "{steps}");
            if outcome.is_ok() {
                assert!(found.contains(&1));
                assert_eq!(steps, if holder_merges { 4 } else { 7 });
                break;
            }
        }
    }
}

#[test]
fn the_offer_of_an_owner_that_died_is_never_written() {
    let dir = described();
    let text = render(&of(1, 1.0));
    drop(Offer::make(&dir.path().join(TIMINGS_FILE), text.as_bytes()).unwrap().unwrap());
    assert_eq!(offered(dir.path()), 1);
    of(2, 1.0).save(dir.path()).unwrap();
    assert_eq!(runs(dir.path()), [2]);
    assert_eq!(names(dir.path()), FILES);
}

#[test]
fn an_owner_that_gives_up_has_withdrawn_what_it_offered() {
    let dir = described();
    let files = lock(dir.path());
    let options = SaveOptions::default().lock_timeout(Duration::from_millis(30));
    let error = of(1, 1.0).save_with(dir.path(), options).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    merge(files, &of(2, 1.0)).unwrap();
    assert_eq!(runs(dir.path()), [2]);
    assert_eq!(names(dir.path()), FILES);
}

/// An owner whose offer is taken just before it gives up, and what it says in the end.
fn taken_at_the_last_moment(dir: &Path, ending: impl FnOnce(Offered, LockedFiles)) {
    let wait = Duration::from_millis(100);
    let files = lock(dir);
    let outcome = thread::scope(|scope| {
        let options = SaveOptions::default().lock_timeout(wait);
        let savers = [scope.spawn(move || of(1, 1.0).save_with(dir, options))];
        let began = Instant::now();
        await_offers(dir, 1, &savers);
        let mut offer = offers_for(&dir.join(TIMINGS_FILE)).pop().unwrap();
        assert!(offer.take());
        while began.elapsed() < 2 * wait {
            thread::yield_now();
        }
        assert!(!savers[0].is_finished());
        ending(offer, files);
        let [saver] = savers;
        saver.join().unwrap()
    });
    outcome.unwrap();
}

#[test]
fn an_owner_whose_offer_was_taken_as_it_gave_up_waits_for_the_outcome() {
    let dir = described();
    taken_at_the_last_moment(dir.path(), |offer, files| {
        merge(files, &of(1, 1.0)).unwrap();
        offer.accept();
    });
    assert_eq!(runs(dir.path()), [1]);
    // A holder that died on the way leaves it to the owner.
    let dir = described();
    taken_at_the_last_moment(dir.path(), |_, files| drop(files));
    assert_eq!(runs(dir.path()), [1]);
}

#[test]
fn an_offer_that_somebody_removes_is_saved_by_its_owner() {
    let dir = described();
    let files = lock(dir.path());
    thread::scope(|scope| {
        let savers = [scope.spawn(|| of(1, 1.0).save(dir.path()))];
        await_offers(dir.path(), 1, &savers);
        for name in names(dir.path()).iter().filter(|name| name.ends_with(".rle-offer")) {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        merge(files, &of(2, 1.0)).unwrap();
        let [saver] = savers;
        saver.join().unwrap().unwrap();
    });
    assert_eq!(runs(dir.path()), [2, 1]);
}

#[test]
fn hardware_that_is_there_is_renamed_and_other_hardware_is_left_to_its_owner() {
    let description = |gib: f64| {
        let memory: Value = [("limit_gib", gib)].into_iter().collect();
        [("memory", memory)].into_iter().collect::<Value>()
    };
    let on = |run: u32, id: &str, gib: f64| {
        let run_entry = RunEntry::new(id, 1.0, RunKey::run(run), BTreeMap::default()).unwrap();
        let mut timings = Timings::new();
        timings.hardware.add(id, &description(gib));
        timings.stages.entry("a".to_owned()).or_default().runs_mut().push(run_entry);
        timings
    };
    let dir = described();
    on(0, "hw_known", 1.0).save(dir.path()).unwrap();
    let files = lock(dir.path());
    thread::scope(|scope| {
        let savers = [(1, "hw_same", 1.0), (2, "hw_new", 2.0)].map(|(run, id, gib)| {
            let timings = on(run, id, gib);
            let dir = dir.path();
            scope.spawn(move || timings.save(dir))
        });
        await_offers(dir.path(), 2, &savers);
        merge(files, &of(3, 1.0)).unwrap();
        for saver in savers {
            saver.join().unwrap().unwrap();
        }
    });
    assert_eq!(runs(dir.path()), [0, 1, 3, 2]);
    let timings = Timings::load(dir.path()).unwrap();
    let ids: Vec<_> =
        timings.stage("a").unwrap().runs().iter().map(RunEntry::hardware_id).collect();
    assert_eq!(ids, ["hw_known", "hw_known", hardware_id(), "hw_new"]);
    assert!(ids.iter().all(|id| timings.hardware_description(id).is_some()));
}

#[test]
fn offers_that_are_not_understood_are_left_to_their_owners() {
    let dir = described();
    let good = render(&of(1, 1.0));
    let bad = [
        "garbage".to_owned(),
        "{}".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"schema_version\": 1, \"timings\"", "\"schema_version\": 2, \"timings\""),
        good.replace("\"seconds\": 1.0", "\"seconds\": -1.0"),
        good.replace("{\"hardware\"", "{\"further\": 1, \"hardware\""),
    ];
    let offers = bad.map(|text| {
        assert_ne!(text, good);
        Offer::make(&dir.path().join(TIMINGS_FILE), text.as_bytes()).unwrap().unwrap()
    });
    of(2, 1.0).save(dir.path()).unwrap();
    assert_eq!(runs(dir.path()), [2]);
    assert!(offers.iter().all(|offer| !offer.is_accepted() && offer.withdraw()));
    // The same text is taken as it is.
    let offer = Offer::make(&dir.path().join(TIMINGS_FILE), good.as_bytes()).unwrap().unwrap();
    of(3, 1.0).save(dir.path()).unwrap();
    assert!(offer.is_accepted());
    assert_eq!(runs(dir.path()), [2, 1, 3]);
}

#[test]
fn what_is_too_long_for_an_offer_waits_for_the_lock() {
    let dir = described();
    let files = lock(dir.path());
    let mut long = Timings::new();
    let text: Value = [("text", "x".repeat(2 << 20))].into_iter().collect();
    long.record_with("a", 1.0, RunKey::run(1), &text).unwrap();
    let options = SaveOptions::default().lock_timeout(Duration::from_millis(30));
    assert!(matches!(long.save_with(dir.path(), options), Err(Error::Locked { .. })));
    merge(files, &of(2, 1.0)).unwrap();
    long.save(dir.path()).unwrap();
    assert_eq!(runs(dir.path()), [2, 1]);
}

#[test]
fn entries_without_a_key_that_come_again_collapse() {
    let dir = described();
    let mut timings = Timings::new();
    timings.record("a", 1.0, RunKey::none()).unwrap();
    timings.save(dir.path()).unwrap();
    // As after a holder that died with the file in its place and the offer not yet accepted.
    timings.save(dir.path()).unwrap();
    assert_eq!(Timings::load(dir.path()).unwrap().stage("a").unwrap().runs().len(), 1);
}

#[test]
fn a_file_that_is_no_timing_file_is_an_error_for_holder_and_owner() {
    let dir = described();
    fs::write(dir.path().join(TIMINGS_FILE), "{\"half").unwrap();
    let files = lock(dir.path());
    thread::scope(|scope| {
        let savers = [scope.spawn(|| of(1, 1.0).save(dir.path()))];
        await_offers(dir.path(), 1, &savers);
        merge(files, &of(2, 1.0)).unwrap_err();
        let [saver] = savers;
        let error = saver.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("is not whole JSON"), "{error}");
    });
    assert_eq!(fs::read_to_string(dir.path().join(TIMINGS_FILE)).unwrap(), "{\"half");
    assert_eq!(names(dir.path()), FILES);
}
