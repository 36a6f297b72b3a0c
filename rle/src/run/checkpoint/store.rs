//! Generations on disk: written, found, verified.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::manifest::{Latest, Manifest, Payload, SCHEMA_VERSION};
use crate::fs::{sweep_leftovers, sync_directory, write_json_atomically};
use crate::run::artifacts;
use crate::value::Value;
use crate::value::digest::{hash_file, hex};
use crate::{Error, SlotId};

pub(super) const MANIFEST: &str = "manifest.json";
const GENERATION: &str = "generation_";

/// How many generations stay: the newest, and one to fall back on.
const KEPT_GENERATIONS: usize = 2;

pub(crate) fn directory(export_dir: &Path, slot: &SlotId) -> PathBuf {
    let run = format!("run_{}", slot.run_idx());
    export_dir.join(slot.slug().as_str()).join("checkpoints").join(run)
}

/// What was found where a slot's checkpoints lie.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    /// The newest whole generation of the request, and what is wrong with newer ones.
    Latest {
        latest: Latest,
        problems: Vec<String>,
    },
    /// Generations of the request of which none is whole.
    Damaged(Vec<String>),
    /// Made for another request or slot: why.
    Foreign(String),
}

/// Finds the checkpoint to resume from. One that a newer version wrote is an error.
pub(crate) fn find(export_dir: &Path, slot: &SlotId, request_hash: &str) -> Result<Found, Error> {
    let home = directory(export_dir, slot);
    let mut problems = Vec::new();
    let mut any = false;
    for path in manifests(&home)? {
        any = true;
        let manifest = match read(&path) {
            Ok(manifest) => manifest,
            Err(error @ Error::Newer { .. }) => return Err(error),
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        if manifest.run_idx != slot.run_idx() {
            return Ok(Found::Foreign(format!(
                "{} belongs to run {}, not to run {}",
                path.display(),
                manifest.run_idx,
                slot.run_idx()
            )));
        }
        if manifest.request_hash != request_hash {
            return Ok(Found::Foreign(
                "it was made for another request or by other code".to_owned(),
            ));
        }
        match verify(&home, &manifest) {
            Ok(()) => {
                let generation = home.join(generation_name(manifest.sequence));
                let latest = Latest { manifest: Arc::new(manifest), generation };
                return Ok(Found::Latest { latest, problems });
            }
            Err(problem) => {
                let problem = format!("checkpoint {}: {problem}", manifest.sequence);
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    Ok(if any { Found::Damaged(problems) } else { Found::Nothing })
}

/// The sequence number of the newest generation that was completed.
pub(crate) fn newest_sequence(export_dir: &Path, slot: &SlotId) -> Result<Option<u64>, Error> {
    let home = directory(export_dir, slot);
    Ok(newest_complete(&home, generations(&home)?))
}

fn newest_complete(home: &Path, generations: Vec<u64>) -> Option<u64> {
    generations.into_iter().find(|&sequence| {
        home.join(generation_name(sequence)).join(MANIFEST).symlink_metadata().is_ok()
    })
}

/// What is wrong with a slot's checkpoints, whoever made them.
pub(crate) fn check_all(export_dir: &Path, slot: &SlotId) -> Result<Vec<String>, Error> {
    let home = directory(export_dir, slot);
    let mut problems = Vec::new();
    for path in manifests(&home)? {
        let checked = read(&path).and_then(|manifest| {
            verify(&home, &manifest).map_err(|problem| Error::file(&path, problem))
        });
        problems.extend(checked.err().map(|error| error.to_string()));
    }
    Ok(problems)
}

fn generation_name(sequence: u64) -> String {
    format!("{GENERATION}{sequence}")
}

/// Sequence numbers of the generation directories, newest first.
fn generations(home: &Path) -> Result<Vec<u64>, Error> {
    let sequence = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(GENERATION)?.parse().ok()
    };
    let mut sequences: Vec<u64> =
        artifacts::list_directory(home)?.iter().filter_map(sequence).collect();
    sequences.sort_unstable_by(|a, b| b.cmp(a));
    Ok(sequences)
}

/// Manifests that exist, newest generation first, the one at the top last: it is a copy.
fn manifests(home: &Path) -> Result<Vec<PathBuf>, Error> {
    let generations = generations(home)?.into_iter();
    let paths = generations.map(|sequence| home.join(generation_name(sequence)).join(MANIFEST));
    Ok(paths.chain([home.join(MANIFEST)]).filter(|path| path.symlink_metadata().is_ok()).collect())
}

fn read(path: &Path) -> Result<Manifest, Error> {
    let broken = |problem: String| Error::file(path, problem);
    let bytes = fs::read(path).map_err(|error| broken(format!("cannot be read: {error}")))?;
    let value = Value::parse_json(&bytes)
        .map_err(|error| broken(format!("is no whole manifest: {error}")))?;
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(version) if version > u64::from(SCHEMA_VERSION) => {
            Err(Error::newer(path, "manifest", version, SCHEMA_VERSION))
        }
        Some(_) => {
            let mut manifest: Manifest =
                value.to().map_err(|error| broken(format!("is no manifest: {error}")))?;
            manifest.metadata.restore_non_finite();
            if let Some(logged) = &mut manifest.logged {
                logged.last_values.restore_non_finite();
            }
            Ok(manifest)
        }
        None => Err(broken("is no manifest: it has no schema_version".to_owned())),
    }
}

/// Whether every payload is what was saved.
fn verify(home: &Path, manifest: &Manifest) -> Result<(), String> {
    let generation = generation_name(manifest.sequence);
    for payload in &manifest.payloads {
        let relative = Path::new(&payload.path);
        let wrong = |problem: &str| Err(format!("payload `{}` {problem}", payload.path));
        let stays = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !stays || payload.path.is_empty() {
            return wrong("leaves the checkpoint's directory");
        }
        if !relative.starts_with(&generation) {
            return wrong("is not in its generation");
        }
        let unreadable = |error: io::Error| format!("payload `{}`: {error}", payload.path);
        let real = fs::canonicalize(home.join(relative)).map_err(unreadable)?;
        let root = fs::canonicalize(home).map_err(|error| error.to_string())?;
        if !real.starts_with(root) {
            return wrong("leaves the checkpoint's directory");
        }
        let digest = hash_file(&real).map_err(unreadable)?;
        if digest.bytes != payload.bytes || hex(&digest.sha256) != payload.sha256 {
            return wrong("changed");
        }
    }
    Ok(())
}

/// Writes the generations of one run.
pub(super) struct Store {
    home: PathBuf,
    open: Option<u64>,
    /// The whole generations: the one that the run resumed from, and those saved since.
    whole: Vec<u64>,
}

impl Store {
    /// `offered` is the generation that the run resumes from.
    pub(super) fn new(home: PathBuf, offered: Option<u64>) -> Self {
        // What cannot be removed does no harm where it stays.
        if let Err(error) = tidy(&home, offered) {
            tracing::debug!("what a killed attempt left stays: {error}");
        }
        Self { home, open: None, whole: offered.into_iter().collect() }
    }

    pub(super) fn open_generation(&mut self) -> Result<PathBuf, Error> {
        if let Some(sequence) = self.open {
            return Ok(self.home.join(generation_name(sequence)));
        }
        let newest = newest_complete(&self.home, generations(&self.home)?);
        let sequence = newest.unwrap_or(0).checked_add(1).ok_or_else(|| {
            Error::file(&self.home, "holds a checkpoint of the highest number; move it away")
        })?;
        let generation = self.home.join(generation_name(sequence));
        // What a killed attempt left half written.
        if generation.symlink_metadata().is_ok() {
            remove(&generation)?;
        }
        fs::create_dir_all(&generation)
            .map_err(Error::cannot("create the directory", &generation))?;
        self.open = Some(sequence);
        Ok(generation)
    }

    /// Completes the generation being written, whose number and payloads go into the manifest.
    pub(super) fn save(&mut self, mut manifest: Manifest) -> Result<(), Error> {
        let generation = self.open_generation()?;
        manifest.sequence = self.open.expect("a generation was just opened");
        collect(&self.home, &generation, &mut manifest.payloads)?;
        manifest.payloads.sort_by(|a, b| a.path.cmp(&b.path));
        sync_directory(&self.home)?;
        write_json_atomically(&generation.join(MANIFEST), &manifest)?;
        self.open = None;
        write_json_atomically(&self.home.join(MANIFEST), &manifest)?;
        self.whole.push(manifest.sequence);
        // What was found damaged does not count among those that are kept.
        let Some(first) = self.whole.len().checked_sub(KEPT_GENERATIONS) else { return Ok(()) };
        self.whole.drain(..first);
        for old in generations(&self.home)? {
            if !self.whole.contains(&old) {
                remove(&self.home.join(generation_name(old)))?;
            }
        }
        Ok(())
    }
}

/// Removes what an attempt left that was killed before or after it completed a generation.
fn tidy(home: &Path, offered: Option<u64>) -> Result<(), Error> {
    sweep_leftovers(home)?;
    let generations = generations(home)?;
    let Some(newest) = newest_complete(home, generations.clone()) else { return Ok(()) };
    for sequence in generations {
        let is_old = sequence + KEPT_GENERATIONS as u64 <= newest && offered != Some(sequence);
        if is_old || sequence > newest {
            remove(&home.join(generation_name(sequence)))?;
        }
    }
    Ok(())
}

/// A generation goes manifest first, so that what is left of it never looks whole.
fn remove(generation: &Path) -> Result<(), Error> {
    artifacts::remove_file(&generation.join(MANIFEST))?;
    fs::remove_dir_all(generation).map_err(Error::cannot("remove", generation))
}

/// Everything below the generation, synced and hashed.
fn collect(home: &Path, directory: &Path, payloads: &mut Vec<Payload>) -> Result<(), Error> {
    for path in artifacts::list_directory(directory)? {
        let metadata = path.symlink_metadata().map_err(Error::cannot("read", &path))?;
        if metadata.is_dir() {
            collect(home, &path, payloads)?;
            continue;
        }
        if !metadata.is_file() {
            return Err(Error::file(path, "a checkpoint's payloads must be files"));
        }
        File::open(&path).and_then(|file| file.sync_all()).map_err(Error::cannot("sync", &path))?;
        let digest = hash_file(&path).map_err(Error::cannot("read", &path))?;
        let relative = path.strip_prefix(home).ok().and_then(Path::to_str).map(str::to_owned);
        let relative = relative
            .ok_or_else(|| Error::file(&path, "the name of a payload is not valid UTF-8"))?;
        let sha256 = hex(&digest.sha256);
        payloads.push(Payload { path: relative, bytes: digest.bytes, sha256 });
    }
    sync_directory(directory)
}
