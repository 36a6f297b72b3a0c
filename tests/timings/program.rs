//! Starting the program `timings_writer`, and looking at what it leaves.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rle::timings::{Stage, Timings};
use tempfile::TempDir;

/// A running program and its two ends.
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_timings_writer"));
        Self::start_command(command.args(arguments))
    }

    pub(crate) fn start_command(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// The next line it says; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn await_line(&mut self, expected: &str) {
        let line = self.line();
        assert_eq!(line, expected, "instead it said so");
    }

    /// Closes its stdin: the word to go on.
    pub(crate) fn go(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end; the lines it still said, whether it succeeded, and its stderr.
    pub(crate) fn end(mut self) -> (Vec<String>, bool, String) {
        self.go();
        let lines = self.stdout.by_ref().lines().map(Result::unwrap).collect();
        let output = self.child.wait_with_output().unwrap();
        (lines, output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn end_well(self) -> Vec<String> {
        let (lines, is_well, said) = self.end();
        assert!(is_well, "{said}");
        lines
    }
}

/// A directory in memory where there is one: what these tests ask for is no durability, and
/// thousands of syncs take long.
pub(crate) fn fast_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// How often each run index stands in the stage of the writers.
pub(crate) fn entries(dir: &Path) -> BTreeMap<u32, usize> {
    let timings = Timings::load(dir).unwrap();
    let mut entries = BTreeMap::new();
    for run in timings.stage("train").map(Stage::runs).unwrap_or_default() {
        *entries.entry(run.run_idx().unwrap()).or_default() += 1;
    }
    entries
}

/// The names in a directory, sorted.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Whether a peer answers; where it does not, the test is skipped unless peers are required.
pub(crate) fn has_peer(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    if output.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "`{program}` does not run, and RLE_REQUIRE_PEERS is 1");
    eprintln!("SKIPPED: `{program}` is not installed");
    false
}

pub(crate) fn python() -> String {
    env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}
