//! SHA-256 of bytes, of fields and of files, the last on all cores.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sha2::{Digest, Sha256};

/// Large enough that the system's read-ahead, not the call, sets the pace.
const CHUNK_BYTES: usize = 1 << 20;

/// A SHA-256 value.
pub(crate) type Sha = [u8; 32];

/// A hash in lower-case hexadecimal.
pub(crate) fn hex(sha: &Sha) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    sha.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The SHA-256 of some bytes, as 64 hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes).into())
}

/// Hashes a sequence of fields so that no two sequences look alike: each field is its length
/// in bytes, as 8 bytes little-endian, and then its bytes.
pub(crate) struct FieldHasher(Sha256);

impl FieldHasher {
    /// A hasher whose first field is `domain`, which tells one use of it from another.
    pub(crate) fn new(domain: &str) -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.field(domain.as_bytes());
        hasher
    }

    pub(crate) fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Sha {
        self.0.finalize().into()
    }
}

/// A file's size and hash, both of the bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileDigest {
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha,
}

/// Hashes one file, in chunks.
pub(crate) fn hash_file(path: &Path) -> io::Result<FileDigest> {
    hash_in_chunks(path, &mut vec![0; CHUNK_BYTES])
}

/// Hashes many files with all cores, and returns the outcomes in the order of `paths`.
pub(crate) fn hash_files(paths: &[PathBuf]) -> Vec<io::Result<FileDigest>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut outcomes = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(index) else { return outcomes };
            outcomes.push((index, hash_in_chunks(path, &mut chunk)));
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut outcomes = thread::scope(|scope| {
        // Where the system allows no more threads, fewer do the work; this one always does.
        let others: Vec<_> = (1..cores.min(paths.len()))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut outcomes = work();
        for other in others {
            outcomes.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcomes
    });
    outcomes.sort_unstable_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn hash_in_chunks(path: &Path, chunk: &mut [u8]) -> io::Result<FileDigest> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    loop {
        match file.read(chunk) {
            Ok(0) => return Ok(FileDigest { bytes, sha256: hasher.finalize().into() }),
            Ok(count) => {
                hasher.update(&chunk[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_the_hash_that_every_other_program_computes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abc");
        fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&hash_file(&path).unwrap().sha256), expected);
    }

    #[test]
    fn a_file_of_several_chunks_hashes_like_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        let content: Vec<u8> = (0..=250).cycle().take(3 * CHUNK_BYTES + 7).collect();
        fs::write(&path, &content).unwrap();
        let digest = hash_file(&path).unwrap();
        assert_eq!(digest.bytes, content.len() as u64);
        assert_eq!(hex(&digest.sha256), sha256_hex(&content));
    }

    #[test]
    fn many_files_keep_their_order_and_an_unreadable_one_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..200).map(|index| dir.path().join(index.to_string())).collect();
        for (index, path) in paths.iter().enumerate().filter(|(index, _)| *index != 50) {
            fs::write(path, index.to_string()).unwrap();
        }
        let outcomes = hash_files(&paths);
        assert_eq!(outcomes.len(), 200);
        for (index, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Ok(digest) => {
                    assert_eq!(hex(&digest.sha256), sha256_hex(index.to_string().as_bytes()));
                }
                Err(error) => {
                    assert_eq!((index, error.kind()), (50, io::ErrorKind::NotFound));
                }
            }
        }
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let hash = |fields: &[&str]| {
            let mut hasher = FieldHasher::new("test");
            for field in fields {
                hasher.field(field.as_bytes());
            }
            hasher.finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a", ""]), hash(&["a"]));
    }
}
