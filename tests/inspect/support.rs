//! An export root that is written by hand, and the two programs that look at it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

/// The Python sample of the file format.
pub(crate) const EPYC: &str = "hw_3d836072b1cf2b24";

/// A working directory with the export root `exports` in it.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Entries of a stage: run index, seconds, hardware.
pub(crate) type Runs<'a> = &'a [(u32, f64, &'a str)];

/// The program `rle`, built once.
pub(crate) fn rle() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let own = Path::new(env!("CARGO_BIN_EXE_lab")).parent().expect("a profile's directory");
        let target = own.parent().expect("a target directory");
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--quiet", "--locked", "-p", "rle", "--bin", "rle", "--target-dir"]);
        command.arg(target).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        assert!(command.status().expect("cargo can be started").success());
        target.join("debug/rle")
    })
}

/// A generated program.
pub(crate) fn lab() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_lab"))
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir(place.path("exports")).expect("a directory");
        place.write("source/src/main.rs", "fn main() {}\n");
        place
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a file, with its directories.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("a directory");
        fs::write(&path, text).expect("a written file");
        path
    }

    /// Writes the timing files of a directory below the root.
    pub(crate) fn timings(&self, directory: &str, stages: &[(&str, Runs<'_>)]) {
        let mut file = json!({});
        for (stage, runs) in stages {
            let entry = |(run_idx, seconds, id): &(u32, f64, &str)| json!({"hardware_id": id, "run_idx": run_idx, "seconds": seconds});
            let total: f64 = runs.iter().map(|(_, seconds, _)| seconds).sum();
            let runs: Vec<Value> = runs.iter().map(entry).collect();
            file[*stage] = json!({"runs": runs, "total_seconds": total});
        }
        self.write(&format!("exports/{directory}/timings.json"), &file.to_string());
        let hardware = json!({"schema_version": 1, "hardware": {
            EPYC: epyc(64.0), "hw_other_id": epyc(64.001), "hw_small": epyc(32.0),
        }});
        let path = format!("exports/{directory}/timings_hardware.json");
        self.write(&path, &hardware.to_string());
    }

    pub(crate) fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LAB_SOURCE", self.path("source"))
            .env("RLE_LOG", "warn")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, program: &Path, words: &[&str]) -> Ended {
        Ended::of(self.command(program, words).output().expect("the program can be started"))
    }

    /// What `rle` says.
    pub(crate) fn rle(&self, words: &[&str]) -> Ended {
        self.run(rle(), words)
    }

    /// What both programs say of the root, which has to be the same.
    #[track_caller]
    pub(crate) fn both(&self, words: &[&str]) -> Ended {
        let words = [words, &["--export-root", "exports"]].concat();
        let (rle, lab) = (self.run(rle(), &words), self.run(lab(), &words));
        let named = lab.stderr.replace("Usage: lab ", "Usage: rle ");
        assert_eq!((rle.status, &rle.stdout, &rle.stderr), (lab.status, &lab.stdout, &named));
        rle
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
    pub(crate) fn ends(self, status: i32) -> Self {
        assert_eq!(self.status, status, "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Exit status 2, nothing on stdout, and one message that says all of this.
    #[track_caller]
    pub(crate) fn refused(&self, parts: &[&str]) {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        let message = self.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{self:?}"));
        assert!(!message.contains("error: "), "said more than once: {message}");
        for part in parts {
            assert!(message.contains(part), "no `{part}` in: {message}");
        }
    }

    /// Lines of stdout, their columns one space apart.
    pub(crate) fn lines(&self) -> String {
        let mut lines = String::new();
        for line in self.stdout.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            writeln!(lines, "{}", words.join(" ")).expect("text");
        }
        lines
    }

    /// Demands a line of stdout, whatever the width of its columns.
    #[track_caller]
    pub(crate) fn has(&self, line: &str) {
        let lines = self.lines();
        assert!(lines.lines().any(|found| found == line), "no `{line}` in:\n{lines}");
    }
}

/// The hardware of the Python sample with another memory limit.
fn epyc(limit_gib: f64) -> Value {
    json!({
        "memory": {"limit_gib": limit_gib, "limit_source": "cgroup"},
        "cpu": {
            "processor_name": "AMD EPYC 7742 64-Core Processor", "physical_cores_available": 4,
            "logical_threads_available": 8, "min_clock_mhz": 1500.0, "max_clock_mhz": 3400.0
        },
        "gpus": [{
            "count": 1, "memory_gib": 15.0, "name": "NVIDIA A16",
            "peak_memory_bandwidth_gb_s": 200.03
        }]
    })
}
