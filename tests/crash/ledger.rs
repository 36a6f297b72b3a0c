//! Every complete record that an export directory ever showed, and where each is now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A record among others of its slot: the slot's stem and when its run began.
type Key = (String, String);

/// What is kept about one export directory between starts.
pub(crate) struct Ledger {
    export: PathBuf,
    complete: BTreeMap<Key, Seen>,
}

struct Seen {
    bytes: Vec<u8>,
    scale: u64,
}

/// What stands on disk at one moment.
struct Moment {
    records: BTreeMap<String, Value>,
    /// Directories of the records that were moved aside, and of those that are being moved.
    aside: Vec<PathBuf>,
    partial: BTreeMap<String, PathBuf>,
    leftovers: BTreeSet<PathBuf>,
}

impl Ledger {
    pub(crate) fn new(export: PathBuf) -> Self {
        Self { export, complete: BTreeMap::new() }
    }

    /// Checks all that has to hold at any moment, and takes note of what is new.
    pub(crate) fn check(&mut self) {
        assert_json_is_whole(&self.export);
        let listed = rle::load_records(&self.export).unwrap();
        let now = Moment::of(&self.export);
        assert_eq!(listed.len(), now.records.len());
        for (stem, record) in &now.records {
            if record["status"] != "complete" {
                continue;
            }
            let bytes = fs::read(record_path(&self.export, stem)).unwrap();
            let scale = record["common_config"]["scale"].as_u64().unwrap();
            let seen = self
                .complete
                .entry(key(stem, record))
                .or_insert_with(|| Seen { bytes: bytes.clone(), scale });
            assert!(seen.bytes == bytes, "the complete record of {stem} changed");
        }
        let mut aside: BTreeMap<Key, Vec<&PathBuf>> = BTreeMap::new();
        for directory in &now.aside {
            for (stem, record) in records_in(directory) {
                aside.entry(key(&stem, &record)).or_default().push(directory);
            }
        }
        for (key, seen) in &self.complete {
            let places = aside.get(key).map_or(&[][..], Vec::as_slice);
            self.check_record(key, seen, &now, places);
        }
    }

    fn check_record(&self, key: &Key, seen: &Seen, now: &Moment, aside: &[&PathBuf]) {
        let stem = &key.0;
        let in_place = now.records.get(stem).is_some_and(|record| self::key(stem, record) == *key);
        let partial = now.partial.get(stem);
        let in_partial = partial.is_some_and(|directory| {
            records_in(directory).iter().any(|(stem, record)| self::key(stem, record) == *key)
        });
        assert!(in_place || in_partial || !aside.is_empty(), "{key:?} is lost");
        assert!(aside.len() + usize::from(in_place || in_partial) == 1, "{key:?} is there twice");
        let place = if let [directory] = aside { Some(*directory) } else { partial };
        for (label, path) in outputs(&self.export, stem) {
            let text = format!("{} {label} at scale {}\n", stem.replace('_', "-"), seen.scale);
            // While a move is half done, what it has not come to is still where it was.
            let at_home = (in_place || in_partial) && holds(&path, &text);
            let moved = place.is_some_and(|directory| found_below(directory, &text));
            assert!(at_home || moved, "output {label} of {key:?} is lost");
            assert!(!(at_home && moved) || label == "outside", "{label} of {key:?} is there twice");
        }
        if let [directory] = aside {
            let (_, record) = records_in(directory).pop().unwrap();
            for tracked in record["artifact_paths"].as_object().unwrap().values() {
                let path = self.export.join(tracked["path"].as_str().unwrap());
                assert!(path.starts_with(directory) && path.exists(), "{}", path.display());
            }
        }
    }

    /// The slots without a complete record of that scale whose outputs are all in place.
    pub(crate) fn missing(&self, scale: u64) -> BTreeSet<String> {
        let now = Moment::of(&self.export);
        let is_whole = |stem: &str| {
            now.records.get(stem).is_some_and(|record| {
                let slot = stem.replace('_', "-");
                record["status"] == "complete"
                    && record["common_config"]["scale"] == scale
                    && outputs(&self.export, stem).iter().all(|(label, path)| {
                        holds(path, &format!("{slot} {label} at scale {scale}\n"))
                    })
            })
        };
        let stems = ["alpha_0", "beta_0", "gamma_0", "alpha_1", "beta_1", "gamma_1"];
        let missing = stems.into_iter().filter(|stem| !is_whole(stem));
        missing.map(|stem| stem.replace('_', "-")).collect()
    }

    /// Checks what holds after a start that was not killed, in which these steps began.
    pub(crate) fn check_end(&self, scale: u64, begun: &[&str], reference: &Path) {
        let now = Moment::of(&self.export);
        assert!(self.missing(scale).is_empty());
        self.check_leftovers(&now.leftovers, begun);
        let left =
            now.partial.keys().filter(|stem| begun.contains(&stem.replace('_', "-").as_str()));
        assert_eq!(left.count(), 0, "a move is left half done: {:?}", now.partial);
        let unbroken = Moment::of(reference).records;
        for (stem, record) in &now.records {
            for field in ["metrics", "episode_history", "artifact_paths", "summary", "request"] {
                // Absolute paths differ with the directory, and are compared by their content.
                let plain = |record: &Value| {
                    let mut value = record[field].clone();
                    if let Some(outside) = value.get_mut("outside") {
                        outside["path"] = Value::Null;
                    }
                    value
                };
                assert_eq!(plain(record), plain(&unbroken[stem]), "{field} of {stem}");
            }
        }
    }

    /// A start sweeps `runs`, and each directory that its own steps write into.
    fn check_leftovers(&self, leftovers: &BTreeSet<PathBuf>, begun: &[&str]) {
        for leftover in leftovers {
            let place = leftover.parent().unwrap();
            let below = place.strip_prefix(&self.export).unwrap();
            let parts: Vec<&str> = below.iter().map(|part| part.to_str().unwrap()).collect();
            let is_other = match parts[..] {
                ["_prepared", _] => !begun.contains(&"groundwork"),
                // Cleared as a whole when the same is prepared again.
                ["_prepared", _, _] => !place.join("prepared.json").exists(),
                [slug] => !begun.iter().any(|step| step.starts_with(slug)),
                _ => false,
            };
            assert!(is_other, "{} is left", leftover.display());
        }
    }

    /// Whether a move was caught half done.
    pub(crate) fn is_moving(&self) -> bool {
        !Moment::of(&self.export).partial.is_empty()
    }
}

impl Moment {
    fn of(export: &Path) -> Self {
        let runs = export.join("runs");
        let mut moment = Self {
            records: records_in(&runs).into_iter().collect(),
            aside: Vec::new(),
            partial: BTreeMap::new(),
            leftovers: BTreeSet::new(),
        };
        for path in entries(&runs.join("_superseded")) {
            let name = name_of(&path);
            // Half done until it has its name and no step is left.
            if name.ends_with(".partial") || path.join("journal.json").exists() {
                let stem = name.split('_').take(2).collect::<Vec<_>>().join("_");
                assert!(moment.partial.insert(stem, path).is_none(), "two moves at once");
            } else {
                moment.aside.push(path);
            }
        }
        for path in files_below(export) {
            let name = name_of(&path);
            // What a move leaves is that move's, and checked with it.
            let is_moving = moment.partial.values().any(|partial| path.starts_with(partial));
            if !is_moving && (name.starts_with('.') || name.contains("copying")) {
                moment.leftovers.insert(path);
            }
        }
        moment
    }
}

fn key(stem: &str, record: &Value) -> Key {
    (stem.to_owned(), record["started_at"].as_str().unwrap().to_owned())
}

fn record_path(export: &Path, stem: &str) -> PathBuf {
    export.join("runs").join(format!("{stem}.json"))
}

/// The files of a slot, by what stands in them, where its run writes them.
fn outputs(export: &Path, stem: &str) -> Vec<(&'static str, PathBuf)> {
    let (slug, run) = stem.split_once('_').unwrap();
    let home = export.join(slug).join(format!("artifacts/run_{run}"));
    let mut outputs: Vec<_> =
        ["weights/a", "weights/b"].into_iter().map(|label| (label, home.join(label))).collect();
    outputs.push(("policy", home.join("policy.txt")));
    if slug == "gamma" {
        let outside = export.with_file_name("outside").join(format!("gamma_{run}.txt"));
        outputs.push(("curve", export.join(format!("gamma/curve_{run}.txt"))));
        outputs.push(("outside", outside));
    }
    outputs
}

/// What stands beside the records of a move.
const OTHER_FILES: [&str; 4] =
    ["origin.json", "journal.json", "timings.json", "timings_hardware.json"];

/// The records directly in a directory: each other file that ends in `.json` has to be one.
fn records_in(directory: &Path) -> Vec<(String, Value)> {
    let mut records = Vec::new();
    for path in entries(directory) {
        if OTHER_FILES.contains(&name_of(&path).as_str()) {
            continue;
        }
        if let Some(stem) = name_of(&path).strip_suffix(".json") {
            let record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let slug = record["algorithm"]["slug"].as_str().unwrap();
            assert_eq!(stem, format!("{slug}_{}", record["run_idx"]));
            assert!(record["metrics"].is_object() && record["episode_history"].is_array());
            records.push((stem.to_owned(), record));
        }
    }
    records
}

fn assert_json_is_whole(export: &Path) {
    for path in files_below(export) {
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read(&path).unwrap();
            let value: Result<Value, _> = serde_json::from_slice(&text);
            assert!(value.is_ok_and(|value| value.is_object()), "{} is torn", path.display());
        }
    }
}

fn holds(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

fn found_below(directory: &Path, text: &str) -> bool {
    files_below(directory).iter().any(|path| holds(path, text))
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for path in entries(&directory) {
            if path.is_dir() { pending.push(path) } else { files.push(path) }
        }
    }
    files
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
