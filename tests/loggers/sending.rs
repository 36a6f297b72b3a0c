//! A program hands its runs over to the vendors' tools.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Server, python};

/// What the program prints that logs to one backend and sends.
fn send(log_dir: &Path, backend: &str, surround: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curves"));
    command.arg("send").arg(log_dir).arg(backend);
    surround(&mut command);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_tool_on_the_path_gets_the_command_that_would_be_printed() {
    let dir = tempfile::tempdir().unwrap();
    for (tool, words) in [("wandb", "sync /"), ("swanlab", "sync --id ")] {
        let stand_in = dir.path().join(tool);
        let asked = dir.path().join("asked");
        fs::write(&stand_in, format!("#!/bin/sh\necho \"$@\" > '{}'\n", asked.display())).unwrap();
        fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
        let log_dir = dir.path().join("logs");
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let printed = send(&log_dir, tool, |command| {
            command.env("PATH", path);
        });
        assert_eq!(printed, "sent");
        let asked = fs::read_to_string(asked).unwrap();
        assert!(asked.starts_with(words), "{asked}");
        let directory = asked.trim().rsplit(' ').next().unwrap();
        assert!(Path::new(directory).join(format!("{tool}-sync.log")).exists());
    }
}

#[test]
fn without_the_tool_the_command_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let printed = send(dir.path(), "wandb", |command| {
        command.env("PATH", dir.path());
    });
    let start = format!(
        "`wandb` is not installed; run: wandb sync {}/curves/test/wandb/offline-run-",
        dir.path().display()
    );
    assert!(printed.starts_with(&start), "{printed}");
}

#[test]
fn the_real_tools_send_what_they_are_handed() {
    for (tool, server) in [("wandb", "fake_wandb.py"), ("swanlab", "fake_swanlab.py")] {
        let Some(python) = python(tool) else { return };
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(&python, server);
        let log_dir = dir.path().join("logs");
        let printed = send(&log_dir, tool, |command| server.surround(command, &python, dir.path()));
        assert_eq!(printed, "sent");
        assert!(server.told().to_string().contains("loss"));
    }
}
