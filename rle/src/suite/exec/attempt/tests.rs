use super::*;
use crate::record::sample;
use crate::run::Checkpoint;
use crate::run::checkpoint::{self, Setup};

fn attempt(number: u32, resumed_from: Option<u64>, seconds: Option<f64>) -> Attempt {
    Attempt {
        number,
        host: "here".to_owned(),
        pid: 7,
        job: None,
        scheduler: None,
        hardware_id: Some(format!("hw_{number}")),
        started_at: "2026-11-29T13:18:00.000000Z".to_owned(),
        finished_at: None,
        outcome: AttemptOutcome::Lost,
        resumed_from,
        seconds,
        log_loss: None,
    }
}

/// A checkpoint of an attempt, `seconds` into the run.
fn latest(attempt: u32, seconds: f64) -> Latest {
    let export = tempfile::tempdir().unwrap();
    let setup = Setup {
        export_dir: export.path().to_owned(),
        slot: sample::slot(),
        request_hash: "hash".to_owned(),
        enabled: true,
        attempt,
        latest: None,
        seconds_before: seconds,
        stop_at_save: None,
    };
    Checkpoint::new(setup).save(()).unwrap();
    match checkpoint::find(export.path(), &sample::slot(), "hash").unwrap() {
        checkpoint::Found::Latest { latest, .. } => latest,
        other => panic!("{other:?}"),
    }
}

fn segments(attempts: &[Attempt], latest: Option<Latest>) -> Vec<(u32, f64)> {
    let before = Before { attempts: attempts.to_vec(), latest };
    // The checkpoint was saved a moment after its time.
    let rounded = |segment: Segment| {
        assert_eq!(segment.hardware_id, Some(format!("hw_{}", segment.attempt)));
        (segment.attempt, (segment.seconds * 10.0).floor() / 10.0)
    };
    segments_before(&before).into_iter().map(rounded).collect()
}

#[test]
fn without_a_checkpoint_nothing_of_earlier_attempts_counts() {
    assert_eq!(segments(&[attempt(1, None, Some(5.0))], None), []);
}

#[test]
fn an_interrupted_attempt_counts_whole() {
    let attempts = [attempt(1, None, Some(5.0)), attempt(2, Some(1), Some(2.5))];
    assert_eq!(segments(&attempts, Some(latest(2, 7.0))), [(1, 5.0), (2, 2.5)]);
}

#[test]
fn a_killed_attempt_counts_up_to_its_last_checkpoint() {
    let attempts = [attempt(1, None, Some(5.0)), attempt(2, Some(1), None)];
    assert_eq!(segments(&attempts, Some(latest(2, 7.0))), [(1, 5.0), (2, 2.0)]);
}

#[test]
fn a_killed_attempt_without_a_checkpoint_of_its_own_counts_nothing() {
    let attempts = [attempt(1, None, Some(5.0)), attempt(2, Some(1), None)];
    assert_eq!(segments(&attempts, Some(latest(1, 5.0))), [(1, 5.0), (2, 0.0)]);
}

#[test]
fn an_attempt_that_began_afresh_makes_earlier_ones_not_count() {
    let attempts =
        [attempt(1, None, Some(5.0)), attempt(2, None, Some(3.0)), attempt(3, Some(4), Some(1.0))];
    assert_eq!(segments(&attempts, Some(latest(3, 4.0))), [(2, 3.0), (3, 1.0)]);
}

#[cfg(feature = "cli")]
#[test]
fn a_lost_attempt_keeps_the_time_that_is_known() {
    let export = tempfile::tempdir().unwrap();
    let path = record::record_path(export.path(), &sample::slot());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for seconds in [None, Some(2.5)] {
        let mut head = sample::complete();
        head.attempts = vec![attempt(1, None, seconds)];
        let outcome = fail_lost(head, &path, "killed".to_owned()).unwrap();
        assert_eq!(outcome, SlotOutcome::Failed { message: "killed".to_owned() });
        let state = record::read_state(export.path(), &sample::slot()).unwrap();
        let record::RecordState::Head(head) = state else { panic!("{state:?}") };
        assert_eq!((head.status, head.error.as_deref()), (RunStatus::Failed, Some("killed")));
        assert_eq!((head.seconds, head.attempts[0].seconds), (seconds, seconds));
        assert_eq!(head.attempts[0].outcome, AttemptOutcome::Failed);
    }
}
