//! Starts of the program `steps`, each with a journal of its own, in a directory of their own.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything is waited for before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A directory for an export, its sources, its gates.
pub(crate) struct Bench {
    root: TempDir,
    starts: Cell<u32>,
    /// What the program finds in its environment beside what it needs.
    variables: RefCell<Vec<(&'static str, &'static str)>>,
}

/// One start of the program.
pub(crate) struct Start {
    pub(crate) child: Child,
    journal: PathBuf,
    stderr: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::at(TempDir::new().unwrap())
    }

    /// In memory where that is possible: a kill loses nothing that was written, synced or not.
    pub(crate) fn in_memory() -> Self {
        Self::at(memory_dir())
    }

    fn at(root: TempDir) -> Self {
        for directory in ["source", "gates", "outside", "starts"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join("source/Cargo.toml"), "[workspace]\n").unwrap();
        Self { root, starts: Cell::new(0), variables: RefCell::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Sets a variable of every start from now on.
    pub(crate) fn set(&self, name: &'static str, value: &'static str) {
        self.variables.borrow_mut().push((name, value));
    }

    pub(crate) fn export(&self) -> PathBuf {
        self.path("export")
    }

    /// The program, not started; its journal and what it says get files of their own.
    fn command(&self, arguments: &[&str]) -> (Command, PathBuf) {
        self.starts.set(self.starts.get() + 1);
        let home = self.path("starts").join(self.starts.get().to_string());
        fs::create_dir(&home).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_steps"));
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"RLE_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.root.path())
            .env_remove("RUST_LOG")
            .env("GIT_CEILING_DIRECTORIES", self.root.path())
            .env("STEPS_JOURNAL", home.join("journal"))
            .env("STEPS_GATES", self.path("gates"))
            .env("STEPS_OUTSIDE", self.path("outside"))
            .env("STEPS_SOURCE", self.path("source"))
            .env("STEPS_MICROS", "3000")
            .envs(self.variables.borrow().iter().copied())
            .stdin(std::process::Stdio::null())
            .stdout(File::create(home.join("stdout")).unwrap())
            .stderr(File::create(home.join("stderr")).unwrap());
        (command, home)
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Start {
        let (mut command, home) = self.command(arguments);
        let child = command.spawn().unwrap();
        Start { child, journal: home.join("journal"), stderr: home.join("stderr") }
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).end()
    }

    /// What `status` says, by slot: the action and its reasons.
    pub(crate) fn status(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let mut words = vec!["status", "--format", "json"];
        words.extend(arguments);
        let (mut command, home) = self.command(&words);
        assert!(
            command.status().unwrap().success(),
            "{:?}",
            fs::read_to_string(home.join("stderr"))
        );
        let plan: Value = serde_json::from_slice(&fs::read(home.join("stdout")).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let reasons = |slot: &Value| {
            let reasons = slot["reasons"].as_array().unwrap();
            reasons.iter().map(|reason| text(&reason["text"])).collect::<Vec<_>>().join("; ")
        };
        let slots = plan["slots"].as_array().unwrap().iter();
        slots.map(|slot| (text(&slot["slot"]), text(&slot["action"]), reasons(slot))).collect()
    }

    pub(crate) fn record(&self, slot: &str) -> Value {
        let path = self.export().join("runs").join(format!("{slot}.json"));
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
    }

    pub(crate) fn hold(&self, step: &str) {
        fs::write(self.path("gates").join(format!("{step}.hold")), "").unwrap();
    }

    pub(crate) fn open(&self, step: &str) {
        fs::remove_file(self.path("gates").join(format!("{step}.hold"))).unwrap();
    }

    /// Waits until a start stands at a gate.
    pub(crate) fn has_reached(&self, step: &str, start: &Start) -> bool {
        self.path("gates").join(format!("{step}.{}.reached", start.child.id())).exists()
    }

    pub(crate) fn await_gate(&self, step: &str, start: &Start) {
        await_that(&format!("{step} is reached"), || self.has_reached(step, start));
    }
}

/// How a start ended.
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) said: String,
    pub(crate) journal: Vec<Line>,
}

/// One line of a journal: `begin alpha-0 4711`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) step: String,
}

impl Start {
    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let status = await_some("the program ends", || self.child.try_wait().unwrap());
        Ended { status: status.code(), said: self.said(), journal: self.journal() }
    }

    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.end()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Everything on stderr so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    fn journal(&self) -> Vec<Line> {
        read_journal(&self.journal)
    }
}

impl Ended {
    /// The steps that began, in order.
    pub(crate) fn begun(&self) -> Vec<&str> {
        let begins = self.journal.iter().filter(|line| line.what == "begin");
        begins.map(|line| line.step.as_str()).collect()
    }

    pub(crate) fn assert_status(&self, status: i32) {
        assert_eq!(self.status, Some(status), "{}", self.said);
    }
}

pub(crate) fn memory_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn read_journal(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, step, _pid] = words[..] else { panic!("a torn line: {line:?}") };
            Line { what: what.to_owned(), step: step.to_owned() }
        })
        .collect()
}

pub(crate) fn await_that(what: &str, condition: impl Fn() -> bool) {
    await_some(what, || condition().then_some(()));
}

fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long: {what}");
        thread::sleep(Duration::from_micros(500));
    }
}
