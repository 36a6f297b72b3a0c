//! A file being appended to, which never ends in a torn record: a failed write is cut off again.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::metrics::logger::WriteError;

/// How many bytes may wait in memory while the disk refuses writes.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// A file being appended to, with the bytes that are not yet in it.
#[derive(Debug)]
pub(in crate::metrics) struct LogFile {
    file: File,
    /// Where the waiting bytes belong: everything before is in the file.
    start: u64,
    waiting: Vec<u8>,
    /// Points within the waiting bytes.
    points: u64,
    /// The length that the file may have; more than `start` when its last record is to be replaced.
    length: u64,
}

impl LogFile {
    /// A new file; one that exists is an error.
    pub(in crate::metrics) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Self { file, start: 0, waiting: Vec::new(), points: 0, length: 0 })
    }

    /// The offset of the next byte.
    pub(in crate::metrics) fn position(&self) -> u64 {
        self.start + self.waiting.len() as u64
    }

    /// The waiting bytes, to append to.
    pub(in crate::metrics) fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Counts so many more points within the waiting bytes.
    pub(in crate::metrics) fn add_points(&mut self, points: u64) {
        self.points += points;
    }

    /// Forgets everything from `offset` on, which is the start of a record.
    pub(in crate::metrics) fn rewind(&mut self, offset: u64) {
        if let Some(kept) = offset.checked_sub(self.start) {
            self.waiting.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        } else {
            self.waiting.clear();
            self.start = offset;
        }
    }

    /// Writes what waits, in one call.
    ///
    /// # Errors
    /// What waits stays for the next attempt, unless it has become too much: then it is lost.
    pub(in crate::metrics) fn flush(&mut self) -> Result<(), WriteError> {
        self.write_waiting().map_err(|source| {
            let lost = if self.waiting.len() > MAX_WAITING_BYTES { self.discard() } else { 0 };
            WriteError { lost, source }
        })
    }

    /// Writes what waits for the last time, and makes it last.
    ///
    /// # Errors
    /// What waits is lost.
    pub(in crate::metrics) fn close(&mut self) -> Result<(), WriteError> {
        self.write_waiting().map_err(|source| WriteError { lost: self.discard(), source })?;
        self.file.sync_data().map_err(WriteError::from)
    }

    fn write_waiting(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() && self.length <= self.start {
            return Ok(());
        }
        let written = self.file.seek(SeekFrom::Start(self.start)).and_then(|_| {
            self.file.write_all(&self.waiting)?;
            let end = self.start + self.waiting.len() as u64;
            // The record that was replaced may have been longer.
            if end < self.length { self.file.set_len(end) } else { Ok(()) }
        });
        if let Err(error) = written {
            // A torn record would hide everything after it; if even this fails, the next write
            // still begins where the torn one did.
            let _ = self.file.set_len(self.start);
            return Err(error);
        }
        self.start += self.waiting.len() as u64;
        self.length = self.start;
        self.waiting.clear();
        self.points = 0;
        Ok(())
    }

    fn discard(&mut self) -> u64 {
        self.waiting.clear();
        std::mem::take(&mut self.points)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::small_disk::SmallDisk;

    #[test]
    fn a_replaced_tail_leaves_nothing_of_the_longer_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut file = LogFile::create(&path).unwrap();
        file.waiting().extend_from_slice(b"head");
        let tail = file.position();
        file.waiting().extend_from_slice(b"a long tail");
        file.flush().unwrap();
        file.rewind(tail);
        file.waiting().extend_from_slice(b"short");
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"headshort");
        file.rewind(tail);
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"head");
    }

    #[test]
    fn a_full_disk_gets_no_torn_record_and_what_waits_follows_when_there_is_room() {
        let Some(disk) = SmallDisk::mount() else { return };
        let ballast = disk.join("ballast");
        fs::write(&ballast, vec![0; 40 << 10]).unwrap();
        let path = disk.join("log");
        let mut file = LogFile::create(&path).unwrap();
        file.waiting().extend_from_slice(b"first");
        file.flush().unwrap();
        file.waiting().extend_from_slice(&vec![1; 30 << 10]);
        file.add_points(3);
        let error = file.flush().unwrap_err();
        assert_eq!((error.lost, error.source.kind()), (0, io::ErrorKind::StorageFull));
        assert_eq!(fs::read(&path).unwrap(), b"first");
        fs::remove_file(ballast).unwrap();
        file.flush().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 5 + (30 << 10));
    }

    #[test]
    fn what_a_full_disk_refuses_for_long_is_counted_and_does_not_grow() {
        let Some(disk) = SmallDisk::mount() else { return };
        let mut file = LogFile::create(&disk.join("log")).unwrap();
        file.waiting().resize(MAX_WAITING_BYTES + 1, 0);
        file.add_points(1_000);
        assert_eq!(file.flush().unwrap_err().lost, 1_000);
        assert_eq!(file.waiting().len(), 0);
        file.waiting().resize(1 << 20, 0);
        file.add_points(5);
        assert_eq!(file.close().unwrap_err().lost, 5);
    }
}
