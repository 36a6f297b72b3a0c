//! Starts of the example in a directory of its own.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory in which `cartpole` is started.
pub(crate) struct Home {
    root: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn export(&self) -> PathBuf {
        self.path("exports/cartpole")
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cartpole"));
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"RLE_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.root.path())
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(File::create(self.path("stdout")).unwrap())
            .stderr(File::create(self.path("stderr")).unwrap())
            .spawn()
            .unwrap()
    }

    /// Runs to the end, and returns the table.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let status = self.start(arguments).wait().unwrap();
        assert!(status.success(), "{}", fs::read_to_string(self.path("stderr")).unwrap());
        fs::read_to_string(self.path("stdout")).unwrap()
    }

    pub(crate) fn record(&self, slot: &str) -> Value {
        read_json(&self.export().join("runs").join(format!("{slot}.json")))
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
