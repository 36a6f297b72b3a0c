//! The directories of the offline runs of a slot, in order: `<prefix><stamp>-<id>`.
//!
//! A slot has at most one directory that has not been uploaded. Of several, the vendor's tool would
//! make one run, and it uploads directories at the same time and in no order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::record_log::Header;
use crate::metrics::layout::short_hash;
use crate::metrics::run::Backend;

/// `20261129_140503`.
const STAMP_BYTES: usize = 15;

/// What tells the offline runs of one backend from those of another.
pub(super) struct Format {
    pub(super) backend: Backend,
    pub(super) header: Header,
    /// How the names of the directories begin.
    pub(super) directory_prefix: &'static str,
    /// How the ids of a slot (`ippo_1`) begin.
    pub(super) slot_prefix: fn(&str) -> String,
}

/// A directory of one offline run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunDirectory {
    pub(super) stamp: String,
    pub(super) id: String,
    pub(super) path: PathBuf,
    /// Its record file.
    pub(super) file: PathBuf,
}

impl Format {
    /// The directories whose id begins with `id_prefix`, oldest first; none if `root` is missing.
    pub(super) fn find(&self, root: &Path, id_prefix: &str) -> io::Result<Vec<RunDirectory>> {
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let parts = name
                .to_str()
                .and_then(|name| name.strip_prefix(self.directory_prefix))
                .and_then(|rest| rest.split_at_checked(STAMP_BYTES))
                .and_then(|(stamp, id)| Some((stamp, id.strip_prefix('-')?)));
            if let Some((stamp, id)) = parts
                && id.starts_with(id_prefix)
            {
                found.push(self.directory(root, stamp.to_owned(), id.to_owned()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Creates a directory for `id`, later than `earlier` even when the clock went back.
    pub(super) fn create(
        &self,
        root: &Path,
        id: String,
        seconds: f64,
        earlier: &[RunDirectory],
    ) -> io::Result<RunDirectory> {
        let now = UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let latest = earlier.last().and_then(|latest| parse_stamp(&latest.stamp));
        let time = latest.map_or(now, |latest| now.max(latest + Duration::from_secs(1)));
        fs::create_dir_all(root)?;
        let created = self.directory(root, stamp(time), id);
        fs::create_dir(&created.path)?;
        Ok(created)
    }

    /// The directories of a slot (`ippo_1`) below the directory of an experiment.
    pub(super) fn directories(&self, experiment: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
        let found = self.find(&experiment.join(self.backend.name()), &(self.slot_prefix)(slot))?;
        Ok(found.into_iter().map(|found| found.path).collect())
    }

    fn directory(&self, root: &Path, stamp: String, id: String) -> RunDirectory {
        let path = root.join(format!("{}{stamp}-{id}", self.directory_prefix));
        let file = path.join(format!("run-{id}.{}", self.backend));
        RunDirectory { stamp, id, path, file }
    }
}

impl RunDirectory {
    /// Renames the directory so that no tool finds a run to upload in it.
    pub(super) fn set_aside(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        fs::rename(&self.path, self.path.with_file_name(format!("superseded-{name}")))
    }
}

/// Hexadecimal digits that no other run has.
pub(super) fn nonce(digits: usize) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let texts = [nanos.to_string(), process::id().to_string(), count.to_string()];
    short_hash("rle log run", &texts.each_ref().map(String::as_str), digits)
}

fn stamp(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.trim_end_matches('Z').replace(['-', ':'], "").replace('T', "_")
}

fn parse_stamp(stamp: &str) -> Option<SystemTime> {
    let (day, time) = stamp.split_once('_')?;
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        day.get(..4)?,
        day.get(4..6)?,
        day.get(6..)?,
        time.get(..2)?,
        time.get(2..4)?,
        time.get(4..)?
    );
    humantime::parse_rfc3339(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    static FORMAT: Format = Format {
        backend: Backend::Wandb,
        header: *b"header!",
        directory_prefix: "run-",
        slot_prefix: |slot| format!("{slot}-"),
    };

    #[test]
    fn a_later_directory_sorts_last_although_the_clock_went_back() {
        let dir = tempfile::tempdir().unwrap();
        let create = |id: &str, seconds, earlier: &[RunDirectory]| {
            FORMAT.create(dir.path(), id.to_owned(), seconds, earlier).unwrap()
        };
        let first = create("a-1", 1_796_000_000.0, &[]);
        assert!(first.path.ends_with("run-20261130_005320-a-1"));
        assert!(first.file.ends_with("run-20261130_005320-a-1/run-a-1.wandb"));
        let second = create("a-1", 5.0, std::slice::from_ref(&first));
        create("b-1", 5.0, &[]);
        assert_eq!(second.stamp, "20261130_005321");
        assert_eq!(FORMAT.find(dir.path(), "a-").unwrap(), [first, second]);
    }

    #[test]
    fn what_is_set_aside_and_what_is_of_others_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let created = FORMAT.create(dir.path(), "a-1".to_owned(), 0.0, &[]).unwrap();
        fs::create_dir(dir.path().join("run-short")).unwrap();
        created.set_aside().unwrap();
        assert_eq!(FORMAT.find(dir.path(), "").unwrap(), []);
        assert_eq!(FORMAT.find(&dir.path().join("none"), "").unwrap(), []);
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce(12), nonce(12));
        assert_eq!(nonce(6).len(), 6);
    }
}
