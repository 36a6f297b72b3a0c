use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::metric_sink::FLUSH_TIMEOUT;
use super::queue::{CAPACITY, MAX_NAME_BYTES, MAX_NAMES, ROOM_TIMEOUT};
use super::*;

fn queue() -> (Arc<Queue>, MetricSink) {
    let queue = Arc::new(Queue::new(true));
    (Arc::clone(&queue), MetricSink::new(queue))
}

#[test]
fn names_are_kept_once_and_refused_ones_counted() {
    let (queue, sink) = queue();
    let long = "x".repeat(MAX_NAME_BYTES + 1);
    for step in 0..10 {
        sink.log_many(&[("loss", 1.0), ("return", 2.0), ("", 3.0), (&long, 4.0)], step);
    }
    let mut drained = Drained::default();
    queue.drain(Duration::ZERO, &mut drained);
    assert_eq!(drained.names.iter().map(|name| &**name).collect::<Vec<_>>(), ["loss", "return"]);
    assert_eq!(drained.points.len(), 20);
    assert_eq!(queue.lost(), (0, 20));
    assert_eq!(sink.last_step(), Some(9));
    assert_eq!(sink.last_values(), BTreeMap::from([("loss".into(), 1.0), ("return".into(), 2.0)]));
}

#[test]
fn names_without_end_do_not_fill_the_memory() {
    let (queue, sink) = queue();
    let mut drained = Drained::default();
    for step in 0..MAX_NAMES + 5 {
        sink.log(&format!("step_{step}"), 0.0, 0);
        if step % 1_000 == 0 {
            queue.drain(Duration::ZERO, &mut drained);
        }
    }
    assert_eq!(queue.lost(), (0, 5));
}

#[test]
fn a_writer_that_stands_still_costs_its_patience_once_and_the_loss_is_counted() {
    let (queue, sink) = queue();
    let start = Instant::now();
    for step in 0..CAPACITY.cast_signed() as i64 + 1_000 {
        sink.log("loss", 0.0, step);
    }
    assert!(start.elapsed() >= ROOM_TIMEOUT);
    assert_eq!(queue.lost(), (1_000, 0));
    assert_eq!(queue.waiting(), CAPACITY as u64);
    let mut drained = Drained::default();
    queue.drain(Duration::ZERO, &mut drained);
    sink.log("loss", 0.0, -1);
    queue.drain(Duration::ZERO, &mut drained);
    assert_eq!(drained.points.len(), 1);
    assert_eq!(queue.lost(), (1_000, 0));
}

#[test]
fn a_burst_beyond_the_queue_arrives_in_order_and_what_does_not_is_counted() {
    let (queue, sink) = queue();
    let writer_queue = Arc::clone(&queue);
    let burst = 4 * CAPACITY.cast_signed() as i64;
    let writer = thread::spawn(move || {
        let mut drained = Drained::default();
        let mut steps = Vec::new();
        while !drained.closed {
            writer_queue.drain(Duration::from_mins(1), &mut drained);
            steps.extend(drained.points.iter().map(|point| point.step));
        }
        (steps, writer_queue.lost())
    });
    for step in 0..burst {
        sink.log("loss", 0.0, step);
    }
    queue.close();
    sink.log("loss", 0.0, -1);
    let (steps, (dropped, _)) = writer.join().unwrap();
    assert!(steps.is_sorted_by(|one, next| one < next));
    assert_eq!(steps.len() as u64 + dropped, burst.cast_unsigned());
    assert!(steps.len() > 2 * CAPACITY, "the training thread did not wait for room");
}

#[test]
fn points_of_many_threads_all_arrive() {
    let (queue, sink) = queue();
    thread::scope(|scope| {
        for thread in 0..8 {
            let sink = sink.clone();
            scope.spawn(move || {
                (0..1_000).for_each(|step| sink.log(&format!("t{thread}"), 0.0, step));
            });
        }
    });
    let mut drained = Drained::default();
    queue.drain(Duration::ZERO, &mut drained);
    assert_eq!((drained.points.len(), drained.names.len()), (8_000, 8));
}

#[test]
fn a_flush_waits_for_the_writer_and_gives_up_once() {
    let (queue, sink) = queue();
    assert!(sink.flush(), "there is nothing to wait for");
    sink.log("loss", 0.5, 7);
    let writer = thread::spawn({
        let queue = Arc::clone(&queue);
        move || {
            let mut drained = Drained::default();
            queue.drain(Duration::from_hours(1), &mut drained);
            queue.set_written(drained.pushed);
            drained.points.len()
        }
    });
    assert!(sink.flush());
    assert_eq!(writer.join().unwrap(), 1);
    sink.log("loss", 0.5, 8);
    assert!(!queue.flush_within(Duration::from_millis(1)));
    let again = Instant::now();
    assert!(!sink.flush());
    assert!(again.elapsed() < FLUSH_TIMEOUT);
}

#[test]
fn a_later_attempt_knows_what_an_earlier_one_logged() {
    let (_, sink) = queue();
    sink.log("warm_up", 1.0, 4);
    sink.log("loss", 2.0, 9);
    sink.log("loss", f64::NAN, 5);
    let state = sink.metric_state();
    assert_eq!(state.highest_step, Some(9));
    let (queue, sink) = queue();
    sink.resume_from(state);
    sink.log_at_last_step("time_profile/train", 0.1);
    assert_eq!(queue.waiting(), 0, "it was logged at that step before");
    sink.log("loss", 3.0, 6);
    sink.log_at_last_step("time_profile/train", 0.2);
    assert_eq!(sink.metric_state().highest_step, Some(9));
    let last = [("loss", 3.0), ("time_profile/train", 0.2), ("warm_up", 1.0)];
    assert_eq!(sink.last_values(), last.map(|(name, value)| (name.to_owned(), value)).into());
    assert_eq!(sink.last_step(), Some(6));
}
