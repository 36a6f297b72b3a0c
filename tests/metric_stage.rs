//! What is done with the calls of `metric` stages. The first who asks for them has them as long as
//! the process lives, and a suite asks: so this test has a process of its own.
#![allow(missing_docs, clippy::unwrap_used, clippy::unused_async)]

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;

use rle::profile;

rle::stages! { plain, measured { train, wait } }

#[rle::timed("measured.train", metric)]
fn train(depth: u32) {
    if depth > 0 {
        train(depth - 1);
    }
}

#[rle::timed("measured.wait", metric)]
async fn wait() {}

#[rle::timed("plain", debug, metric)]
fn not_in_debug() {}

#[test]
fn each_call_of_a_metric_stage_is_handed_on() {
    static TAKEN: Mutex<Vec<(String, f64)>> = Mutex::new(Vec::new());
    fn take(name: &str, seconds: f64) {
        TAKEN.lock().unwrap().push((name.to_owned(), seconds));
    }
    assert!(!profile::is_debug(), "these tests run without RLE_DEBUG");
    assert!(profile::set_metric_sink(take));
    assert!(!profile::set_metric_sink(|_, _| ()), "the first stays");
    train(3);
    not_in_debug();
    let poll = pin!(wait()).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Ready(())));
    thread::spawn(|| train(0)).join().unwrap();
    let taken = TAKEN.lock().unwrap();
    let names: Vec<&str> = taken.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["measured.train", "measured.wait", "measured.train"];
    assert_eq!(names, expected.map(|stage| format!("time_profile/{stage}")));
    let total: f64 = taken.iter().map(|(_, seconds)| seconds).sum();
    assert!(taken.iter().all(|(_, seconds)| *seconds >= 0.0) && total < 10.0, "{taken:?}");
    let stages = profile::summary().stage_seconds();
    assert!(!stages.iter().any(|(stage, _)| *stage == "plain"), "{stages:?}");
}
