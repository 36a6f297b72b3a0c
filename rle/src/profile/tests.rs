//! Each test uses stages of its own: runs and threads are shared by the whole process.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;

use super::site::{AsyncGuard, Guard, Site};
use super::sums::{Reading, Sums, Totals};
use super::{StageTotal, begin_run};
use crate::Stage;

macro_rules! site {
    ($name:literal) => {
        site!($name, module_path!())
    };
    ($name:literal, $module:expr) => {{
        static SITE: Site = Site::new(Stage::new($name), $module);
        &SITE
    }};
}

fn calls_of(totals: &[StageTotal], stage: &str) -> u64 {
    totals.iter().find(|total| total.stage == stage).map_or(0, |total| total.calls)
}

/// The calls that a run around `body` counts for the stage.
fn calls_during(stage: &str, body: impl FnOnce()) -> u64 {
    let run = begin_run();
    body();
    calls_of(&run.finish(), stage)
}

#[test]
fn a_run_counts_its_calls_only() {
    let site = site!("test_window");
    let around = begin_run();
    drop(site.enter());
    let counted = calls_during("test_window", || (0..3).for_each(|_| drop(site.enter())));
    drop(site.enter());
    assert_eq!(counted, 3);
    assert_eq!(calls_of(&around.finish(), "test_window"), 5);
}

#[test]
fn a_stage_without_calls_is_not_in_a_run() {
    let site = site!("test_no_calls");
    drop(site.enter());
    let run = begin_run();
    assert!(run.finish().iter().all(|total| total.stage != "test_no_calls"));
}

#[test]
fn a_call_that_is_open_when_the_run_begins_counts_when_it_ends() {
    let site = site!("test_open");
    let before = site.enter();
    let counted = calls_during("test_open", move || drop(before));
    assert_eq!(counted, 1);
}

#[test]
fn two_sites_of_one_name_are_one_stage() {
    let (first, second) = (site!("test_shared_name"), site!("test_shared_name"));
    let run = begin_run();
    drop(first.enter());
    drop(second.enter());
    let totals = run.finish();
    assert_eq!(calls_of(&totals, "test_shared_name"), 2);
    assert_eq!(totals.iter().filter(|total| total.stage == "test_shared_name").count(), 1);
}

#[test]
fn groups_of_one_stage_are_one_stage_of_the_run_and_fold_together() {
    let (engine, buffer) = (site!("test_groups", "a::engine"), site!("test_groups", "a::buffer"));
    let run = begin_run();
    {
        let _outer = engine.enter();
        drop(buffer.enter());
    }
    drop(buffer.enter());
    assert_eq!(calls_of(&run.finish(), "test_groups"), 2);
}

#[test]
fn more_stages_than_a_thread_finds_at_once_all_count() {
    let names = (0..150).map(|number| -> &'static str { format!("test_many_{number}").leak() });
    let sites: Vec<&'static Site> = names
        .map(|name| &*Box::leak(Box::new(Site::new(Stage::new(name), module_path!()))))
        .collect();
    let run = begin_run();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| sites.iter().for_each(|site| drop((site.enter(), site.enter()))));
        }
    });
    let totals = run.finish();
    for site in sites {
        assert_eq!(calls_of(&totals, site.stage()), 2, "{}", site.stage());
    }
}

#[test]
fn a_run_inside_another_counts_to_both() {
    let site = site!("test_nested_runs");
    let outer = begin_run();
    drop(site.enter());
    let inner = begin_run();
    drop(site.enter());
    assert_eq!(calls_of(&inner.finish(), "test_nested_runs"), 1);
    assert_eq!(calls_of(&outer.finish(), "test_nested_runs"), 2);
}

#[test]
fn threads_that_ended_keep_their_calls() {
    let site = site!("test_threads");
    let counted = calls_during("test_threads", || {
        for _ in 0..8 {
            let spawn = || thread::spawn(|| (0..100).for_each(|_| drop(site.enter())));
            let (one, two) = (spawn(), spawn());
            one.join().unwrap();
            two.join().unwrap();
        }
    });
    assert_eq!(counted, 1600);
}

#[test]
fn a_thread_that_lives_on_counts_to_each_run_once() {
    let site = site!("test_living_thread");
    let (go, order) = mpsc::channel::<()>();
    let (done, reply) = mpsc::channel();
    let worker = thread::spawn(move || {
        for () in order {
            drop(site.enter());
            done.send(()).unwrap();
        }
    });
    for expected in [2, 1] {
        let counted = calls_during("test_living_thread", || {
            for _ in 0..expected {
                go.send(()).unwrap();
                reply.recv().unwrap();
            }
        });
        assert_eq!(counted, expected);
    }
    drop(go);
    worker.join().unwrap();
}

#[test]
fn no_call_is_lost_while_runs_begin_and_end() {
    let site = site!("test_churn");
    let around = begin_run();
    let (stop, stopped) = mpsc::channel::<()>();
    let readers = thread::spawn(move || {
        let mut counted = 0;
        loop {
            let last = stopped.try_recv().is_ok();
            counted += calls_of(&begin_run().finish(), "test_churn");
            if last {
                break counted;
            }
        }
    });
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..20_000).for_each(|_| drop(site.enter())));
        }
    });
    stop.send(()).unwrap();
    let in_runs = readers.join().unwrap();
    assert!(in_runs <= 40_000, "{in_runs} counted in runs");
    assert_eq!(calls_of(&around.finish(), "test_churn"), 40_000);
}

#[test]
fn recursion_counts_the_outermost_call() {
    fn descend(site: &'static Site, depth: u32) {
        let _guard = site.enter();
        if depth > 0 {
            descend(site, depth - 1);
        }
    }
    let site = site!("test_recursion");
    let counted = calls_during("test_recursion", || {
        descend(site, 10);
        descend(site, 0);
    });
    assert_eq!(counted, 2);
}

#[test]
fn recursion_folds_on_its_own_thread_only() {
    let site = site!("test_recursion_threads");
    let counted = calls_during("test_recursion_threads", || {
        let _outer = site.enter();
        thread::scope(|scope| {
            scope.spawn(|| drop(site.enter()));
        });
    });
    assert_eq!(counted, 2);
}

#[test]
fn different_stages_inside_each_other_all_count() {
    let (outer, inner) = (site!("test_outer"), site!("test_inner"));
    let run = begin_run();
    {
        let _outer = outer.enter();
        drop(inner.enter());
        drop(inner.enter());
    }
    let totals = run.finish();
    assert_eq!((calls_of(&totals, "test_outer"), calls_of(&totals, "test_inner")), (1, 2));
    let find = |stage| totals.iter().find(|total| total.stage == stage).unwrap();
    assert!(find("test_outer").seconds >= find("test_inner").seconds);
}

#[test]
fn a_panic_is_recorded_and_unwinds_the_depth() {
    let site = site!("test_panic");
    let counted = calls_during("test_panic", || {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _outer = site.enter();
            let _inner = site.enter();
            std::panic::resume_unwind(Box::new("expected"));
        }));
        assert!(caught.is_err());
        drop(site.enter());
    });
    assert_eq!(counted, 2);
}

#[test]
fn an_early_return_is_recorded() {
    fn half(site: &'static Site, value: u32) -> Option<u32> {
        let _guard = site.enter();
        let half = value.is_multiple_of(2).then_some(value / 2)?;
        if half == 1 {
            return None;
        }
        Some(half)
    }
    let site = site!("test_early_return");
    let counted = calls_during("test_early_return", || {
        assert_eq!([1, 2, 8].map(|value| half(site, value)), [None, None, Some(4)]);
    });
    assert_eq!(counted, 3);
}

#[test]
fn a_guard_dropped_on_another_thread_counts_in_full() {
    let site = site!("test_moved_guard");
    let counted = calls_during("test_moved_guard", || {
        let outer = site.enter();
        let inner = site.enter();
        thread::spawn(move || drop((outer, inner))).join().unwrap();
        // Neither is open here any more, so that this is an outermost call again.
        let next = site.enter();
        drop(site.enter());
        drop(next);
    });
    assert_eq!(counted, 3);
}

#[test]
fn a_guard_that_outlives_its_thread_counts() {
    let site = site!("test_outlived_thread");
    let counted = calls_during("test_outlived_thread", || {
        let guard = thread::spawn(|| site.enter()).join().unwrap();
        drop(guard);
    });
    assert_eq!(counted, 1);
}

#[test]
fn a_call_while_the_thread_is_torn_down_counts() {
    struct AtExit(&'static Site);
    impl Drop for AtExit {
        fn drop(&mut self) {
            drop(self.0.enter());
            drop(self.0.enter_async());
        }
    }
    thread_local! {
        static EARLY: std::cell::OnceCell<AtExit> = const { std::cell::OnceCell::new() };
        static LATE: std::cell::OnceCell<AtExit> = const { std::cell::OnceCell::new() };
    }
    let site = site!("test_teardown");
    let counted = calls_during("test_teardown", || {
        thread::spawn(move || {
            // One before and one after this module's own: the order of destruction is not ours.
            EARLY.with(|cell| cell.set(AtExit(site)).ok().unwrap());
            drop(site.enter());
            LATE.with(|cell| cell.set(AtExit(site)).ok().unwrap());
        })
        .join()
        .unwrap();
    });
    assert_eq!(counted, 5);
}

/// Ready at its second poll.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

async fn timed_wait(site: &'static Site) {
    let _guard = site.enter_async();
    Twice(false).await;
}

#[test]
fn an_async_call_counts_when_it_is_ready_on_whatever_thread() {
    let site = site!("test_async");
    let mut context = Context::from_waker(Waker::noop());
    let counted = calls_during("test_async", || {
        let mut call = Box::pin(timed_wait(site));
        assert!(call.as_mut().poll(&mut context).is_pending());
        let ready = thread::spawn(move || {
            call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        });
        assert!(ready.join().unwrap());
    });
    assert_eq!(counted, 1);
}

#[test]
fn async_calls_never_fold() {
    let site = site!("test_async_overlap");
    let mut context = Context::from_waker(Waker::noop());
    let counted = calls_during("test_async_overlap", || {
        let (mut one, mut two) = (pin!(timed_wait(site)), pin!(timed_wait(site)));
        for _ in 0..2 {
            let _ = one.as_mut().poll(&mut context);
            let _ = two.as_mut().poll(&mut context);
        }
    });
    assert_eq!(counted, 2);
}

#[test]
fn an_async_call_that_is_dropped_half_way_counts_and_an_unpolled_one_does_not() {
    let site = site!("test_async_drop");
    let mut context = Context::from_waker(Waker::noop());
    let counted = calls_during("test_async_drop", || {
        drop(timed_wait(site));
        let mut call = Box::pin(timed_wait(site));
        assert!(call.as_mut().poll(&mut context).is_pending());
        drop(call);
    });
    assert_eq!(counted, 1);
}

#[test]
fn guards_can_be_sent() {
    fn sent<T: Send>() {}
    sent::<Guard>();
    sent::<AsyncGuard>();
}

#[test]
fn totals_keep_the_extremes_of_a_lap() {
    let sums = Sums::new();
    for ticks in [50, 10, 30] {
        sums.record(ticks, 1);
    }
    let first = sums.read();
    assert_eq!(
        first.since(Reading::ZERO, 1),
        Totals { calls: 3, ticks: 90, shortest: 10, longest: 50 }
    );
    for ticks in [20, 40] {
        sums.record(ticks, 2);
    }
    assert_eq!(
        sums.read().since(first, 2),
        Totals { calls: 2, ticks: 60, shortest: 20, longest: 40 }
    );
}

#[test]
fn a_call_at_the_change_of_laps_keeps_its_time() {
    let sums = Sums::new();
    sums.record(10, 1);
    let first = sums.read();
    sums.record(70, 1);
    assert_eq!(
        sums.read().since(first, 2),
        Totals { calls: 1, ticks: 70, shortest: 70, longest: 70 }
    );
    assert_eq!(sums.read().since(sums.read(), 2), Totals::ZERO);
}

/// The clocks are compared to a thousandth; each reading takes a part of a microsecond.
const SLACK: (f64, f64) = (1.001, 1e-6);

#[test]
fn a_stage_total_is_in_seconds() {
    let site = site!("test_seconds");
    let begun = std::time::Instant::now();
    let run = begin_run();
    let inner = {
        let _guard = site.enter();
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        begun.elapsed().as_secs_f64()
    };
    let outer = begun.elapsed().as_secs_f64();
    let totals = run.finish();
    let total = totals.iter().find(|total| total.stage == "test_seconds").unwrap();
    assert!(total.seconds <= outer * SLACK.0 + SLACK.1, "{total:?} in {outer} s");
    assert!(total.seconds >= inner / SLACK.0 - SLACK.1, "{total:?} around {inner} s");
    assert!((total.maximum - total.seconds).abs() < 1e-12);
    assert!((total.minimum - total.seconds).abs() < 1e-12);
}
