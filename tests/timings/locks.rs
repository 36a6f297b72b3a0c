//! The lock is the `flock` that any other program takes.

use std::process::Command;
use std::time::{Duration, Instant};

use rle::timings::{RunKey, SaveOptions, Timings};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Program, has_peer, names_in};

fn has_flock() -> bool {
    has_peer("flock", &["--version"])
}

/// `flock` holding the lock until its stdin is closed.
fn holding_flock(lock: &str) -> Program {
    let mut holder =
        Program::start_command(Command::new("flock").args([lock, "-c", "echo held; cat"]));
    holder.await_line("held");
    holder
}

#[test]
fn a_lock_that_flock_holds_is_waited_for_up_to_the_bound() {
    if !has_flock() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let lock = format!("{path}/timings.json.lock");
    let holder = holding_flock(&lock);
    let started = Instant::now();
    let (lines, is_well, said) = Program::start(&["save", path, "300"]).end();
    assert!(!is_well && lines == ["ready"], "{lines:?}");
    assert!(started.elapsed() >= Duration::from_millis(300));
    let pid = format!("holder: pid={}", holder.child.id());
    for expected in ["timings.json.lock is locked", "waited 0.3 s", &pid] {
        assert!(said.contains(expected), "{expected:?} in {said:?}");
    }
    assert_eq!(names_in(dir.path()), ["timings.json.lock"]);
    // And is had as soon as it is free.
    let mut waiter = Program::start(&["save", path, "60000"]);
    waiter.await_line("ready");
    holder.end_well();
    assert_eq!(waiter.end_well(), ["saved"]);
}

#[test]
fn flock_waits_for_a_lock_of_ours() {
    if !has_flock() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let lock = format!("{path}/timings.json.lock");
    let mut holder = Program::start(&["hold", path]);
    holder.await_line("held");
    let attempt = || {
        let flock = Command::new("flock").args(["--nonblock", &lock, "-c", "true"]).status();
        flock.unwrap().success()
    };
    assert!(!attempt());
    holder.end_well();
    assert!(attempt());
    assert_eq!(names_in(dir.path()), ["timings.json.lock"]);
}

#[test]
fn a_holder_that_was_stopped_ends_the_wait_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let mut holder = Program::start(&["hold", path]);
    holder.await_line("held");
    let pid = Pid::from_child(&holder.child);
    kill_process(pid, Signal::STOP).unwrap();
    let (_, is_well, said) = Program::start(&["save", path, "200"]).end();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(!is_well);
    let holder_text = format!("holder: pid={} host=", holder.child.id());
    for expected in ["timings.json.lock is locked", "waited 0.2 s", &holder_text] {
        assert!(said.contains(expected), "{expected:?} in {said:?}");
    }
    holder.end_well();
    Program::start(&["save", path, "0"]).end_well();
}

#[test]
fn a_lock_whose_holder_was_killed_is_free_whatever_its_file_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let mut holder = Program::start(&["hold", path]);
    holder.await_line("held");
    holder.child.kill().unwrap();
    holder.child.wait().unwrap();
    let text = std::fs::read_to_string(dir.path().join("timings.json.lock")).unwrap();
    assert!(text.starts_with("pid="), "{text:?}");
    let mut timings = Timings::new();
    timings.record("a", 1.0, RunKey::none()).unwrap();
    timings.save_with(path, SaveOptions::default().lock_timeout(Duration::ZERO)).unwrap();
}

#[test]
fn those_who_come_by_a_link_and_those_who_come_by_the_file_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (real, linked) = (dir.path().join("real"), dir.path().join("linked"));
    std::fs::create_dir(&real).unwrap();
    std::fs::create_dir(&linked).unwrap();
    std::fs::write(real.join("timings.json"), "{}").unwrap();
    std::os::unix::fs::symlink("../real/timings.json", linked.join("timings.json")).unwrap();
    for (holder, other) in [(&real, &linked), (&linked, &real)] {
        let mut holder = Program::start(&["hold", holder.to_str().unwrap()]);
        holder.await_line("held");
        let (_, is_well, said) = Program::start(&["save", other.to_str().unwrap(), "50"]).end();
        assert!(!is_well && said.contains("real/timings.json.lock is locked"), "{said}");
        holder.end_well();
    }
}
