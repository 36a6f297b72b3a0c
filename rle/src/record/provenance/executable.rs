//! The provenance of one start, whose executable is hashed beside the first runs; and whether that
//! executable is older than the sources.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::SystemTime;
use std::{env, io};

use super::format::{Executable, Provenance};
use crate::Error;
use crate::sync::Mutex;
use crate::value::Value;
use crate::value::digest::{hash_file, hex};

/// The provenance of a start. A thread hashes the executable, beside the first runs:
/// [`begin`](Self::begin) starts it, [`recorded`](Self::recorded) may still lack the hash, and
/// [`whole`](Self::whole) waits for it.
pub(crate) struct Capture {
    pub(super) provenance: Provenance,
    value: Value,
    hashing: Mutex<Option<JoinHandle<Executable>>>,
    executable: OnceLock<Executable>,
    /// What makes it doubtful, until it is said.
    pub(super) warnings: Mutex<Vec<String>>,
}

impl Capture {
    pub(crate) fn new(provenance: Provenance, warnings: Vec<String>) -> Result<Self, Error> {
        Ok(Self {
            value: Value::from_serialize(&provenance)?,
            provenance,
            hashing: Mutex::new(None),
            executable: OnceLock::new(),
            warnings: Mutex::new(warnings),
        })
    }

    /// What is known without waiting.
    pub(crate) fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    pub(crate) fn identity(&self) -> Value {
        self.provenance.identity()
    }

    /// Logs the warnings, once, and starts to hash the executable where it is not hashed yet.
    pub(crate) fn begin(&self) {
        let mut warnings = self.warnings.lock();
        for warning in warnings.drain(..) {
            tracing::warn!("{warning}");
        }
        drop(warnings);
        if !self.lacks_executable() || self.executable.get().is_some() {
            return;
        }
        let mut hashing = self.hashing.lock();
        if hashing.is_none() {
            let name = "rle-executable".to_owned();
            // Where the system allows no more threads, the one that waits does the work.
            *hashing = thread::Builder::new().name(name).spawn(running_executable).ok();
        }
    }

    /// For a record whose run begins: without the executable while that is being hashed.
    pub(crate) fn recorded(&self) -> Value {
        self.with_executable(self.executable.get())
    }

    /// For a record that ends; waits for the executable's hash.
    pub(crate) fn whole(&self) -> Value {
        self.with_executable(self.lacks_executable().then(|| self.hashed_executable()))
    }

    /// The provenance for a worker, with the executable's hash, for which it waits.
    pub(crate) fn for_worker(&self) -> Provenance {
        let mut provenance = self.provenance.clone();
        if self.lacks_executable() {
            provenance.executable = Some(self.hashed_executable().clone());
        }
        provenance
    }

    /// False where the caller supplies the provenance.
    fn lacks_executable(&self) -> bool {
        self.provenance.source.is_some() && self.provenance.executable.is_none()
    }

    fn hashed_executable(&self) -> &Executable {
        self.executable.get_or_init(|| {
            let hashing = self.hashing.lock().take();
            hashing.and_then(|thread| thread.join().ok()).unwrap_or_else(running_executable)
        })
    }

    fn with_executable(&self, executable: Option<&Executable>) -> Value {
        let mut value = self.value.clone();
        if let Some(executable) = executable.and_then(|found| Value::from_serialize(found).ok()) {
            value.insert("executable", executable);
        }
        value
    }
}

/// Linux keeps the running file reachable here, also when a new build has replaced its name.
fn running_file() -> io::Result<PathBuf> {
    let own = Path::new("/proc/self/exe");
    File::open(own).map(|_| own.to_owned()).or_else(|_: io::Error| env::current_exe())
}

pub(super) fn running_executable() -> Executable {
    match running_file().and_then(|path| hash_file(&path)) {
        Ok(digest) => Executable { sha256: Some(hex(&digest.sha256)), reason: None },
        Err(error) => Executable { sha256: None, reason: Some(error.to_string()) },
    }
}

/// Warns of sources that changed after the running program was built from them: no more than that,
/// since a time of modification proves nothing. `sources` are paths with `root` before them.
///
/// Cargo lists beside each program what it was built from. Where that list exists, only what it
/// names counts: an edited test, or a tree that the program was not built from, says nothing.
pub(super) fn stale_warning(root: &Path, sources: &[PathBuf]) -> Option<String> {
    let built = running_file().and_then(|path| path.metadata()).and_then(|file| file.modified());
    let list = env::current_exe().ok().map(|path| path.with_extension("d"));
    let list = list.and_then(|path| fs::read_to_string(path).ok());
    let listed = list.map(|list| listed_files(&list, root));
    newer_source(built.ok()?, root, sources, listed.as_ref())
}

fn newer_source(
    built: SystemTime,
    root: &Path,
    sources: &[PathBuf],
    listed: Option<&BTreeSet<PathBuf>>,
) -> Option<String> {
    let newer = sources
        .iter()
        .filter(|path| listed.is_none_or(|listed| listed.contains(*path)))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max()
        .filter(|(changed, _)| *changed > built);
    newer.map(|(_, path)| {
        format!(
            "{} changed after this program was built: records will name sources that it was not \
             built from; build it again",
            path.strip_prefix(root).unwrap_or(path).display()
        )
    })
}

/// The files after the colon of each line; a space within a name is escaped.
fn listed_files(list: &str, root: &Path) -> BTreeSet<PathBuf> {
    const SPACE: char = '\0';
    let list = list.replace("\\ ", &SPACE.to_string());
    let files = list.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, files)| {
        files.split(' ').map(|file| root.join(file.replace(SPACE, " "))).collect::<Vec<_>>()
    });
    // The sources have their links resolved.
    files.map(|file| fs::canonicalize(&file).unwrap_or(file)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::format::Source;
    use super::*;

    fn capture(executable: Option<Executable>) -> Capture {
        let source = Some(Source { tree_sha256: Some("ab".to_owned()), ..Source::default() });
        Capture::new(Provenance { source, executable, ..Provenance::default() }, Vec::new())
            .unwrap()
    }

    fn own_hash() -> Value {
        Value::from(hex(&hash_file(&env::current_exe().unwrap()).unwrap().sha256))
    }

    #[test]
    fn a_record_that_ends_has_the_executable_whether_or_not_its_hashing_began() {
        for begun in [false, true] {
            let capture = capture(None);
            assert_eq!(capture.recorded().get("executable"), None);
            if begun {
                capture.begin();
            }
            assert_eq!(capture.whole().get_dotted("executable.sha256"), Some(&own_hash()));
            assert_eq!(capture.recorded(), capture.whole());
            assert_eq!(capture.provenance().executable, None);
        }
    }

    #[test]
    fn what_was_handed_over_is_not_hashed_again() {
        let executable = Executable { sha256: Some("cd".to_owned()), reason: None };
        let capture = capture(Some(executable));
        capture.begin();
        assert!(capture.hashing.lock().is_none());
        assert_eq!(capture.whole().get_dotted("executable.sha256"), Some(&Value::from("cd")));
    }

    #[test]
    fn what_is_supplied_stays_without_an_executable() {
        let capture = Capture::new(Provenance::default(), Vec::new()).unwrap();
        capture.begin();
        assert_eq!(capture.whole().get("executable"), None);
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_source_newer_than_the_program_is_told_and_an_older_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let sources = ["a.rs", "b c.rs", "test.rs"].map(|name| root.join(name));
        for (path, seconds) in sources.iter().zip([1, 2, 3]) {
            fs::File::create(path).unwrap().set_modified(at(seconds)).unwrap();
        }
        let told = |built, listed: Option<&str>| {
            let listed = listed.map(|list| listed_files(list, &root));
            let warning = newer_source(at(built), &root, &sources, listed.as_ref())?;
            warning.split_once(" changed after").map(|(path, _)| path.to_owned())
        };
        assert_eq!(told(3, None), None);
        assert_eq!(told(2, None).as_deref(), Some("test.rs"));
        let list = format!("/x/program: {0}/a.rs {0}/b\\ c.rs\n", root.display());
        assert_eq!(told(2, Some(&list)), None);
        assert_eq!(told(1, Some(&list)).as_deref(), Some("b c.rs"));
        assert_eq!(told(0, Some("/x/program: a.rs\n\na.rs:\n")).as_deref(), Some("a.rs"));
        assert_eq!(told(0, Some("/x/program: /elsewhere/a.rs\n")), None);
    }
}
