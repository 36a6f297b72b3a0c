//! Looking after both folders: what is there, putting one back, letting old ones go.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::gather::{ORIGIN, Origin};
use super::transfer::{Step, carry_out, relative};
use super::{archived_dir, superseded_dir};
use crate::Error;
use crate::artifact;
use crate::record;
use crate::storage::failpoint;
use crate::suggest;
use crate::value::Value;

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
        found.sort_by(|a, b| (stamp(&a.name), &a.name).cmp(&(stamp(&b.name), &b.name)));
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
    let mut slots = Vec::new();
    for record in records(&path)? {
        if let Some(head) = record::read_head(&record) {
            slots.push(format!("{}:{}", head.algorithm.slug, head.run_idx));
        }
    }
    let at = name.len() - stamp(&name).len();
    let group = format!("{kind} {}", name[..at].trim_end_matches('_'));
    Ok(Entry { kind, slots, bytes: size(&path)?, group, name, path })
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
        let is_record = name.ends_with(".json")
            && name != ORIGIN
            && !name.starts_with("timings")
            && !name.starts_with('.');
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
        let hint = suggest::hint(name, known.iter().map(String::as_str));
        Error::usage(format!("there is no archive `{name}`{hint}; `archive list` shows them"))
    })
}

/// Puts an entry back where it came from. The caller holds the locks of its slots.
///
/// # Errors
/// When anything stands where it would go, naming it: nothing is moved then.
pub(crate) fn restore(export_dir: &Path, entry: &Entry) -> Result<(), Error> {
    let path = entry.path.join(ORIGIN);
    let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    let origin: Origin = Value::parse_json(&bytes)
        .and_then(|value| value.to())
        .map_err(|error| Error::file(&path, format!("is not readable: {error}")))?;
    refuse_live(export_dir, entry, &origin)?;
    let mut steps = Vec::new();
    for moved in &origin.moved {
        let from = relative(export_dir, &entry.path.join(&moved.to));
        steps.push(Step::Move { from, to: moved.from.clone() });
    }
    for record in records(&entry.path)? {
        steps.push(restored_record(export_dir, entry, &origin, &record)?);
    }
    if entry.path.join("timings.json").exists() {
        let slug = entry.slots.first().and_then(|slot| slot.rsplit_once(':'));
        if let Some((slug, _)) = slug {
            let (slug, from) = (slug.to_owned(), "timings.json".to_owned());
            steps.push(Step::RestoreTimings { slug, from });
        }
    }
    steps.push(Step::Remove { path: relative(export_dir, &entry.path) });
    carry_out(export_dir, &entry.path, steps)
}

fn refuse_live(export_dir: &Path, entry: &Entry, origin: &Origin) -> Result<(), Error> {
    let mut targets: Vec<PathBuf> =
        origin.moved.iter().map(|moved| export_dir.join(&moved.from)).collect();
    for record in records(&entry.path)? {
        let name = record.file_name().unwrap_or_default();
        targets.push(record::runs_dir(export_dir).join(name));
    }
    let live = targets.iter().find(|path| {
        if path.is_dir() { !artifact::is_empty_dir(path) } else { path.symlink_metadata().is_ok() }
    });
    match live {
        None => Ok(()),
        Some(path) => Err(Error::usage(format!(
            "archive `{}` is not restored: {} is in use; move it aside first, for instance by \
             running with --rerun, or restore into an empty --export-dir",
            entry.name,
            path.display()
        ))),
    }
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
        if outside.is_absolute() && outside.symlink_metadata().is_err() {
            let copy = artifact::resolve_stored(export_dir, &place.path);
            artifact::copy_tree(&copy, outside)?;
        }
        place.path.clone_from(&tracked.path);
    }
    let restored = entry.path.join("restored");
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

/// Removes an entry, its record first, so that a half-removed one is never taken for whole.
///
/// # Errors
/// When the system refuses.
pub(crate) fn prune(entry: &Entry) -> Result<(), Error> {
    for record in records(&entry.path)? {
        fs::remove_file(&record).map_err(|error| Error::io("remove", &record, error))?;
    }
    fs::remove_dir_all(&entry.path).map_err(|error| Error::io("remove", &entry.path, error))
}
