//! The directories of the offline runs of a slot, in order: `<prefix><stamp>-<id>`.
//!
//! A slot has at most one directory that is still to be sent. Several would be one run to the
//! vendor's tool, which sends directories at the same time and in no order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::metrics::layout::short_hash;

/// `20261129_140503`.
const STAMP_BYTES: usize = 15;

/// A directory of one offline run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::metrics) struct Segment {
    pub(super) stamp: String,
    pub(super) id: String,
    pub(super) directory: PathBuf,
}

/// The directories whose id begins with `id_prefix`, oldest first. A directory that does not
/// exist holds none.
pub(in crate::metrics) fn segments(
    root: &Path,
    prefix: &str,
    id_prefix: &str,
) -> io::Result<Vec<Segment>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let parts = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix))
            .and_then(|rest| rest.split_at_checked(STAMP_BYTES))
            .and_then(|(stamp, id)| Some((stamp, id.strip_prefix('-')?)));
        if let Some((stamp, id)) = parts
            && id.starts_with(id_prefix)
        {
            let (stamp, id) = (stamp.to_owned(), id.to_owned());
            found.push(Segment { stamp, id, directory: entry.path() });
        }
    }
    found.sort();
    Ok(found)
}

/// A new directory for `id`, later than `latest` even when the clock went back.
pub(in crate::metrics) fn create(
    root: &Path,
    prefix: &str,
    id: &str,
    seconds: f64,
    latest: Option<&str>,
) -> io::Result<PathBuf> {
    let now = UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let after = latest.and_then(parse_stamp).map(|latest| latest + Duration::from_secs(1));
    let stamp = stamp(after.map_or(now, |after| after.max(now)));
    fs::create_dir_all(root)?;
    let directory = root.join(format!("{prefix}{stamp}-{id}"));
    fs::create_dir(&directory)?;
    Ok(directory)
}

/// Keeps what a directory holds under a name that no tool takes for a run to send.
pub(in crate::metrics) fn set_aside(segment: &Segment) -> io::Result<()> {
    let name = segment.directory.file_name().unwrap_or_default().to_string_lossy();
    fs::rename(&segment.directory, segment.directory.with_file_name(format!("superseded-{name}")))
}

/// Whether reading a directory failed because its writer was killed before the first records.
pub(in crate::metrics) fn is_unborn(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound)
}

/// Digits that no other run has.
pub(in crate::metrics) fn nonce(digits: usize) -> String {
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

    #[test]
    fn a_later_directory_sorts_last_although_the_clock_went_back() {
        let dir = tempfile::tempdir().unwrap();
        let first = create(dir.path(), "run-", "a-1", 1_796_000_000.0, None).unwrap();
        assert!(first.ends_with("run-20261130_005320-a-1"));
        let found = segments(dir.path(), "run-", "a-").unwrap();
        create(dir.path(), "run-", "a-1", 5.0, Some(&found[0].stamp)).unwrap();
        create(dir.path(), "run-", "b-1", 5.0, None).unwrap();
        let stamps: Vec<_> =
            segments(dir.path(), "run-", "a-").unwrap().into_iter().map(|s| s.stamp).collect();
        assert_eq!(stamps, ["20261130_005320", "20261130_005321"]);
    }

    #[test]
    fn what_is_set_aside_and_what_is_of_others_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path(), "run-", "a-1", 0.0, None).unwrap();
        fs::create_dir(dir.path().join("run-short")).unwrap();
        let found = segments(dir.path(), "run-", "a").unwrap();
        set_aside(&found[0]).unwrap();
        assert_eq!(segments(dir.path(), "run-", "").unwrap(), []);
        assert_eq!(segments(&dir.path().join("none"), "run-", "").unwrap(), []);
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce(12), nonce(12));
        assert_eq!(nonce(6).len(), 6);
    }
}
