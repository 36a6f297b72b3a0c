//! Restarts that are killed while the complete set moves into the archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::{Ledger, entries};
use crate::random::{self, Random};
use crate::steps::Bench;

const KILLS: usize = 60;

/// How long the archive is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for the copies of a set, or until its move is decided.
fn await_archiving(archived: &Path, before: usize, is_decided: bool) {
    let is_copies =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "partial");
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let sets = entries(archived);
        if sets.iter().filter(|path| !is_decided || !is_copies(path)).count() > before {
            break;
        }
        thread::yield_now();
    }
}

#[test]
fn a_restart_killed_at_random_moments_leaves_the_old_set_or_the_whole_archive() {
    let mut random = Random::new(random::seed(), 0);
    let mut bench = Bench::new();
    let mut ledger = Ledger::new(bench.export());
    let whole = bench.run(&[]);
    whole.assert_status(0);
    let (mut copying, mut moving, mut archived, mut kept) = (0, 0, 0, 0);
    for kill in 0..KILLS {
        if kill % 20 == 19 {
            // On a disk, moves take long enough to be hit; in memory, everything else is faster.
            bench = if kill > 20 { Bench::in_memory() } else { Bench::new() };
            ledger = Ledger::new(bench.export());
            bench.run(&[]).assert_status(0);
        }
        ledger.check();
        // One set, or three of which some may be archived already.
        let selected: &[&str] =
            [&["gamma"][..], &["alpha", "beta", "gamma"]][usize::from(random.one_in(2))];
        let folder = bench.export().join("runs/_archived_complete_runs");
        let before = entries(&folder).len();
        let start = bench.start(&["--restart-completed-runs", "--algorithms", &selected.join(",")]);
        await_archiving(&folder, before, random.one_in(2));
        if !random.one_in(4) {
            thread::sleep(random.duration(Duration::from_millis(12)));
        }
        start.kill();
        ledger.check();
        let (is_copying, is_moving) = ledger.moves();
        copying += usize::from(is_copying);
        moving += usize::from(is_moving);

        let missing = ledger.missing(1);
        let ended = bench.run(&[]);
        ended.assert_status(0);
        ledger.check();
        ledger.check_settled();
        let begun = ended.begun().into_iter().filter(|step| *step != "groundwork");
        assert_eq!(begun.map(ToOwned::to_owned).collect::<BTreeSet<_>>(), missing);
        let sets = entries(&folder).len() - before;
        archived += sets;
        kept += selected.len() - sets;
    }
    println!("{copying} copying, {moving} moving, {archived} sets archived, {kept} kept");
    assert!(copying > 0 && moving > 0 && archived > 0 && kept > 0);
}

#[test]
fn the_lock_of_a_move_that_was_killed_at_its_very_end_goes_with_the_next_start() {
    let bench = Bench::new();
    bench.run(&["--algorithms", "gamma"]).assert_status(0);
    bench.run(&["--algorithms", "gamma", "--restart-completed-runs"]).assert_status(0);
    let [archive] = &entries(&bench.export().join("runs/_archived_complete_runs"))[..] else {
        panic!("one set is archived");
    };
    let lock = archive.join("transfer.lock");
    fs::write(&lock, "").unwrap();
    let ended = bench.run(&["--algorithms", "gamma"]);
    ended.assert_status(0);
    assert!(ended.begun().is_empty() && !lock.exists());
    assert!(archive.join("origin.json").exists());
}
