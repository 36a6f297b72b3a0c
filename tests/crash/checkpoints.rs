//! Kills while checkpoints are saved: which one is offered, and what comes of going on from it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::ledger::{entries, files_below};
use crate::random::{self, Random};
use crate::steps::memory_dir;

const KILLS: usize = 300;
const WORKERS: usize = 2;

/// How long a start is waited for before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A directory in which the program `saves` is started again and again.
struct Home {
    root: TempDir,
    starts: usize,
}

/// A checkpoint: its step of training, and its number.
type Saved = (u64, u64);

/// Where kills fell.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    inside_a_save: usize,
    resumed: usize,
    fell_back: usize,
    ends: usize,
}

impl Home {
    fn new() -> Self {
        Self { root: memory_dir(), starts: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn journal(&self) -> PathBuf {
        self.path(&format!("journal_{}", self.starts))
    }

    fn start(&mut self) -> Child {
        self.starts += 1;
        Command::new(env!("CARGO_BIN_EXE_saves"))
            .current_dir(self.root.path())
            .env("SAVES_JOURNAL", self.journal())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.path("stderr")).unwrap())
            .spawn()
            .unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path("stderr")).unwrap()
    }

    /// The lines of the last start's journal, as words.
    fn told(&self) -> Vec<(String, Vec<u64>)> {
        let text = fs::read_to_string(self.journal()).unwrap_or_default();
        let line = |line: &str| {
            let (what, numbers) = line.split_once(' ').unwrap();
            (what.to_owned(), numbers.split(' ').map(|number| number.parse().unwrap()).collect())
        };
        text.lines().map(line).collect()
    }

    fn record(&self) -> Value {
        let bytes = fs::read(self.path("export/runs/saver_0.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Generations whose description is there, newest first.
    fn complete(&self) -> Vec<(Saved, PathBuf)> {
        let mut complete = Vec::new();
        for directory in self.generations() {
            let Ok(bytes) = fs::read(directory.join("manifest.json")) else { continue };
            let manifest: Value = serde_json::from_slice(&bytes).unwrap();
            let saved =
                (manifest["metadata"].as_u64().unwrap(), manifest["sequence"].as_u64().unwrap());
            assert_eq!(manifest["payloads"].as_array().unwrap().len(), 4);
            complete.push((saved, directory));
        }
        complete.sort_by_key(|((_, sequence), _)| std::cmp::Reverse(*sequence));
        complete
    }

    fn generations(&self) -> Vec<PathBuf> {
        entries(&self.path("export/saver/checkpoints/run_0"))
            .into_iter()
            .filter(|path| path.is_dir())
            .collect()
    }

    /// Checks what holds after a run's end.
    fn check_end(&self, reference: &Value) {
        let record = self.record();
        assert_eq!(record["status"], "complete");
        for field in ["metrics", "episode_history", "artifact_paths", "summary", "request"] {
            assert_eq!(record[field], reference[field], "{field}");
        }
        assert!(self.generations().len() <= 2, "{:?}", self.generations());
        let left = files_below(&self.path("export/saver")).into_iter().filter(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        });
        assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "temporaries are left");
    }
}

/// Kills at any moment of a start, but mostly soon after it came to its first save.
fn kill_at_random(home: &Home, start: &mut Child, random: &mut Random, usual: Duration) {
    let begun = Instant::now();
    if random.one_in(8) {
        thread::sleep(random.duration(usual));
    } else {
        while begun.elapsed() < PATIENCE && start.try_wait().unwrap().is_none() {
            if fs::read(home.journal()).is_ok_and(|journal| journal.contains(&b's')) {
                break;
            }
            thread::yield_now();
        }
        thread::sleep(random.duration(usual / 16));
    }
    let _ = start.kill();
    start.wait().unwrap();
}

/// Changes one byte of the newest checkpoint.
fn damage(newest: &Path, random: &mut Random) {
    let payloads = ["state.json", "weights/layer.bin", "weights/mirrored.bin", "step.txt"];
    let at = usize::try_from(random.below(4)).unwrap();
    let path = newest.join(payloads[at]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Kills one run after another until there were enough, with a check after each.
fn kill_runs(mut random: Random, quota: usize, reference: &Value, usual: Duration) -> Tally {
    let mut tally = Tally::default();
    while tally.kills < quota {
        let mut home = Home::new();
        let mut expected: Saved = (0, 0);
        let mut damaged: Vec<PathBuf> = Vec::new();
        loop {
            let mut start = home.start();
            let is_killed = tally.kills < quota && !random.one_in(20);
            if is_killed {
                kill_at_random(&home, &mut start, &mut random, usual);
            }
            let status = start.wait().unwrap();
            let told = home.told();
            if let Some((what, offered)) = told.first() {
                assert_eq!(
                    (what.as_str(), &offered[..]),
                    ("offered", &[expected.0, expected.1][..])
                );
                tally.resumed += usize::from(expected.1 > 0);
            }
            if let Some(code) = status.code() {
                assert_eq!(code, 0, "{}", home.said());
                home.check_end(reference);
                let record = home.record();
                let last = record["attempts"].as_array().unwrap().last().unwrap();
                let resumed_from = last["resumed_from"].as_u64().unwrap_or(0);
                // The kill before may have come after the last word of the record.
                assert!(told.is_empty() || resumed_from == expected.1, "{last} {expected:?}");
                tally.ends += 1;
                break;
            }
            tally.kills += 1;
            let last = |kind: &str| {
                let mut lines = told.iter().rev().filter(|(what, _)| what == kind);
                lines.next().map_or(0, |(_, numbers)| numbers[0])
            };
            tally.inside_a_save += usize::from(last("saving") > last("saved"));

            let complete = home.complete();
            damaged.retain(|path| complete.iter().any(|(_, directory)| directory == path));
            let mut whole = complete.iter().filter(|(_, path)| !damaged.contains(path));
            if let Some((newest, directory)) = whole.next() {
                let last_whole = expected.0.max(last("saved"));
                assert!(
                    newest.0 == last_whole || newest.0 == last("saving"),
                    "{newest:?} {told:?}"
                );
                expected = *newest;
                // Only one that is followed by another: without any the run begins afresh, and
                // what is damaged moves aside.
                if let (true, Some((previous, _))) = (random.one_in(10), whole.next()) {
                    damage(directory, &mut random);
                    damaged.push(directory.clone());
                    expected = *previous;
                    tally.fell_back += 1;
                }
            } else {
                assert_eq!((expected, last("saved")), ((0, 0), 0), "the checkpoints are lost");
            }
        }
    }
    tally
}

#[test]
fn a_run_killed_while_it_saves_goes_on_from_its_newest_whole_checkpoint_to_the_same_result() {
    let seed = random::seed();
    let mut unbroken = Home::new();
    let begun = Instant::now();
    assert!(unbroken.start().wait().unwrap().success(), "{}", unbroken.said());
    let usual = begun.elapsed();
    let reference = unbroken.record();
    let tally = thread::scope(|scope| {
        let work = |worker: u64| {
            let (random, reference) = (Random::new(seed, worker), &reference);
            scope.spawn(move || kill_runs(random, KILLS / WORKERS, reference, usual))
        };
        let workers: Vec<_> = (0..WORKERS as u64).map(work).collect();
        let tallies = workers.into_iter().map(|worker| worker.join().unwrap());
        tallies.fold(Tally::default(), |sum, tally| sum.and(&tally))
    });
    println!("{tally:?}, a whole run takes {usual:?}");
    assert!(tally.kills >= KILLS && tally.ends > 0);
    assert!(tally.inside_a_save > KILLS / 4 && tally.resumed > 0 && tally.fell_back > 0);
}

impl Tally {
    fn and(&self, other: &Self) -> Self {
        Self {
            kills: self.kills + other.kills,
            inside_a_save: self.inside_a_save + other.inside_a_save,
            resumed: self.resumed + other.resumed,
            fell_back: self.fell_back + other.fell_back,
            ends: self.ends + other.ends,
        }
    }
}
