//! Loggers that cannot write never fail a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::support::{Ended, Logs, entries};

/// A complete run with one warning, whose record tells of so many points.
fn lossy(logs: &Logs, ended: &Ended, points: u64, problem: &str) {
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.lines("WARN metrics").len(), 1, "{ended:?}");
    let record = logs.record("climber_0");
    assert_eq!(
        (&record["status"], &record["metrics"]["height"]),
        (&"complete".into(), &9.0.into())
    );
    let lost = &record["attempts"][0]["log_loss"];
    assert_eq!(lost["points"], points, "{lost}");
    let said = lost["problems"]["tensorboard"].as_str().unwrap();
    assert!(said.contains(problem), "{said}");
}

/// Warm-up, two curves and the times of ten steps.
const POINTS: u64 = 31;

#[test]
fn a_file_in_place_of_the_log_directory_is_one_warning() {
    let logs = Logs::new();
    fs::write(logs.root().join("work/logs"), "a file").unwrap();
    let ended = logs.run(&["--log-dir", "logs"]);
    lossy(&logs, &ended, POINTS, "Not a directory");
    assert!(ended.lines("WARN metrics")[0].contains("work/logs"), "{ended:?}");
}

#[test]
fn a_log_directory_that_is_not_ours_is_one_warning() {
    if rustix::process::getuid().is_root() {
        eprintln!("SKIPPED: nothing is unwritable for this user");
        return;
    }
    let logs = Logs::new();
    let directory = logs.root().join("work/logs");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).unwrap();
    let ended = logs.run(&["--log-dir", "logs"]);
    lossy(&logs, &ended, POINTS, "denied");
}

#[test]
fn a_full_disk_is_one_warning_and_the_lost_points_are_counted() {
    let logs = Logs::new();
    let directory = logs.root().join("work/logs");
    fs::create_dir(&directory).unwrap();
    let Some(_disk) = Mounted::small(&directory) else { return };
    fill(&directory);
    let ended = logs.run(&["--log-dir", "logs"]);
    lossy(&logs, &ended, POINTS, "No space left");
    assert_eq!(logs.record("climber_0")["summary"]["height"], 9.0);
}

#[test]
fn a_backend_that_works_goes_on_beside_one_that_does_not() {
    let logs = Logs::new();
    fs::create_dir_all(logs.out("_logs/alps/out")).unwrap();
    fs::write(logs.out("_logs/alps/out/wandb"), "a file").unwrap();
    let ended = logs.run(&["--log-backend", "tensorboard,wandb"]);
    assert_eq!((ended.status, ended.lines("WARN metrics").len()), (0, 1), "{ended:?}");
    let lost: &Value = &logs.record("climber_0")["attempts"][0]["log_loss"];
    let problems: Vec<&String> = lost["problems"].as_object().unwrap().keys().collect();
    assert_eq!((lost["points"].as_u64(), problems), (Some(POINTS), vec![&"wandb".to_owned()]));
    assert_eq!(entries(&logs.events("climber_0")).len(), 1);
}

/// A file system of 64 KiB, unmounted when dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn small(directory: &'a Path) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(directory)
            .stderr(Stdio::null())
            .status();
        if mount.is_ok_and(|status| status.success()) {
            return Some(Self(directory));
        }
        eprintln!("SKIPPED: mounting a small tmpfs is not permitted here");
        None
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn fill(directory: &Path) {
    let mut size = 1 << 17;
    while size > 0 {
        let full = fs::write(directory.join(format!("filler_{size}")), vec![1; size]).is_err();
        if full {
            size /= 2;
        }
    }
}
