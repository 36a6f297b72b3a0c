//! The files of a directory: where they are, and how they are read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scan::{Fault, position};
use super::{HARDWARE_FILE, LOCK_FILE, TIMINGS_FILE};
use crate::Error;

/// The longest file that is read or written: over four million entries.
pub(super) const MAX_FILE_BYTES: u64 = 512 << 20;
/// A longer file is checked after so many bytes: they have to be the beginning of a valid one.
const CHECKPOINTS: [u64; 2] = [4 << 20, 64 << 20];
const REMEDY: &str = "put back an earlier copy, or move the file away to start a new one";

/// The directory that a path stands for: the path itself, or the directory of the file it names.
///
/// A path that does not exist names a file when it has an extension that begins with a letter.
pub(super) fn directory_of(path: &Path) -> PathBuf {
    let is_ours = path.file_name().is_some_and(|name| {
        [TIMINGS_FILE, HARDWARE_FILE, LOCK_FILE].iter().any(|ours| name == OsStr::new(ours))
    });
    let ends_as_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let names_file = || match fs::metadata(path) {
        Ok(metadata) => !metadata.is_dir(),
        Err(_) => !ends_as_directory && has_file_extension(path),
    };
    if is_ours || names_file() {
        return match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
    }
    path.to_owned()
}

/// `bundle.np` names a file, `ppo_0.5` a directory.
fn has_file_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| extension.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Reads the file at `path` and hands its text to `parse`; `None` where there is no file.
///
/// # Errors
/// Names the file: one that cannot be read, is not a regular file, is too long, empty or half
/// written, or that `parse` refuses.
pub(super) fn read<T>(
    path: &Path,
    parse: impl Fn(&Arc<String>) -> Result<T, Fault>,
) -> Result<Option<T>, Error> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        return Err(Error::file(path, format!("is {kind} where a file is expected; move it away")));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_long(path, metadata.len()));
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let mut bytes =
        Vec::with_capacity(usize::try_from(metadata.len().min(CHECKPOINTS[0])).unwrap_or(0) + 1);
    for limit in CHECKPOINTS.into_iter().chain([MAX_FILE_BYTES]) {
        let more = (limit + 1).saturating_sub(bytes.len() as u64);
        let read = file.by_ref().take(more).read_to_end(&mut bytes);
        read.map_err(|error| Error::io("read", path, error))?;
        if bytes.len() as u64 <= limit {
            return parse_complete(path, bytes, parse).map(Some);
        }
        check_beginning(path, &bytes, &parse)?;
    }
    Err(too_long(path, bytes.len() as u64))
}

/// Refuses the beginning of a file that cannot become valid, however it goes on.
fn check_beginning<T>(
    path: &Path,
    bytes: &[u8],
    parse: impl Fn(&Arc<String>) -> Result<T, Fault>,
) -> Result<(), Error> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character may be cut in two.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => return Err(not_utf8(path, error.valid_up_to())),
    };
    let source = Arc::new(text.to_owned());
    match parse(&source) {
        Err(Fault::End) | Ok(_) => Ok(()),
        Err(fault) => Err(refused(path, &source, fault)),
    }
}

fn parse_complete<T>(
    path: &Path,
    bytes: Vec<u8>,
    parse: impl Fn(&Arc<String>) -> Result<T, Fault>,
) -> Result<T, Error> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(path, error.utf8_error().valid_up_to())),
    };
    if text.trim_ascii().is_empty() {
        let problem = format!("is empty, which no finished write leaves; {REMEDY}");
        return Err(Error::file(path, problem));
    }
    let source = Arc::new(text);
    parse(&source).map_err(|fault| refused(path, &source, fault))
}

fn refused(path: &Path, source: &str, fault: Fault) -> Error {
    let problem = match fault {
        Fault::Content(problem) => problem,
        Fault::End => format!("is not whole JSON: it ends too early; {REMEDY}"),
        Fault::Syntax(at, problem) => {
            let (line, column) = position(source, at);
            format!("is not whole JSON: {problem} at line {line} column {column}; {REMEDY}")
        }
    };
    Error::file(path, problem)
}

fn not_utf8(path: &Path, at: usize) -> Error {
    Error::file(path, format!("is not whole JSON: it is not UTF-8 from byte {at} on; {REMEDY}"))
}

/// The error of a file that is longer than `MAX_FILE_BYTES`.
pub(super) fn too_long(path: &Path, bytes: u64) -> Error {
    Error::file(
        path,
        format!("has {bytes} bytes, and files of up to {MAX_FILE_BYTES} are read; {REMEDY}"),
    )
}
