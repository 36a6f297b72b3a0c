//! The file of an offer and the text in it: made and withdrawn by its owner, taken and accepted by
//! a lock's holder.
//!
//! The owner keeps its offer locked for as long as it lives. The offer's name is gone once a
//! holder has taken it, or the owner has withdrawn it: only one of them can remove it. The file
//! itself becomes empty once the work is done, which the owner sees by the handle that it has: a
//! file that somebody else removed is never taken for one that was accepted.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::fs::{OFFER_SUFFIX, Temporary, directory_of, failpoint, try_exclusive, unique_name};
use crate::timings::hardware::{self, Descriptions};
use crate::timings::raw::Raw;
use crate::timings::scan::{Fault, Scanner};
use crate::timings::stages::{self, Stages};
use crate::timings::store::Timings;

/// A longer content is not offered: its owner does the work itself.
pub(super) const MAX_OFFER_BYTES: usize = 1 << 20;

/// The version of an offer's content; a holder does not take an offer of another version.
const SCHEMA_VERSION: u64 = 1;

/// An offer of this process. Dropping it leaves the file for a sweep, as a kill does.
#[derive(Debug)]
pub(super) struct Offer {
    temporary: Temporary,
    path: PathBuf,
}

impl Offer {
    /// Offers `content` to the holder of the lock of `target`, in a file beside it. `None` where
    /// that fails, for whatever reason: the owner does the work itself then.
    ///
    /// # Errors
    /// Only in tests, at a failpoint.
    pub(super) fn make(target: &Path, content: &[u8]) -> Result<Option<Self>, Error> {
        if content.is_empty() || content.len() > MAX_OFFER_BYTES {
            return Ok(None);
        }
        let Ok(mut temporary) = Temporary::create(target) else { return Ok(None) };
        failpoint()?;
        let Ok(name) = unique_name(target, OFFER_SUFFIX) else { return Ok(None) };
        let path = directory_of(target).join(name);
        // Before it has its name: an offer without a lock counts as that of a dead owner.
        let is_locked = matches!(try_exclusive(&temporary.file), Ok(true));
        if !is_locked || (&temporary.file).write_all(content).is_err() {
            return Ok(None);
        }
        failpoint()?;
        if temporary.rename_to(&path).is_err() {
            return Ok(None);
        }
        failpoint()?;
        Ok(Some(Self { temporary, path }))
    }

    /// Whether a holder has done the work, and it is on disk.
    pub(super) fn is_accepted(&self) -> bool {
        self.temporary.file.metadata().is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Takes the offer back. `false` when it is gone, most likely because a holder has taken it.
    pub(super) fn withdraw(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }
}

/// An offer of another, whose owner lives.
#[derive(Debug)]
pub(super) struct Offered {
    file: File,
    path: PathBuf,
    content: Vec<u8>,
    is_taken: bool,
}

impl Offered {
    /// What is offered.
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    /// Takes it, unless its owner has withdrawn it. From here on, the owner waits for the outcome.
    pub(super) fn take(&mut self) -> bool {
        self.is_taken = self.is_taken || fs::remove_file(&self.path).is_ok();
        self.is_taken
    }

    /// Tells the owner that its work is done and on disk.
    pub(super) fn accept(self) {
        // An owner that is not told does the work again.
        let _ = self.file.set_len(0);
    }
}

/// What is offered to the holder of the lock of `target`, who is the caller, sorted by name. The
/// offers of owners that were killed are removed; those that cannot be read are left alone.
pub(super) fn offers_for(target: &Path) -> Vec<Offered> {
    let Some(prefix) = target.file_name().map(|name| format!(".{}.", name.to_string_lossy()))
    else {
        return Vec::new();
    };
    let entries = fs::read_dir(directory_of(target)).into_iter().flatten().flatten();
    let is_offer = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(OFFER_SUFFIX))
            && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let mut paths: Vec<PathBuf> = entries.filter(is_offer).map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(offered).collect()
}

fn offered(path: PathBuf) -> Option<Offered> {
    // For writing, because it is emptied, and a lock over NFS asks for it.
    let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
    if try_exclusive(&file).ok()? {
        // While it is locked: nobody else can own it.
        let _ = fs::remove_file(&path);
        return None;
    }
    let limit = MAX_OFFER_BYTES as u64 + 1;
    let mut content = Vec::new();
    let length = (&file).take(limit).read_to_end(&mut content).ok()?;
    (1..=MAX_OFFER_BYTES).contains(&length).then_some(Offered {
        file,
        path,
        content,
        is_taken: false,
    })
}

/// The text of an offer of these times.
pub(super) fn render(timings: &Timings) -> String {
    format!(
        "{{\"hardware\": {}, \"schema_version\": {SCHEMA_VERSION}, \"timings\": {}}}\n",
        timings.hardware.render().trim_end(),
        stages::render(&timings.stages).trim_end()
    )
}

/// The times that the text of an offer holds.
pub(super) fn parse(source: &Arc<String>) -> Result<(Stages, Descriptions), Fault> {
    let (mut stages, mut hardware, mut version) = (None, None, None);
    Scanner::whole_object(source, |scanner, key| {
        let raw = Raw::new(source, scanner.value()?);
        match &*key {
            "hardware" => hardware = Some(hardware::parse(&Arc::new(raw.text().to_owned()))?),
            "timings" => stages = Some(stages::parse(&Arc::new(raw.text().to_owned()))?),
            "schema_version" => version = raw.value().as_u64(),
            _ => return Err(Fault::Content(format!("has the unknown key {key:?}"))),
        }
        Ok(())
    })?;
    match (stages, hardware, version) {
        (Some(stages), Some(hardware), Some(SCHEMA_VERSION)) => Ok((stages, hardware)),
        _ => Err(Fault::Content("is not an offer of this version".to_owned())),
    }
}

#[cfg(test)]
mod tests;
