//! A process that is killed leaves files whose valid part the programs read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value as Json;

use crate::support::{Server, python, script};

const KILLS: usize = 100;
const AT_ONCE: usize = 10;
const INTERVAL_MS: u64 = 25;
/// What a busy machine may add to the interval.
const SLACK_MS: u64 = 475;

/// A kill: where the files lie, and which step had been logged an interval before it.
struct Kill {
    log_dir: PathBuf,
    /// Logged so long ago that it has to be there.
    due: i64,
    /// The last step that the program told of.
    last: i64,
}

fn kill_at(log_dir: &Path, after: Duration) -> Kill {
    let mut child = Command::new(env!("CARGO_BIN_EXE_curves"))
        .arg("endless")
        .arg(log_dir)
        .arg(INTERVAL_MS.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    // The moment itself is the test's subject; nothing is waited for.
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let text = reader.join().unwrap();
    let told: Vec<(i64, u64)> = text
        .lines()
        .filter_map(|line| {
            let (step, micros) = line.split_once(' ')?;
            Some((step.parse().ok()?, micros.parse().ok()?))
        })
        .collect();
    let end = told.last().map_or(0, |(_, micros)| *micros);
    let age = (INTERVAL_MS + SLACK_MS) * 1_000;
    let due = told.iter().rev().find(|(_, micros)| micros + age < end);
    Kill {
        log_dir: log_dir.to_owned(),
        due: due.map_or(-1, |(step, _)| *step),
        last: told.last().map_or(-1, |(step, _)| *step),
    }
}

/// Moments that differ from test to test: a failure names the directory it kept.
fn moments() -> Vec<Duration> {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    let mut state = u64::from(nanos) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..KILLS).map(|_| Duration::from_micros(next() % 800_000)).collect()
}

/// The last step of each run that W&B's tool sends, which has to be whole up to there.
fn send_all(python: &Path, kills: &[Kill], home: &Path) -> BTreeMap<PathBuf, i64> {
    let server = Server::start(python, "fake_wandb.py");
    let mut ids = BTreeMap::new();
    let mut command = server.tool(python, "wandb", home);
    command.args(["sync", "-n", "16"]);
    for kill in kills {
        let Ok(entries) = fs::read_dir(kill.log_dir.join("curves/test/wandb")) else { continue };
        for entry in entries {
            let directory = entry.unwrap().path();
            let name = directory.file_name().unwrap().to_str().unwrap();
            let id = name.splitn(4, '-').nth(3).unwrap().to_owned();
            let file = fs::metadata(directory.join(format!("run-{id}.wandb")));
            // A file without its first bytes is one of a kill at its creation.
            if file.is_ok_and(|file| file.len() > 0) {
                command.arg(&directory);
                ids.insert(id, kill.log_dir.clone());
            }
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = server.told();
    let last_step = |id: &str| {
        let rows = told[id]["history"].as_array().unwrap_or_else(|| panic!("{id}: {output:?}"));
        for (step, row) in rows.iter().enumerate() {
            let row: Json = serde_json::from_str(row.as_str().unwrap()).unwrap();
            assert_eq!(
                (&row["_step"], row["train/step"].as_f64()),
                (&step.into(), Some(step as f64))
            );
        }
        i64::try_from(rows.len()).unwrap() - 1
    };
    ids.into_iter().map(|(id, log_dir)| (log_dir, last_step(&id))).collect()
}

#[test]
fn a_kill_at_any_moment_leaves_the_valid_part_to_every_program() {
    let Some(python) = python("tensorboard, wandb, swanlab") else { return };
    let dir = tempfile::tempdir().unwrap();
    let moments: Vec<(usize, Duration)> = moments().into_iter().enumerate().collect();
    let mut kills: Vec<Kill> = thread::scope(|scope| {
        let kill_some = |some: &[(usize, Duration)]| -> Vec<Kill> {
            some.iter()
                .map(|(index, after)| kill_at(&dir.path().join(index.to_string()), *after))
                .collect()
        };
        let threads: Vec<_> = moments
            .chunks(KILLS / AT_ONCE)
            .map(|some| scope.spawn(move || kill_some(some)))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // Those that were killed before they had made a directory.
    kills.retain(|kill| kill.log_dir.exists());
    assert!(kills.len() > KILLS / 2);
    assert!(kills.iter().filter(|kill| kill.due > 0).count() > KILLS / 10);

    let found = script(&python, "read_curves.py", kills.iter().map(|kill| &kill.log_dir));
    let sent = send_all(&python, &kills, dir.path());
    for kill in &kills {
        let read = &found[kill.log_dir.to_str().unwrap()];
        for backend in ["tensorboard", "swanlab", "wandb"] {
            let steps = match backend {
                "wandb" => sent.get(&kill.log_dir).copied().unwrap_or(-1),
                _ => read[backend].as_i64().unwrap_or(-1),
            };
            // The step after the last told of may have been logged, too.
            let fits = kill.due <= steps && steps <= kill.last + 1;
            if !fits {
                let kept = std::env::temp_dir().join("rle-loggers-kill");
                let _ = fs::remove_dir_all(&kept);
                fs::rename(&kill.log_dir, &kept).unwrap();
                panic!(
                    "{backend} ends at step {steps}, due {}, last {}: kept in {}",
                    kill.due,
                    kill.last,
                    kept.display()
                );
            }
        }
    }
}
