//! A real, tiny file system for tests of full and read-only disks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mounted `tmpfs` of 64 KiB, unmounted when dropped.
pub(crate) struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts one, or says on stderr why the calling test is skipped.
    pub(crate) fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=64k", "none"];
        if run("mount", mount.iter().map(Path::new).chain([dir.path()])) {
            return Some(Self { dir });
        }
        eprintln!("SKIPPED: mounting a small tmpfs is not permitted here");
        None
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn make_read_only(&self) {
        let remount = ["-o", "remount,ro"].iter().map(Path::new);
        assert!(run("mount", remount.chain([self.dir.path()])));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", [self.dir.path()]);
    }
}

fn run<'a>(program: &str, arguments: impl IntoIterator<Item = &'a Path>) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
