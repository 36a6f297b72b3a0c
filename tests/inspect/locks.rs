//! `locks`, with `flock` of util-linux as the holder.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::support::{Ended, Place, lab};

/// A process that holds locks until it is dropped.
struct Holder(Child);

impl Holder {
    /// Takes the lock of a file with `flock`, and returns once it is held.
    fn of(file: &Path) -> Self {
        let mut child = Command::new("flock")
            .arg(file)
            .args(["sh", "-c", "echo held; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("flock of util-linux");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "held\n");
        Self(child)
    }

    /// What the system says of a holder that has written nothing.
    fn told(&self) -> String {
        format!("pid={}", self.0.id())
    }

    /// Demands that the lock was held to the end, and lets go.
    fn ends(mut self, file: &Path) {
        assert!(!can_be_taken(file), "the lock was lost");
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("a child").success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn can_be_taken(file: &Path) -> bool {
    let status = Command::new("flock").arg("-n").arg(file).arg("true").status();
    status.expect("flock of util-linux").success()
}

fn states(ended: &Ended) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let json = ended.json();
    let locks = json["locks"].as_array().expect("a list");
    locks.iter().map(|lock| (text(&lock["file"]), text(&lock["state"]))).collect()
}

#[test]
fn held_is_told_from_free_without_disturbing_either() {
    let place = Place::new();
    let held = place.write("exports/a/b c/ippo/timings.json.lock", "");
    let free = place.write("exports/a/b c/runs/ippo_0.lock", "pid=1 host=gone since=never\n");
    let holder = Holder::of(&held);
    for _ in 0..20 {
        let text = place.both(&["locks"]).ends(0);
        let told = holder.told();
        text.has(&format!(
            "a/b c timings of ippo held {told} exports/a/b c/ippo/timings.json.lock"
        ));
        // What a killed holder has left in the file says nothing about a free lock.
        text.has("a/b c slot ippo:0 free exports/a/b c/runs/ippo_0.lock");
        text.has("1 held, 1 free below exports");
    }
    assert!(can_be_taken(&free));
    holder.ends(&held);
    place.both(&["locks"]).ends(0).has("0 held, 2 free below exports");
    assert_eq!(fs::read_to_string(&free).expect("a file"), "pid=1 host=gone since=never\n");
    assert_eq!(fs::read_to_string(&held).expect("a file"), "");
}

#[test]
fn a_slot_that_is_being_run_is_held_by_its_process() {
    let place = Place::new();
    let socket = place.path("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let waiting = format!("alpha:0={}", socket.display());
    let words = ["--algorithms", "alpha", "--num-runs", "2", "--export-dir", "exports/lab"];
    let mut child = place
        .command(lab(), &words)
        .env("LAB_WAIT", waiting)
        .stdout(Stdio::null())
        .spawn()
        .expect("lab");
    let (connection, _) = listener.accept().expect("a run");
    let mut slot = [0; 7];
    (&connection).read_exact(&mut slot).expect("the slot");
    let json = place.both(&["locks", "--only-locked", "--format", "json"]).ends(0).json();
    let locks = json["locks"].as_array().expect("a list");
    assert_eq!(locks.len(), 1, "{json}");
    let lock = &locks[0];
    assert_eq!((&lock["group"], &lock["algorithm"]), (&"lab".into(), &"alpha".into()));
    assert_eq!((&lock["run_idx"], &lock["state"]), (&0.into(), &"held".into()));
    let holder = lock["holder"].as_str().expect("text");
    let own = format!("pid={} host=", child.id());
    assert!(holder.starts_with(&own) && holder.contains(" since="), "{holder}");
    // A look between the two runs takes nothing from the second.
    drop(connection);
    assert!(child.wait().expect("a child").success());
    let json = place.both(&["locks", "--format", "json"]).ends(0);
    assert!(states(&json).iter().all(|(_, state)| state == "free"), "{json:?}");
    assert_eq!(states(&json).len(), 3, "{json:?}");
}

#[test]
fn the_held_ones_are_found_among_hundreds() {
    let place = Place::new();
    for index in 0..300 {
        place.write(&format!("exports/g{}/runs/ippo_{index}.lock", index % 7), "");
    }
    let held = place.path("exports/g1/runs/ippo_8.lock");
    let holder = Holder::of(&held);
    place.both(&["locks"]).ends(0).has("1 held, 299 free below exports");
    let only = place.both(&["locks", "--only-locked"]).ends(0);
    only.has(&format!("g1 slot ippo:8 held {} exports/g1/runs/ippo_8.lock", holder.told()));
    assert_eq!(only.stdout.lines().count(), 3, "{}", only.stdout);
    let of_group = ["locks", "--groups", "g2", "--only-locked", "--format", "json"];
    assert_eq!(states(&place.both(&of_group).ends(0)), []);
}

#[test]
fn locks_are_chosen_by_group_algorithm_and_pattern() {
    let place = Place::new();
    for file in [
        "env/main/ippo/timings.json.lock",
        "env/main/runs/ippo_0.lock",
        "env/main/runs/ippo_lag_0.lock",
        "env/main/_prepared/shield/0f.lock",
        "env/main/runs/_superseded/ippo_0_20261129T000000Z/transfer.lock",
        "other/runs/icpo_0.lock",
        "other/ippo/artifacts/run_0/uv.lock",
        "other/notes.txt",
    ] {
        place.write(&format!("exports/{file}"), "");
    }
    let chosen = |words: &[&str]| {
        let ended = place.both(&[&["locks", "--format", "json"], words].concat()).ends(0);
        let files = states(&ended).into_iter().map(|(file, _)| file);
        files.map(|file| file.replace("exports/", "")).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&[]).len(), 6);
    assert_eq!(chosen(&["--groups", "other"]), ["other/runs/icpo_0.lock"]);
    assert_eq!(
        chosen(&["--algorithms", "ippo"]),
        ["env/main/ippo/timings.json.lock", "env/main/runs/ippo_0.lock"]
    );
    assert_eq!(chosen(&["--pattern", "timings.json.lock"]), ["env/main/ippo/timings.json.lock"]);
    assert_eq!(chosen(&["--pattern", "*.txt"]), ["other/notes.txt"]);
    let text = place.both(&["locks"]).ends(0);
    text.has("env/main prepare shield free exports/env/main/_prepared/shield/0f.lock");
    text.has(
        "env/main file of the group free \
         exports/env/main/runs/_superseded/ippo_0_20261129T000000Z/transfer.lock",
    );
    place.both(&["locks", "--pattern", "[a"]).refused(&["--pattern", "`[a` is not a pattern"]);
    place.both(&["locks", "--groups", "env/mian"]).refused(&["did you mean `env/main`?"]);
    place.both(&["locks", "--algorithms", "ipo"]).refused(&["did you mean `ippo`?"]);
    let misplaced = place.both(&["locks", "--latest-runs", "1"]);
    misplaced.refused(&["belongs to `timings show`"]);
    assert!(!misplaced.stderr.contains("similar"), "{}", misplaced.stderr);
    let none = place.both(&["locks", "--pattern", "none"]).ends(0);
    assert_eq!(none.stdout, "no lock file below exports\n");
}

#[test]
fn what_is_no_lock_is_told_and_nothing_waits_for_it() {
    let place = Place::new();
    place.write("exports/g/runs/ippo_0.lock", "");
    let pipe = place.path("exports/g/runs/ippo_1.lock");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo of coreutils");
    assert!(made.success());
    let _socket = UnixListener::bind(place.path("exports/g/runs/ippo_2.lock")).expect("a socket");
    fs::create_dir(place.path("exports/g/runs/ippo_3.lock")).expect("a directory");
    symlink("nowhere", place.path("exports/g/runs/ippo_4.lock")).expect("a link");
    let text = place.both(&["locks"]).ends(1);
    text.has("g slot ippo:0 free exports/g/runs/ippo_0.lock");
    text.has("g slot ippo:1 unknown is not a regular file exports/g/runs/ippo_1.lock");
    text.has("g slot ippo:2 unknown is not a regular file exports/g/runs/ippo_2.lock");
    text.has("g slot ippo:4 free exports/g/runs/ippo_4.lock");
    text.has("0 held, 2 free, 2 unknown below exports");
    assert!(!text.stdout.contains("ippo:3"), "{}", text.stdout);
}

#[test]
fn a_lock_that_may_not_be_read_is_unknown() {
    let place = Place::new();
    let lock = place.write("exports/g/runs/ippo_0.lock", "");
    let forbid = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("a mode");
    };
    forbid(&lock);
    let closed = place.path("exports/closed");
    fs::create_dir(&closed).expect("a directory");
    forbid(&closed);
    if fs::File::open(&lock).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let text = place.both(&["locks"]).ends(1);
    text.has("0 held, 0 free, 1 unknown below exports");
    assert!(text.stdout.contains("unknown  cannot be opened"), "{}", text.stdout);
    assert!(text.stderr.starts_with("error: exports/closed: cannot be listed"), "{}", text.stderr);
}

#[test]
fn links_that_lead_in_circles_end() {
    let place = Place::new();
    let held = place.write("exports/g/runs/ippo_0.lock", "");
    symlink("..", place.path("exports/g/up")).expect("a link");
    symlink("self", place.path("exports/g/self")).expect("a link");
    symlink("../g", place.path("exports/g/runs/again")).expect("a link");
    symlink("g", place.path("exports/alias")).expect("a link");
    let _holder = Holder::of(&held);
    let shown = place.both(&["locks", "--format", "json"]).ends(0);
    let expected = ("exports/g/runs/ippo_0.lock".to_owned(), "held".to_owned());
    assert_eq!(states(&shown), [expected]);
}

#[test]
fn names_of_files_may_be_anything() {
    let place = Place::new();
    let runs = place.path("exports/na\nme \"q\"/runs");
    fs::create_dir_all(&runs).expect("a directory");
    for name in [
        "策 略_0.lock".as_bytes(),
        b"new\nline_1.lock",
        b"not\xffutf8_2.lock",
        b"_3.lock",
        b".lock",
    ] {
        fs::write(runs.join(OsStr::from_bytes(name)), "").expect("a file");
    }
    let held = runs.join("new\nline_1.lock");
    let holder = Holder::of(&held);
    let text = place.both(&["locks"]).ends(0);
    let told = holder.told();
    let group = "na\\nme \"q\"";
    text.has(&format!("{group} slot 策 略:0 free exports/{group}/runs/策 略_0.lock"));
    text.has(&format!(
        "{group} slot new\\nline:1 held {told} exports/{group}/runs/new\\nline_1.lock"
    ));
    text.has(&format!(
        "{group} slot not\u{fffd}utf8:2 free exports/{group}/runs/not\u{fffd}utf8_2.lock"
    ));
    text.has("1 held, 4 free below exports");
    let json = place.both(&["locks", "--format", "json"]).ends(0).json();
    assert_eq!(json["locks"][0]["group"], "na\nme \"q\"");
}
