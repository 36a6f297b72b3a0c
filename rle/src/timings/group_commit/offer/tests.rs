use super::*;
use crate::fs::{dying_after, sweep_leftovers};

const CONTENT: &[u8] = b"content";

fn made(dir: &Path) -> Offer {
    Offer::make(&dir.join("a.json"), CONTENT).unwrap().unwrap()
}

fn offers(dir: &Path) -> Vec<Offered> {
    offers_for(&dir.join("a.json"))
}

fn count(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn an_offer_is_seen_by_the_holder_of_its_lock_only_and_accepted_once_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let offer = made(dir.path());
    assert!(offers_for(&dir.path().join("b.json")).is_empty());
    let mut seen = offers(dir.path());
    assert_eq!(seen.iter().map(Offered::content).collect::<Vec<_>>(), [CONTENT]);
    assert!(seen[0].take() && seen[0].take());
    assert!(!offer.is_accepted());
    assert!(!offer.withdraw());
    seen.pop().unwrap().accept();
    assert!(offer.is_accepted());
    assert_eq!(count(dir.path()), 0);
}

#[test]
fn what_is_withdrawn_can_no_longer_be_taken() {
    let dir = tempfile::tempdir().unwrap();
    let offer = made(dir.path());
    let mut seen = offers(dir.path());
    assert!(offer.withdraw());
    assert!(!seen[0].take());
    assert!(offers(dir.path()).is_empty());
}

#[test]
fn an_offer_that_somebody_removes_is_not_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let offer = made(dir.path());
    fs::remove_file(&offer.path).unwrap();
    assert!(!offer.is_accepted());
}

#[test]
fn the_offer_of_a_dead_owner_is_removed_and_a_live_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    for sweep in [
        |dir: &Path| assert_eq!(sweep_leftovers(dir).unwrap(), 1),
        |dir: &Path| assert_eq!(offers(dir).len(), 1),
    ] {
        let live = made(dir.path());
        drop(made(dir.path()));
        assert_eq!(count(dir.path()), 2);
        sweep(dir.path());
        assert_eq!(count(dir.path()), 1);
        assert!(live.withdraw());
    }
}

#[test]
fn an_owner_that_dies_at_any_step_leaves_nothing_that_a_holder_takes() {
    for steps in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let made = dying_after(steps, || Offer::make(&dir.path().join("a.json"), CONTENT));
        if made.is_ok() {
            assert_eq!(steps, 3);
            break;
        }
        assert!(offers(dir.path()).is_empty(), "{steps}");
        assert_eq!(count(dir.path()), 0, "{steps}");
    }
}

#[test]
fn what_cannot_be_offered_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let make = |target: &str, content: &[u8]| Offer::make(&dir.path().join(target), content);
    assert!(make("none/a.json", CONTENT).unwrap().is_none());
    assert!(make("a.json", &[]).unwrap().is_none());
    assert!(make("a.json", &vec![b'x'; MAX_OFFER_BYTES + 1]).unwrap().is_none());
    assert_eq!(count(dir.path()), 0);
    assert!(make("a.json", &vec![b'x'; MAX_OFFER_BYTES]).unwrap().is_some());
}

#[test]
fn what_is_no_offer_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let name = |name: &str| dir.path().join(format!(".a.json.{name}{OFFER_SUFFIX}"));
    fs::create_dir(name("directory")).unwrap();
    let file = |path: &Path, bytes: u64| {
        let file = File::create(path).unwrap();
        assert!(try_exclusive(&file).unwrap());
        file.set_len(bytes).unwrap();
        file
    };
    let _empty = file(&name("empty"), 0);
    let _long = file(&name("long"), MAX_OFFER_BYTES as u64 + 1);
    #[cfg(unix)]
    std::os::unix::fs::symlink("x", name("link")).unwrap();
    let before = count(dir.path());
    assert!(offers(dir.path()).is_empty());
    assert_eq!(count(dir.path()), before);
}
