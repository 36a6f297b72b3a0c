//! Runs that the vendors' tools send, or would.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::support::{Logs, entries};

/// A tool that notes how it was called.
pub(crate) fn tool(logs: &Logs, name: &str, status: u8) -> String {
    let directory = logs.root().join("tools");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    let notes = logs.root().join("calls");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit {status}\n", notes.display());
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", directory.display())
}

pub(crate) fn calls(logs: &Logs) -> Vec<String> {
    let text = fs::read_to_string(logs.root().join("calls")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

const ONLINE: [&str; 4] = ["--log-backend", "wandb", "--log-mode", "online"];

#[test]
fn the_vendors_tool_is_started_for_each_run_that_has_ended() {
    for jobs in ["1", "2"] {
        let logs = Logs::new();
        let path = tool(&logs, "wandb", 0);
        let words = [&ONLINE[..], &["--num-runs", "2", "--jobs", jobs]].concat();
        let ended = logs.run_with(&words, &[("PATH", &path)]);
        assert_eq!(ended.status, 0, "{ended:?}");
        let mut calls = calls(&logs);
        calls.sort();
        let directory = logs.out("_logs/alps/out/wandb");
        let expected: Vec<String> = entries(&directory)
            .iter()
            .map(|name| format!("sync {}", directory.join(name).display()))
            .collect();
        assert_eq!(calls, expected);
        assert_eq!(ended.lines("are sent").len(), 2, "{ended:?}");
    }
}

#[test]
fn without_the_tool_its_command_is_told_once_at_the_end() {
    for jobs in ["1", "2"] {
        let logs = Logs::new();
        let words = [&ONLINE[..], &["--num-runs", "2", "--jobs", jobs]].concat();
        let ended = logs.run_with(&words, &[("PATH", "/nowhere")]);
        assert_eq!(ended.status, 0, "{ended:?}");
        let directory = logs.out("_logs/alps/out/wandb");
        let [first, second] = entries(&directory).try_into().expect("two runs");
        for name in [first, second] {
            let command = format!("wandb sync {}", directory.join(name).display());
            let said = ended.lines(&command);
            assert_eq!(said.len(), 1, "{ended:?}");
            assert!(said[0].contains("`wandb` is not installed"), "{ended:?}");
        }
        let last: Vec<&str> = ended.stderr.lines().rev().take(2).collect();
        assert!(last.iter().all(|line| line.contains("wandb sync")), "{ended:?}");
    }
}

#[test]
fn a_tool_that_fails_is_told_with_its_command_and_the_run_is_complete() {
    let logs = Logs::new();
    let path = tool(&logs, "swanlab", 3);
    let words = ["--log-backend", "swanlab", "--log-mode", "cloud"];
    let ended = logs.run_with(&words, &[("PATH", &path)]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let said = ended.lines("are not sent");
    assert!(said.len() == 1 && said[0].contains("exit status: 3"), "{ended:?}");
    assert!(said[0].contains("swanlab sync --id"), "{ended:?}");
    assert_eq!(logs.record("climber_0")["status"], "complete");
}

#[test]
fn offline_runs_are_sent_by_nobody() {
    let logs = Logs::new();
    let path = tool(&logs, "wandb", 0);
    let ended = logs.run_with(&["--log-backend", "wandb"], &[("PATH", &path)]);
    assert_eq!((ended.status, ended.lines("sync").len()), (0, 0), "{ended:?}");
    assert_eq!(calls(&logs), Vec::<String>::new());
}
