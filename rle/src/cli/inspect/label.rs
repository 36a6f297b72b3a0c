//! The names under which people know algorithms: from records, or from run archives, which are zips
//! of `.npy` arrays as `numpy.savez` writes them.
//!
//! A zip library would bring more crates than the rest of the command line has.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::files::slot;
use crate::record;

/// The files of one algorithm's runs in `runs/`, the last run last.
#[derive(Debug, Default)]
struct RunFiles {
    records: BTreeMap<u32, PathBuf>,
    archives: BTreeMap<u32, PathBuf>,
}

#[derive(Debug)]
pub(super) struct Labels(BTreeMap<String, RunFiles>);

impl Labels {
    /// Looks at what is in the directory `runs` of a group; there may be none.
    pub(super) fn of_group(group: &Path) -> Self {
        let mut files: BTreeMap<String, RunFiles> = BTreeMap::new();
        for entry in fs::read_dir(group.join("runs")).into_iter().flatten().flatten() {
            let path = entry.path();
            // To open anything else may wait for another program.
            if !path.is_file() {
                continue;
            }
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Some((slug, run_idx)) = slot(&stem) else { continue };
            let files = files.entry(slug.to_owned()).or_default();
            match path.extension().and_then(OsStr::to_str) {
                Some("json") => files.records.insert(run_idx, path),
                Some("np") => files.archives.insert(run_idx, path),
                _ => None,
            };
        }
        Self(files)
    }

    /// The label of an algorithm: from the record of its last run, else from its last run archive,
    /// else made of its slug.
    pub(super) fn label(&self, slug: &str) -> String {
        let files = self.0.get(slug);
        let recorded = || {
            let (_, path) = files?.records.last_key_value()?;
            record::read_head(path).map(|head| head.algorithm.name)
        };
        let archived = || {
            let (_, path) = files?.archives.last_key_value()?;
            archived_text(path, "algo")
        };
        recorded().or_else(archived).unwrap_or_else(|| prettified(slug))
    }
}

/// `ippo_lagrangian` as `Ippo Lagrangian`.
fn prettified(slug: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    };
    let words: Vec<String> = slug.split('_').filter(|part| !part.is_empty()).map(word).collect();
    if words.is_empty() { slug.to_owned() } else { words.join(" ") }
}

/// The longest entry that is read: a label is a few hundred bytes.
const MOST_BYTES: usize = 1 << 16;
/// The longest list of entries that is read.
const MOST_DIRECTORY_BYTES: u64 = 1 << 24;
/// The end record with the longest comment that a zip may have.
const MOST_END_BYTES: u64 = 22 + 0xffff;
const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
const ENTRY_MAGIC: [u8; 4] = *b"PK\x01\x02";
const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The text of the 0-dimensional Unicode array `name`; none where the file has no such entry or is
/// no such archive.
fn archived_text(path: &Path, name: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    unicode_scalar(&entry(&mut file, &format!("{name}.npy"))?)
}

fn entry(file: &mut File, name: &str) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    let tail = read_at(file, length.saturating_sub(MOST_END_BYTES), MOST_END_BYTES)?;
    let end = tail.windows(4).rposition(|window| window == END_MAGIC)?;
    let (bytes, start) = (u32_at(&tail, end + 12)?, u32_at(&tail, end + 16)?);
    let list = read_at(file, start.into(), u64::from(bytes).min(MOST_DIRECTORY_BYTES))?;
    let found = find(&list, name)?;
    let local = read_at(file, found.at, 30)?;
    if !local.starts_with(&LOCAL_MAGIC) {
        return None;
    }
    let at = found.at + 30 + u64::from(u16_at(&local, 26)?) + u64::from(u16_at(&local, 28)?);
    let bytes = read_at(file, at, found.bytes.min(MOST_BYTES as u64))?;
    match found.method {
        STORED => Some(bytes),
        DEFLATED => miniz_oxide::inflate::decompress_to_vec_with_limit(&bytes, MOST_BYTES).ok(),
        _ => None,
    }
}

struct Listed {
    method: u16,
    /// Of the stored form.
    bytes: u64,
    /// Where the entry's own header is.
    at: u64,
}

/// The entry of that name in a zip's list.
fn find(list: &[u8], name: &str) -> Option<Listed> {
    let mut rest = list;
    while rest.starts_with(&ENTRY_MAGIC) {
        let length = |at| u16_at(rest, at).map(usize::from);
        let (name_bytes, extra_bytes, comment_bytes) = (length(28)?, length(30)?, length(32)?);
        if rest.get(46..46 + name_bytes)? == name.as_bytes() {
            return Some(Listed {
                method: u16_at(rest, 10)?,
                bytes: u32_at(rest, 20)?.into(),
                at: u32_at(rest, 42)?.into(),
            });
        }
        rest = rest.get(46 + name_bytes + extra_bytes + comment_bytes..)?;
    }
    None
}

/// The value of a `.npy` file of shape `()` and type `<U..` or `>U..`.
fn unicode_scalar(npy: &[u8]) -> Option<String> {
    let rest = npy.strip_prefix(b"\x93NUMPY")?;
    let (header_bytes, start) = match rest.first()? {
        1 => (usize::from(u16_at(rest, 2)?), 4_usize),
        2 | 3 => (usize::try_from(u32_at(rest, 2)?).ok()?, 6),
        _ => return None,
    };
    let header = str::from_utf8(rest.get(start..start.checked_add(header_bytes)?)?).ok()?;
    let scalar = header.split_once("'shape':")?.1.trim_start().starts_with("()");
    let kind = header.split_once("'descr':")?.1.trim_start().strip_prefix('\'')?;
    let little = match kind.as_bytes() {
        [b'<', b'U', ..] => true,
        [b'>', b'U', ..] => false,
        _ => return None,
    };
    let (units, _) = rest.get(start + header_bytes..)?.as_chunks::<4>();
    let letter = |unit: &[u8; 4]| {
        char::from_u32(if little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) })
    };
    let text: String = units.iter().map(letter).collect::<Option<_>>()?;
    // The array is as long as its type says; what the text does not fill is zeros.
    let text = text.trim_end_matches('\0');
    (scalar && !text.is_empty()).then(|| text.to_owned())
}

fn read_at(file: &mut File, at: u64, bytes: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content).ok()?;
    Some(content)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn npy(descr: &str, shape: &str, units: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(units);
        bytes
    }

    #[test]
    fn a_text_is_read_in_both_byte_orders_and_nothing_else_is() {
        let little: Vec<u8> = "PPO β\0\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        let big: Vec<u8> = "PPO β\0\0".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
        assert_eq!(unicode_scalar(&npy("<U7", "()", &little)).as_deref(), Some("PPO β"));
        assert_eq!(unicode_scalar(&npy(">U7", "()", &big)).as_deref(), Some("PPO β"));
        assert_eq!(unicode_scalar(&npy("<U7", "(1,)", &little)), None);
        assert_eq!(unicode_scalar(&npy("<f8", "()", &little)), None);
        assert_eq!(unicode_scalar(&npy("<U1", "()", &[0xff; 4])), None);
        assert_eq!(unicode_scalar(b"\x93NUMPY\x01"), None);
    }

    #[test]
    fn what_is_no_archive_has_no_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.np");
        let mut end = END_MAGIC.to_vec();
        end.extend([0xff; 18]);
        for bytes in [b"".to_vec(), b"PK".to_vec(), vec![b'P'; 100_000], END_MAGIC.to_vec(), end] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(archived_text(&path, "algo"), None);
        }
        assert_eq!(archived_text(dir.path(), "algo"), None);
    }

    #[test]
    fn a_slug_without_files_gives_its_words() {
        let labels = Labels::of_group(Path::new("/no/such/group"));
        assert_eq!(labels.label("ippo_lagrangian"), "Ippo Lagrangian");
        assert_eq!(labels.label("run-001"), "Run-001");
        assert_eq!(labels.label("__"), "__");
    }
}
