use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

const PATIENCE: Duration = Duration::from_millis(200);

#[test]
fn a_held_lock_is_busy_and_a_released_one_is_free() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    let lock = FileLock::try_acquire(&path, PATIENCE).unwrap().unwrap();
    assert!(FileLock::try_acquire(&path, Duration::ZERO).unwrap().is_none());
    assert!(FileLock::is_held(&path).unwrap());
    drop(lock);
    assert!(!FileLock::is_held(&path).unwrap());
    assert!(FileLock::try_acquire(&path, Duration::ZERO).unwrap().is_some());
}

#[test]
fn the_file_names_the_holder_while_held_and_stays_when_released() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    fs::write(&path, "pid=1 of a holder long gone, with a longer text than the next one will have")
        .unwrap();
    let lock = FileLock::acquire(&path, PATIENCE).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("pid={} host=", process::id())), "{text}");
    assert!(text.contains(" since=20") && text.ends_with("Z\n"), "{text}");
    drop(lock);
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[test]
fn text_left_by_a_dead_holder_does_not_make_a_lock_busy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    fs::write(&path, format!("pid={} host=here since=now", process::id())).unwrap();
    assert!(!FileLock::is_held(&path).unwrap());
    assert!(FileLock::try_acquire(&path, Duration::ZERO).unwrap().is_some());
}

#[test]
fn a_wait_that_ends_names_the_file_and_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timings.json.lock");
    let _lock = FileLock::acquire(&path, PATIENCE).unwrap();
    let error = FileLock::acquire(&path, Duration::ZERO).unwrap_err().to_string();
    assert!(error.contains("timings.json.lock is locked"), "{error}");
    assert!(error.contains(&format!("pid={}", process::id())), "{error}");
}

#[test]
fn a_probe_creates_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    assert!(!FileLock::is_held(&path).unwrap());
    assert!(!path.exists());
}

#[test]
fn probes_do_not_make_a_free_lock_look_held_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    fs::write(&path, "").unwrap();
    thread::scope(|scope| {
        let probes: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..500).any(|_| FileLock::is_held(&path).unwrap())))
            .collect();
        for probe in probes {
            assert!(!probe.join().unwrap());
        }
    });
}

#[test]
fn a_lock_under_constant_probing_is_acquired_within_the_patience_of_a_slot() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    let probing = std::sync::atomic::AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            while probing.load(Ordering::Relaxed) {
                FileLock::is_held(&path).unwrap();
            }
        });
        let all = (0..50).all(|_| FileLock::try_acquire(&path, PATIENCE).unwrap().is_some());
        probing.store(false, Ordering::Relaxed);
        assert!(all);
    });
}

#[test]
fn threads_that_wait_for_one_lock_hold_it_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timings.json.lock");
    let inside = AtomicU32::new(0);
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let _lock = FileLock::acquire(&path, Duration::from_mins(1)).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                    }
                })
            })
            .collect();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_lock_whose_directory_is_missing_is_an_error_naming_it() {
    let dir = tempfile::tempdir().unwrap();
    let error = FileLock::try_acquire(&dir.path().join("runs/x.lock"), PATIENCE).unwrap_err();
    assert!(error.to_string().contains("runs/x.lock"), "{error}");
}

#[test]
fn a_lock_file_that_is_removed_while_held_is_not_taken_for_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    let file = open_for_holding(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(!is_still_at(&file, &path));
    fs::write(&path, "").unwrap();
    assert!(!is_still_at(&file, &path));
}

#[test]
fn a_wait_ends_at_its_deadline_and_names_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timings.json.lock");
    let lock = FileLock::acquire(&path, PATIENCE).unwrap();
    let timeout = Duration::from_millis(30);
    let started = Instant::now();
    let error = FileLock::acquire(&path, timeout).unwrap_err().to_string();
    assert!(started.elapsed() >= timeout);
    assert!(error.contains("waited 0.03 s"), "{error}");
    assert!(error.contains(&format!("pid={}", process::id())), "{error}");
    drop(lock);
    assert!(FileLock::acquire(&path, Duration::MAX).is_ok());
}

#[test]
fn a_wait_whose_lock_is_no_longer_needed_ends_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timings.json.lock");
    for is_held in [true, false] {
        let lock = is_held.then(|| FileLock::acquire(&path, PATIENCE).unwrap());
        assert!(FileLock::acquire_unless(&path, Duration::MAX, || true).unwrap().is_none());
        assert_eq!(FileLock::is_held(&path).unwrap(), is_held);
        drop(lock);
    }
}

#[test]
fn a_lock_file_that_is_replaced_during_a_wait_is_waited_for_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("timings.json.lock");
    let old = FileLock::acquire(&path, PATIENCE).unwrap();
    let attempts = AtomicU32::new(0);
    let wait_for_attempts = |count: u32| {
        let begin = attempts.load(Ordering::SeqCst);
        wait_until(|| attempts.load(Ordering::SeqCst) >= begin + count);
    };
    let is_done = || {
        attempts.fetch_add(1, Ordering::SeqCst);
        false
    };
    thread::scope(|scope| {
        let waiter = scope.spawn(|| FileLock::acquire_unless(&path, Duration::MAX, is_done));
        wait_for_attempts(1);
        // Whole before it has that name, so that the waiter cannot come between.
        let beside = dir.path().join("beside.lock");
        let new = FileLock::acquire(&beside, PATIENCE).unwrap();
        fs::rename(&beside, &path).unwrap();
        drop(old);
        wait_for_attempts(3);
        assert!(!waiter.is_finished());
        drop(new);
        assert!(waiter.join().unwrap().unwrap().unwrap().is_of(&path));
    });
}

#[test]
fn the_holder_that_the_system_knows_goes_before_a_text_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ippo_0.lock");
    let lock = FileLock::acquire(&path, PATIENCE).unwrap();
    let ours = format!("pid={}", process::id());
    assert!(FileLock::holder(&path).unwrap().starts_with(&format!("{ours} host=")));
    fs::write(&path, "pid=1 host=elsewhere").unwrap();
    assert_eq!(FileLock::holder(&path).unwrap(), ours);
    drop(lock);
}

fn wait_until(done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited too long");
        thread::yield_now();
    }
}
