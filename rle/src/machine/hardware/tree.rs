//! Small machines written by hand, as directories.

use std::fs;

use tempfile::TempDir;

use super::machine::Machine;

/// The files of a machine.
pub(super) struct Tree(TempDir);

impl Tree {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn machine(&self) -> Machine {
        self.in_job(&[])
    }

    pub(super) fn in_job(&self, environment: &[(&str, &str)]) -> Machine {
        Machine::captured(self.0.path(), environment.iter().copied())
    }
}
