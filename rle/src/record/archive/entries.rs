//! Where archives are, how they are named, and what they say of where their content came from; lists
//! them, and removes old ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::transaction::JOURNAL;
use crate::record::{read_head, runs_dir};
use crate::run::artifacts;
use crate::value::Value;
use crate::{Error, near_match, timings};

pub(super) fn superseded_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_superseded")
}

pub(super) fn archived_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_archived_complete_runs")
}

/// `20261129T131800Z`.
pub(crate) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}

pub(super) const ORIGIN: &str = "origin.json";

/// `origin.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) schema_version: u32,
    /// `ippo:1`: whose they were, whether or not they have a record.
    #[serde(default)]
    pub(super) slots: Vec<String>,
    pub(super) moved: Vec<Moved>,
    /// Tracked outputs of records: where they lay.
    pub(super) tracked: Vec<Tracked>,
    /// The directory of the logged metrics, as the live record of that file name had it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) log_dirs: BTreeMap<String, String>,
}

impl Origin {
    /// The tracked outputs of the record of that file name.
    pub(super) fn tracked_in(&self, record: &str) -> impl Iterator<Item = &Tracked> {
        self.tracked.iter().filter(move |tracked| tracked.record == record)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Moved {
    /// Relative to the export directory.
    pub(super) from: String,
    /// Relative to the archive.
    pub(super) to: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tracked {
    /// The record's file name.
    pub(super) record: String,
    pub(super) label: String,
    /// As the live record had it.
    pub(super) path: String,
}

/// Files of an entry that are no records.
const OTHER_FILES: [&str; 4] = [ORIGIN, JOURNAL, timings::TIMINGS_FILE, timings::HARDWARE_FILE];

/// One directory of either folder.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// `superseded` or `archived`.
    pub(crate) kind: &'static str,
    pub(crate) slots: Vec<String>,
    pub(crate) bytes: u64,
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// What entries are counted by when old ones go.
    #[serde(skip)]
    group: String,
}

/// All entries, oldest first within their folder.
pub(crate) fn list(export_dir: &Path) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for (kind, folder) in
        [("archived", archived_dir(export_dir)), ("superseded", superseded_dir(export_dir))]
    {
        let mut found = Vec::new();
        for path in artifacts::list_directory(&folder)? {
            let unfinished = path.extension().is_some_and(|extension| extension == "partial");
            if path.is_dir() && !unfinished {
                found.push(entry(kind, path)?);
            }
        }
        found.sort_by(|a, b| (age(&a.name), &a.name).cmp(&(age(&b.name), &b.name)));
        entries.extend(found);
    }
    Ok(entries)
}

fn entry(kind: &'static str, path: PathBuf) -> Result<Entry, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut slots = read_origin(&path).map_or(Vec::new(), |origin| origin.slots);
    if slots.is_empty() {
        let heads = records(&path)?.into_iter().filter_map(|record| read_head(&record));
        slots = heads.map(|head| head.slot()).collect();
    }
    let at = name.len() - stamp(&name).len();
    let group = format!("{kind} {}", name[..at].trim_end_matches('_'));
    Ok(Entry { kind, slots, bytes: size(&path)?, group, name, path })
}

pub(super) fn read_origin(archive: &Path) -> Result<Origin, Error> {
    let path = archive.join(ORIGIN);
    let bytes = fs::read(&path).map_err(Error::cannot("read", &path))?;
    Value::parse_json(&bytes)
        .and_then(|value| value.to())
        .map_err(|error| Error::file(&path, format!("is not readable: {error}")))
}

/// When an entry was made, and which of that second it is.
fn age(name: &str) -> (&str, u64) {
    let (second, suffix) = stamp(name).split_once('_').unwrap_or((stamp(name), "0"));
    (second, suffix.parse().unwrap_or(u64::MAX))
}

/// The part of a name from its time stamp on: it sorts by time.
fn stamp(name: &str) -> &str {
    let is_stamp =
        |part: &str| part.len() == 16 && part.as_bytes()[8] == b'T' && part.ends_with('Z');
    let mut start = 0;
    for part in name.split('_') {
        if is_stamp(part) {
            return &name[start..];
        }
        start += part.len() + 1;
    }
    ""
}

pub(super) fn records(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_other = OTHER_FILES.contains(&&*name) || name.starts_with('.');
        name.ends_with(".json") && !is_other && path.is_file()
    };
    let mut paths = artifacts::list_directory(directory)?;
    paths.retain(is_record);
    paths.sort();
    Ok(paths)
}

fn size(path: &Path) -> Result<u64, Error> {
    let metadata = path.symlink_metadata().map_err(Error::cannot("read", path))?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    artifacts::list_directory(path)?.iter().map(|path| size(path)).sum()
}

pub(crate) fn find(export_dir: &Path, name: &str) -> Result<Entry, Error> {
    let entries = list(export_dir)?;
    let known: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    entries.into_iter().find(|entry| entry.name == name).ok_or_else(|| {
        let hint = near_match::hint(name, known.iter().map(String::as_str));
        Error::usage(format!("there is no archive `{name}`{hint} (`archive list` shows them)"))
    })
}

/// The entries that go when the newest `keep` of each algorithm's sets, and of each slot's
/// superseded ones, stay.
pub(crate) fn to_prune(export_dir: &Path, keep: usize) -> Result<Vec<Entry>, Error> {
    let mut groups: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in list(export_dir)? {
        groups.entry(entry.group.clone()).or_default().push(entry);
    }
    let old = groups.into_values().flat_map(|mut entries| {
        entries.truncate(entries.len().saturating_sub(keep));
        entries
    });
    Ok(old.collect())
}
