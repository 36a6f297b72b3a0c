//! Runs the program `lab` in a directory of its own and looks at what it did.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A working directory, a source tree beside it, and the program.
pub(crate) struct Lab {
    dir: tempfile::TempDir,
}

/// How a start ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Every entry below a directory: its content, and when it was last changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree(BTreeMap<PathBuf, (Vec<u8>, Option<i64>)>);

impl Lab {
    pub(crate) fn new() -> Self {
        let lab = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        lab.write("source/Cargo.toml", "[workspace]\n");
        lab.write("source/src/main.rs", "fn main() {}\n");
        fs::create_dir(lab.work()).expect("a new directory");
        lab
    }

    /// The current directory of the program.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// A path below the default export directory.
    pub(crate) fn out(&self, path: &str) -> PathBuf {
        self.work().join("out").join(path)
    }

    /// Writes a file, with its directories, below the lab's root.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("a directory");
        fs::write(&path, text).expect("a written file");
        path
    }

    /// The program with a clean environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
        command
            .args(words)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LAB_SOURCE", self.dir.path().join("source"))
            .env("LAB_TRACE", self.dir.path().join("trace"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, &[])
    }

    pub(crate) fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Ended {
        let output = self.command(words).envs(variables.iter().copied()).output();
        Ended::of(output.expect("the program can be started"))
    }

    /// The slots that a plan says are not reused, with their reasons in words.
    pub(crate) fn to_run(&self, words: &[&str]) -> Vec<(String, Vec<String>)> {
        let plan = self.run(&[&["--dry-run", "--format", "json"], words].concat()).ok().json();
        let slots = plan["slots"].as_array().expect("a list of slots");
        let asked = slots.iter().filter(|slot| slot["action"] != "reuse");
        asked
            .map(|slot| {
                let reasons = slot["reasons"].as_array().expect("a list of reasons").iter();
                let reasons = reasons.map(|reason| text(&reason["text"])).collect();
                (text(&slot["slot"]), reasons)
            })
            .collect()
    }

    /// The calls of algorithms and prepares since the last look.
    pub(crate) fn calls(&self) -> Vec<String> {
        let path = self.dir.path().join("trace");
        let calls = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        calls.lines().map(ToOwned::to_owned).collect()
    }

    /// A record by its file's stem: `alpha_0`.
    pub(crate) fn record(&self, stem: &str) -> Value {
        read_json(&self.out(&format!("runs/{stem}.json")))
    }

    pub(crate) fn log(&self, stem: &str) -> String {
        let path = self.out(&format!("_logs/{stem}.log"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn listen(&self) -> (String, UnixListener) {
        let path = self.dir.path().join("socket");
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        (path.to_str().expect("a UTF-8 path").to_owned(), listener)
    }

    /// The whole lab with the times at which anything changed.
    pub(crate) fn tree(&self) -> Tree {
        tree(self.dir.path(), true)
    }

    /// Demands that a start is refused in these words before it touches anything.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &[&str], parts: &[&str]) {
        self.refuses_with(words, &[], parts);
    }

    #[track_caller]
    pub(crate) fn refuses_with(&self, words: &[&str], variables: &[(&str, &str)], parts: &[&str]) {
        let before = self.tree();
        let ended = self.run_with(words, variables);
        ended.refused(parts);
        assert!(self.tree() == before, "{words:?} changed something on disk");
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ends(0)
    }

    #[track_caller]
    pub(crate) fn ends(self, status: i32) -> Self {
        assert_eq!(self.status, status, "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Exit status 2, nothing on stdout, and one message that says all of this.
    #[track_caller]
    pub(crate) fn refused(&self, parts: &[&str]) {
        let Self { status, stdout, stderr } = self;
        assert_eq!((*status, stdout.as_str()), (2, ""), "{stderr}");
        let message = stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{stderr}"));
        assert!(!message.contains("error: "), "said more than once: {stderr}");
        assert!(!message.contains("panicked"), "{stderr}");
        for part in parts {
            assert!(message.contains(part), "no `{part}` in: {stderr}");
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The line of the summary about a slot.
    #[track_caller]
    pub(crate) fn line(&self, slot: &str) -> &str {
        let found = self.stdout.lines().find(|line| line.split_whitespace().any(|w| w == slot));
        found.unwrap_or_else(|| panic!("no line for {slot} in {}", self.stdout))
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Sorted names in a directory; none where there is no such directory.
pub(crate) fn names(directory: impl AsRef<Path>) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Everything below `root`, with its times or without.
pub(crate) fn tree(root: &Path, times: bool) -> Tree {
    let mut entries = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().expect("an entry that was listed");
        let content = if metadata.is_dir() {
            pending.extend(names(&path).into_iter().map(|name| path.join(name)));
            b"a directory".to_vec()
        } else if metadata.is_file() {
            fs::read(&path).expect("a readable file")
        } else {
            b"something else".to_vec()
        };
        let changed = times.then(|| metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec());
        entries.insert(path, (content, changed));
    }
    Tree(entries)
}
