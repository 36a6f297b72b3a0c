//! A suite that is killed again and again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::{Ledger, entries};
use crate::random::{self, Random};
use crate::steps::{Bench, Ended, Start};

const KILLS: usize = 200;
const WORKERS: usize = 2;

/// Where kills fell.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    before_any_slot: usize,
    inside_a_slot: usize,
    before_a_move_is_decided: usize,
    during_a_move: usize,
    ends: usize,
}

fn scale_argument(scale: u64) -> String {
    format!("common_config.scale={scale}")
}

fn start(bench: &Bench, scale: u64) -> Start {
    bench.start(&["--set", &scale_argument(scale)])
}

/// Kills at a moment between start and end, or as soon as a file of some kind shows.
fn kill_at_random(start: Start, random: &mut Random, usual: Duration, export: &Path) -> Ended {
    let superseded = export.join("runs/_superseded");
    let soon = Duration::from_millis(4);
    match random.below(8) {
        0 => await_entry(&superseded, usual, |path| ends_with(path, ".partial")),
        1 => await_entry(&superseded, usual, |path| {
            !ends_with(path, ".partial") && path.join("journal.json").exists()
        }),
        2 => await_entry(&export.join("runs"), random.duration(usual), |path| {
            ends_with(path, ".rle-tmp")
        }),
        _ => thread::sleep(random.duration(usual + soon)),
    }
    if random.one_in(2) {
        thread::sleep(random.duration(soon));
    }
    start.kill()
}

fn await_entry(directory: &Path, patience: Duration, is_it: impl Fn(&Path) -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if entries(directory).iter().any(|path| is_it(path)) {
            return;
        }
        thread::yield_now();
    }
}

fn ends_with(path: &Path, suffix: &str) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(suffix.as_bytes())
}

/// Kills one suite after another until there were enough, with a check after each.
fn kill_suites(
    mut random: Random,
    quota: usize,
    references: &[PathBuf; 2],
    usual: Duration,
) -> Tally {
    let mut tally = Tally::default();
    while tally.kills < quota {
        // On a disk, moves take long enough to be hit; in memory, everything else is faster.
        let bench = if random.one_in(2) { Bench::new() } else { Bench::in_memory() };
        let mut ledger = Ledger::new(bench.export());
        // Back and forth, so that each change moves complete records aside.
        for turn in 0..4 {
            let mut scale = 1 + turn % 2;
            loop {
                if random.one_in(10) {
                    scale = 3 - scale;
                }
                let missing = ledger.missing(scale);
                let started = start(&bench, scale);
                let ended = if tally.kills < quota && !random.one_in(6) {
                    kill_at_random(started, &mut random, usual, &bench.export())
                } else {
                    started.end()
                };
                ledger.check();
                let slots = ended.begun().into_iter().filter(|step| *step != "groundwork");
                let begun: BTreeSet<String> = slots.clone().map(ToOwned::to_owned).collect();
                assert_eq!(begun.len(), slots.count(), "a slot was computed twice in one start");
                if ended.status.is_some() {
                    ended.assert_status(0);
                    assert_eq!(begun, missing, "{}", ended.said);
                    let reference = &references[usize::from(scale == 2)];
                    ledger.check_end(scale, &ended.begun(), reference);
                    tally.ends += 1;
                    break;
                }
                assert!(begun.is_subset(&missing), "{begun:?} of {missing:?}");
                tally.count(&ended, ledger.moves());
            }
        }
    }
    tally
}

impl Tally {
    fn count(&mut self, killed: &Ended, (is_copying, is_moving): (bool, bool)) {
        self.kills += 1;
        let last = killed.journal.last();
        self.before_any_slot += usize::from(last.is_none());
        self.inside_a_slot += usize::from(last.is_some_and(|line| line.what == "begin"));
        self.before_a_move_is_decided += usize::from(is_copying);
        self.during_a_move += usize::from(is_moving);
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            kills: self.kills + other.kills,
            before_any_slot: self.before_any_slot + other.before_any_slot,
            inside_a_slot: self.inside_a_slot + other.inside_a_slot,
            before_a_move_is_decided: self.before_a_move_is_decided
                + other.before_a_move_is_decided,
            during_a_move: self.during_a_move + other.during_a_move,
            ends: self.ends + other.ends,
        }
    }
}

#[test]
fn a_suite_killed_at_random_moments_loses_nothing_and_goes_on_with_exactly_what_is_missing() {
    let seed = random::seed();
    let references = [Bench::new(), Bench::new()];
    let begun = Instant::now();
    for (bench, scale) in references.iter().zip([1, 2]) {
        let ended = start(bench, scale).end();
        ended.assert_status(0);
        assert_eq!(ended.begun().len(), 7, "six slots and their prepare");
    }
    let usual = begun.elapsed() / 2;
    let exports = [references[0].export(), references[1].export()];
    let tally = thread::scope(|scope| {
        let work = |worker: u64| {
            let random = Random::new(seed, worker);
            scope.spawn(|| kill_suites(random, KILLS / WORKERS, &exports, usual))
        };
        let workers: Vec<_> = (0..WORKERS as u64).map(work).collect();
        let tallies = workers.into_iter().map(|worker| worker.join().unwrap());
        tallies.fold(Tally::default(), |sum, tally| sum.and(&tally))
    });
    println!("{tally:?}, a usual start takes {usual:?}");
    assert!(tally.kills >= KILLS && tally.ends > 0);
    assert!(tally.before_any_slot > 0 && tally.inside_a_slot > 0 && tally.during_a_move > 0);
    assert!(tally.before_a_move_is_decided > 0);
}
