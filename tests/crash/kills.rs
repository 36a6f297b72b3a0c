//! A suite that is killed again and again.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::ledger::Ledger;
use crate::steps::{Bench, Ended, Start};

const KILLS: usize = 200;
const WORKERS: usize = 2;

/// Random numbers that a seed gives again.
struct Random(u64);

impl Random {
    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn duration(&mut self, longest: Duration) -> Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap();
        Duration::from_nanos(self.below(nanos.max(1)))
    }
}

/// Where kills fell.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    before_any_slot: usize,
    inside_a_slot: usize,
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
    let soon = Duration::from_millis(4);
    match random.below(8) {
        0 => await_entry(&export.join("runs/_superseded"), ".partial", 2 * usual),
        1 => await_entry(&export.join("runs"), ".rle-tmp", random.duration(usual)),
        _ => thread::sleep(random.duration(usual + soon)),
    }
    if random.one_in(2) {
        thread::sleep(random.duration(soon));
    }
    start.kill()
}

fn await_entry(directory: &Path, suffix: &str, patience: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        let mut names = fs::read_dir(directory).into_iter().flatten().flatten();
        if names.any(|entry| entry.file_name().to_string_lossy().ends_with(suffix)) {
            return;
        }
        thread::yield_now();
    }
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
        let bench = Bench::new();
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
                tally.count(&ended, ledger.is_moving());
            }
        }
    }
    tally
}

impl Tally {
    fn count(&mut self, killed: &Ended, is_moving: bool) {
        self.kills += 1;
        let last = killed.journal.last();
        self.before_any_slot += usize::from(last.is_none());
        self.inside_a_slot += usize::from(last.is_some_and(|line| line.what == "begin"));
        self.during_a_move += usize::from(is_moving);
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            kills: self.kills + other.kills,
            before_any_slot: self.before_any_slot + other.before_any_slot,
            inside_a_slot: self.inside_a_slot + other.inside_a_slot,
            during_a_move: self.during_a_move + other.during_a_move,
            ends: self.ends + other.ends,
        }
    }
}

#[test]
fn a_suite_killed_at_random_moments_loses_nothing_and_goes_on_with_exactly_what_is_missing() {
    let seed = env::var("RLE_CRASH_SEED").map_or_else(
        |_| {
            u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros())
                .unwrap()
        },
        |seed| seed.parse().unwrap(),
    );
    println!("to draw the same moments again: RLE_CRASH_SEED={seed}");
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
            let random = Random(seed.wrapping_add(worker));
            scope.spawn(|| kill_suites(random, KILLS / WORKERS, &exports, usual))
        };
        let workers: Vec<_> = (0..WORKERS as u64).map(work).collect();
        let tallies = workers.into_iter().map(|worker| worker.join().unwrap());
        tallies.fold(Tally::default(), |sum, tally| sum.and(&tally))
    });
    println!("{tally:?}, a usual start takes {usual:?}");
    assert!(tally.kills >= KILLS && tally.ends > 0);
    assert!(tally.before_any_slot > 0 && tally.inside_a_slot > 0 && tally.during_a_move > 0);
}
