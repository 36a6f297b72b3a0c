//! Runs the program `logs` in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A working directory and a source tree.
pub(crate) struct Logs {
    dir: tempfile::TempDir,
}

/// How a start ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stderr: String,
}

impl Ended {
    /// The lines of stderr with this word.
    pub(crate) fn lines(&self, word: &str) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.contains(word)).collect()
    }
}

impl Logs {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(dir.path().join("source/src")).unwrap();
        fs::write(dir.path().join("source/Cargo.toml"), "[workspace]\n").unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn out(&self, path: &str) -> PathBuf {
        self.dir.path().join("work/out").join(path)
    }

    /// The event files of a run, in the usual place.
    pub(crate) fn events(&self, slot: &str) -> PathBuf {
        self.out("_logs/alps/out/tensorboard").join(slot)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_logs"));
        command
            .args(words)
            .current_dir(self.dir.path().join("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        self.run_with(words, &[])
    }

    pub(crate) fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut command = self.command(words);
        let output = command.envs(variables.iter().copied()).output().expect("the program starts");
        Ended {
            status: output.status.code().unwrap_or(-1),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }

    pub(crate) fn record(&self, slot: &str) -> Value {
        read_json(&self.out(&format!("runs/{slot}.json")))
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The entries of a directory, sorted; none where there is none.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
