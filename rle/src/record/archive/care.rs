//! Looking after both folders: what is there, putting one back, letting old ones go.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::gather::{self, ORIGIN, Origin};
use super::transfer::{JOURNAL, Step, carry_out, relative, remove_finished};
use super::{archived_dir, superseded_dir};
use crate::Error;
use crate::fs::failpoint;
use crate::near_match;
use crate::record;
use crate::run::artifacts;
use crate::timings;
use crate::value::Value;

/// Files of an entry that are no records.
const OTHER_FILES: [&str; 4] = [ORIGIN, JOURNAL, timings::TIMINGS_FILE, timings::HARDWARE_FILE];

/// Where records are written anew before they are moved back.
const RESTORED: &str = "restored";

/// One directory of either folder.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    /// The directory's name, which names the entry.
    pub(crate) name: String,
    /// `superseded` or `archived`.
    pub(crate) kind: &'static str,
    /// What it holds, as slots.
    pub(crate) slots: Vec<String>,
    /// Size of all files in bytes.
    pub(crate) bytes: u64,
    #[serde(skip)]
    pub(crate) path: PathBuf,
    /// What entries are counted by when old ones go.
    #[serde(skip)]
    group: String,
}

/// All entries, oldest first within their folder.
///
/// # Errors
/// When a directory cannot be listed.
pub(crate) fn list(export_dir: &Path) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for (kind, folder) in
        [("archived", archived_dir(export_dir)), ("superseded", superseded_dir(export_dir))]
    {
        let mut found = Vec::new();
        for path in directories(&folder)? {
            found.push(entry(kind, path)?);
        }
        found.sort_by(|a, b| (age(&a.name), &a.name).cmp(&(age(&b.name), &b.name)));
        entries.extend(found);
    }
    Ok(entries)
}

fn directories(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("list", folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::io("list", folder, error))?.path();
        let unfinished = path.extension().is_some_and(|extension| extension == "partial");
        if path.is_dir() && !unfinished {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn entry(kind: &'static str, path: PathBuf) -> Result<Entry, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut slots = origin(&path).map_or(Vec::new(), |origin| origin.slots);
    if slots.is_empty() {
        let heads = records(&path)?.into_iter().filter_map(|record| record::read_head(&record));
        slots = heads.map(|head| format!("{}:{}", head.algorithm.slug, head.run_idx)).collect();
    }
    let at = name.len() - stamp(&name).len();
    let group = format!("{kind} {}", name[..at].trim_end_matches('_'));
    Ok(Entry { kind, slots, bytes: size(&path)?, group, name, path })
}

fn origin(directory: &Path) -> Result<Origin, Error> {
    let path = directory.join(ORIGIN);
    let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
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

fn records(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let list = |error| Error::io("list", directory, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(list)? {
        let path = entry.map_err(list)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_record =
            name.ends_with(".json") && !OTHER_FILES.contains(&&*name) && !name.starts_with('.');
        if is_record && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn size(path: &Path) -> Result<u64, Error> {
    let metadata = path.symlink_metadata().map_err(|error| Error::io("read", path, error))?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in fs::read_dir(path).map_err(|error| Error::io("list", path, error))? {
        bytes += size(&entry.map_err(|error| Error::io("list", path, error))?.path())?;
    }
    Ok(bytes)
}

/// The entry of that name.
///
/// # Errors
/// When there is none, with the near match.
pub(crate) fn find(export_dir: &Path, name: &str) -> Result<Entry, Error> {
    let entries = list(export_dir)?;
    let known: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    entries.into_iter().find(|entry| entry.name == name).ok_or_else(|| {
        let hint = near_match::hint(name, known.iter().map(String::as_str));
        Error::usage(format!("there is no archive `{name}`{hint} (`archive list` shows them)"))
    })
}

/// Puts an entry back where it came from. The caller holds the locks of its slots.
///
/// # Errors
/// When anything stands where it would go, naming it: nothing is moved then.
pub(crate) fn restore(export_dir: &Path, entry: &Entry) -> Result<(), Error> {
    let origin = origin(&entry.path)?;
    refuse_live(export_dir, entry, &origin)?;
    let steps = match steps_back(export_dir, entry, &origin) {
        Ok(steps) => steps,
        Err(error) => {
            if failpoint().is_ok() {
                // It holds copies only, and the next restore writes them again.
                let _ = fs::remove_dir_all(entry.path.join(RESTORED));
            }
            return Err(error);
        }
    };
    carry_out(export_dir, &entry.path, steps)
}

fn steps_back(export_dir: &Path, entry: &Entry, origin: &Origin) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    // Backwards: what lay inside something else goes back when that is there.
    for moved in origin.moved.iter().rev() {
        let from = relative(export_dir, &entry.path.join(&moved.to));
        steps.push(Step::Move { from, to: moved.from.clone() });
    }
    for record in records(&entry.path)? {
        steps.push(restored_record(export_dir, entry, origin, &record)?);
    }
    if entry.path.join(timings::TIMINGS_FILE).exists() {
        let slug = entry.slots.first().and_then(|slot| slot.rsplit_once(':'));
        if let Some((slug, _)) = slug {
            let (slug, from) = (slug.to_owned(), timings::TIMINGS_FILE.to_owned());
            steps.push(Step::RestoreTimings { slug, from });
        }
    }
    steps.push(Step::Discard);
    Ok(steps)
}

fn refuse_live(export_dir: &Path, entry: &Entry, origin: &Origin) -> Result<(), Error> {
    let mut targets: Vec<PathBuf> =
        origin.moved.iter().map(|moved| export_dir.join(&moved.from)).collect();
    for record in records(&entry.path)? {
        let name = record.file_name().unwrap_or_default();
        targets.push(record::runs_dir(export_dir).join(name));
    }
    let live = targets.iter().find(|path| {
        if path.is_dir() { !artifacts::is_empty_dir(path) } else { path.symlink_metadata().is_ok() }
    });
    if let Some(path) = live {
        return Err(Error::usage(format!(
            "archive `{}` is not restored: {} is in use; move it away or \
             remove it first",
            entry.name,
            path.display()
        )));
    }
    match changed_outside(entry, origin)? {
        None => Ok(()),
        Some(path) => Err(Error::usage(format!(
            "archive `{}` is not restored: {path} holds something else now; move it away first, \
             so that the archived copy can take its place",
            entry.name
        ))),
    }
}

/// An output outside the export directory that is there, but not as the record has it.
fn changed_outside(entry: &Entry, origin: &Origin) -> Result<Option<String>, Error> {
    for record in records(&entry.path)? {
        let Some(head) = record::read_head(&record) else { continue };
        let name = record.file_name().unwrap_or_default().to_string_lossy();
        for tracked in origin.tracked.iter().filter(|tracked| tracked.record == name) {
            let outside = Path::new(&tracked.path);
            let Some(known) = head.artifact_paths.get(&tracked.label) else { continue };
            if outside.is_absolute()
                && outside.symlink_metadata().is_ok()
                && artifacts::hash_path(outside).map_or(true, |found| found.sha256 != known.sha256)
            {
                return Ok(Some(tracked.path.clone()));
            }
        }
    }
    Ok(None)
}

/// Writes the record as it was, and the step that puts it in place.
fn restored_record(
    export_dir: &Path,
    entry: &Entry,
    origin: &Origin,
    record: &Path,
) -> Result<Step, Error> {
    failpoint()?;
    let name = record.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let to = relative(export_dir, &record::runs_dir(export_dir).join(&name));
    let Ok(mut whole) = record::read_whole(record) else {
        return Ok(Step::Move { from: relative(export_dir, record), to });
    };
    for tracked in origin.tracked.iter().filter(|tracked| tracked.record == name) {
        let Some(place) = whole.head.artifact_paths.get_mut(&tracked.label) else { continue };
        let outside = Path::new(&tracked.path);
        let archived = artifacts::resolve_stored(export_dir, &place.path);
        // An output that was missing when it was archived is missing still.
        let is_lost = archived.symlink_metadata().is_ok() && outside.symlink_metadata().is_err();
        if outside.is_absolute() && is_lost {
            failpoint()?;
            gather::copy(&archived, outside)?;
        }
        place.path.clone_from(&tracked.path);
    }
    if let Some(log_dir) = origin.log_dirs.get(&name) {
        whole.head.log_dir = Some(log_dir.clone());
    }
    failpoint()?;
    let restored = entry.path.join(RESTORED);
    fs::create_dir_all(&restored)
        .map_err(|error| Error::io("create the directory", &restored, error))?;
    let copy = restored.join(&name);
    record::write_record(&copy, &whole.head, &whole.metrics, &whole.episodes)?;
    Ok(Step::Move { from: relative(export_dir, &copy), to })
}

/// The entries that go when the newest `keep` of each algorithm's sets, and of each slot's
/// superseded ones, stay.
///
/// # Errors
/// When a directory cannot be listed.
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

/// Removes an entry; a half-removed one is never taken for whole.
///
/// # Errors
/// When the system refuses.
pub(crate) fn prune(entry: &Entry) -> Result<(), Error> {
    remove_finished(&entry.path)
}
