//! The log format of LevelDB with a header of its own, as W&B and SwanLab use it.
//!
//! <https://github.com/google/leveldb/blob/main/doc/log_format.md>, but with the plain CRC-32.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::checksum::CRC32;
use super::file::LogFile;

const BLOCK: usize = 32_768;
const CHUNK_HEADER: usize = 7;
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;
/// How much of a rewritten file may be in memory, in bytes.
const REWRITE_BYTES: usize = 1 << 20;

/// The first bytes of a file: who wrote it, in which version.
pub(super) type Header = [u8; 7];

/// What happens to a record of an earlier attempt when its log is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metrics) enum RecordAction {
    Keep,
    /// It is written again later, such as the end of a run that is resumed.
    Drop,
    /// It is after the checkpoint that the run resumes from.
    Supersede,
}

/// A new log; a file that exists is an error.
pub(super) fn create(path: &Path, header: Header) -> io::Result<LogFile> {
    let mut file = LogFile::create(path)?;
    file.waiting().extend_from_slice(&header);
    Ok(file)
}

/// Continues the log at `path` with the records that `filter` keeps.
///
/// A torn tail is cut off. A kill in between leaves the old file or the new one. Where a
/// record is superseded, the old file stays beside the new one, under a name that no reader
/// looks for.
pub(super) fn reopen(
    path: &Path,
    header: Header,
    mut filter: impl FnMut(&[u8]) -> RecordAction,
) -> io::Result<LogFile> {
    let mut records = Records::open(path, header)?;
    let draft = path.with_extension("draft");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut log = create(&draft, header)?;
    let mut superseded = false;
    while let Some(record) = records.next_record()? {
        match filter(record) {
            RecordAction::Keep => append(&mut log, record, 0),
            RecordAction::Drop => {}
            RecordAction::Supersede => superseded = true,
        }
        if log.waiting().len() > REWRITE_BYTES {
            log.flush().map_err(|error| error.source)?;
        }
    }
    log.close().map_err(|error| error.source)?;
    if superseded {
        let aside = aside_name(path);
        fs::hard_link(path, &aside).or_else(|_| fs::copy(path, &aside).map(drop))?;
    }
    fs::rename(&draft, path)?;
    Ok(log)
}

/// Adds a record that holds so many points.
pub(super) fn append(file: &mut LogFile, record: &[u8], points: u64) {
    let mut rest = record;
    let mut first = true;
    loop {
        let mut room = room_at(file.position());
        if room < CHUNK_HEADER {
            file.waiting().extend_from_slice(&[0; CHUNK_HEADER][..room]);
            room = BLOCK;
        }
        let (chunk, after) = rest.split_at(rest.len().min(room - CHUNK_HEADER));
        let kind = match (first, after.is_empty()) {
            (true, true) => FULL,
            (true, false) => FIRST,
            (false, false) => MIDDLE,
            (false, true) => LAST,
        };
        let length = u16::try_from(chunk.len()).expect("a block is below 65,536 bytes");
        let out = file.waiting();
        out.extend_from_slice(&CRC32.of(&[&[kind], chunk]).to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.push(kind);
        out.extend_from_slice(chunk);
        if after.is_empty() {
            break;
        }
        (rest, first) = (after, false);
    }
    file.add_points(points);
}

/// Reads the complete records of a log, up to the first invalid byte.
pub(in crate::metrics) struct Records {
    reader: BufReader<File>,
    offset: u64,
    record: Vec<u8>,
}

impl Records {
    /// # Errors
    /// When the file cannot be read or has another header.
    pub(in crate::metrics) fn open(path: &Path, header: Header) -> io::Result<Self> {
        let mut reader = BufReader::new(File::open(path)?);
        let mut found = Header::default();
        reader.read_exact(&mut found)?;
        if found != header {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another format"));
        }
        Ok(Self { reader, offset: header.len() as u64, record: Vec::new() })
    }

    /// The next record; `None` at the end and at the first byte that is not as it was written.
    pub(in crate::metrics) fn next_record(&mut self) -> io::Result<Option<&[u8]>> {
        self.record.clear();
        loop {
            let Some(kind) = self.read_chunk()? else { return Ok(None) };
            match kind {
                FULL | LAST => return Ok(Some(&self.record)),
                FIRST | MIDDLE => {}
                // Nobody writes others; zeros after a crash of the machine fail their checksum.
                _ => return Ok(None),
            }
        }
    }

    fn read_chunk(&mut self) -> io::Result<Option<u8>> {
        let room = room_at(self.offset);
        if room < CHUNK_HEADER && !self.fill(&mut [0; CHUNK_HEADER][..room])? {
            return Ok(None);
        }
        let mut header = [0; CHUNK_HEADER];
        if !self.fill(&mut header)? {
            return Ok(None);
        }
        let [a, b, c, d, low, high, kind] = header;
        let from = self.record.len();
        self.record.resize(from + usize::from(u16::from_le_bytes([low, high])), 0);
        let mut chunk = std::mem::take(&mut self.record);
        let whole = self.fill(&mut chunk[from..])?
            && CRC32.of(&[&[kind], &chunk[from..]]) == u32::from_le_bytes([a, b, c, d]);
        self.record = chunk;
        Ok(whole.then_some(kind))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.reader.read_exact(buffer) {
            Ok(()) => {
                self.offset += buffer.len() as u64;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What is left of the block at an offset.
#[expect(clippy::cast_possible_truncation, reason = "below a block's length")]
fn room_at(offset: u64) -> usize {
    BLOCK - (offset % BLOCK as u64) as usize
}

/// A free name beside `path` for what it held: no reader looks for files that end so.
pub(in crate::metrics) fn aside_name(path: &Path) -> PathBuf {
    let named = |count: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".superseded-{count}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(named).find(|name| !name.exists()).unwrap_or_else(|| named(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: Header = *b":TST\x01\x02\x03";

    fn read(path: &Path) -> Vec<Vec<u8>> {
        let mut records = Records::open(path, HEADER).unwrap();
        let mut all = Vec::new();
        while let Some(record) = records.next_record().unwrap() {
            all.push(record.to_vec());
        }
        all
    }

    fn write(path: &Path, lengths: &[usize]) -> Vec<Vec<u8>> {
        let mut log = create(path, HEADER).unwrap();
        let records: Vec<Vec<u8>> =
            lengths.iter().zip(1_u8..).map(|(length, byte)| vec![byte; *length]).collect();
        for record in &records {
            append(&mut log, record, 0);
        }
        log.close().unwrap();
        records
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn records_of_all_lengths_come_back(
            lengths in prop::collection::vec(prop_oneof![0..100_usize, 32_700..32_800_usize, 60_000..100_000_usize], 0..12)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("log");
            let records = write(&path, &lengths);
            prop_assert_eq!(read(&path), records);
        }
    }

    #[test]
    fn a_torn_log_gives_its_whole_records() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let records = write(&path, &[10, 40_000, 20]);
        let whole = fs::read(&path).unwrap();
        for length in (7..whole.len()).step_by(97).chain(whole.len() - 30..whole.len()) {
            fs::write(&path, &whole[..length]).unwrap();
            let read = read(&path);
            assert!(read.len() < 3 && read[..] == records[..read.len()], "cut at {length}");
        }
        let mut zeroed = whole.clone();
        zeroed.extend_from_slice(&[0; 4_096]);
        fs::write(&path, &zeroed).unwrap();
        assert_eq!(read(&path), records);
    }

    #[test]
    fn a_reopened_log_holds_what_was_kept_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.log");
        let records = write(&path, &[10, 40_000, 20, 30]);
        let torn = [fs::read(&path).unwrap(), vec![9; 5]].concat();
        fs::write(&path, &torn).unwrap();
        let aside = aside_name(&path);
        let mut log = reopen(&path, HEADER, |record| {
            if record.len() == 20 { RecordAction::Supersede } else { RecordAction::Keep }
        })
        .unwrap();
        append(&mut log, b"more", 1);
        log.flush().unwrap();
        let kept = [records[0].clone(), records[1].clone(), records[3].clone(), b"more".to_vec()];
        assert_eq!(read(&path), kept);
        assert_eq!(fs::read(&aside).unwrap(), torn);
        assert_ne!(aside_name(&path), aside);
    }

    #[test]
    fn a_file_of_another_format_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, b":OTH\x01\x02\x03rest").unwrap();
        assert!(reopen(&path, HEADER, |_| RecordAction::Keep).is_err());
        assert_eq!(fs::read(&path).unwrap(), b":OTH\x01\x02\x03rest");
    }
}
