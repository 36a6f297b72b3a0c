//! Summaries of timed stages as a program sees them. Each test uses stages of its own: the process
//! is one for all of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::unused_async, clippy::unnecessary_wraps)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

use rle::profile::{self, StageSummary, Summary};
use rle::{AlgorithmSpec, RunContext, RunResult, Suite, SuiteConfig};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

rle::stages! {
    exact, inside, outside, epoch, folded
}

/// Runs and epochs are the process's: one test at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(summary: &Summary, stage: &str) -> Option<(&'static str, StageSummary)> {
    summary.groups.iter().find_map(|group| {
        let found = group.stages.iter().find(|row| row.name == stage);
        found.map(|row| (group.name, *row))
    })
}

fn count(summary: &Summary, stage: &str) -> u64 {
    find(summary, stage).map_or(0, |(_, row)| row.count)
}

/// Keeps the text of events.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(format!("{} {}", event.metadata().level(), message.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is logged meanwhile on this thread.
fn logged(body: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), body);
    let lines = lines.0.lock().unwrap();
    lines.clone()
}

/// The count and the seconds of a row of a summary that was logged.
fn row(line: &str, stage: &str) -> Option<(u64, f64)> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != stage {
        return None;
    }
    let count = words.next()?.strip_prefix("count=")?.parse().ok()?;
    Some((count, words.next()?.strip_prefix("total=")?.strip_suffix('s')?.parse().ok()?))
}

#[rle::timed("exact")]
fn exact(value: u64) -> u64 {
    std::hint::black_box(value)
}

#[test]
fn epochs_of_ten_thousand_calls_on_eight_threads_add_up_exactly() {
    const THREADS: u64 = 8;
    const CALLS: u64 = 10_000;
    let _turn = turn();
    let begin = Barrier::new(9);
    let mut lines = Vec::new();
    thread::scope(|scope| {
        let calling: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    begin.wait();
                    (0..CALLS / THREADS).for_each(|value| _ = exact(value));
                })
            })
            .collect();
        begin.wait();
        while !calling.iter().all(thread::ScopedJoinHandle::is_finished) {
            lines.extend(logged(|| profile::print_summary(true)));
        }
    });
    lines.extend(logged(|| profile::print_summary(true)));
    let rows: Vec<(u64, f64)> = lines.iter().filter_map(|line| row(line, "exact")).collect();
    assert_eq!(rows.iter().map(|(count, _)| count).sum::<u64>(), CALLS);
    let (_, whole) = find(&profile::process_summary(), "exact").unwrap();
    assert_eq!(whole.count, CALLS);
    let seconds: f64 = rows.iter().map(|(_, seconds)| seconds).sum();
    let rounding = 0.5e-6 * f64::from(u32::try_from(rows.len()).unwrap()) + whole.total * 1e-3;
    assert!((seconds - whole.total).abs() <= rounding, "{seconds} s in {whole:?}");
    assert!(whole.minimum <= whole.average() && whole.average() <= whole.maximum, "{whole:?}");
}

#[rle::timed("epoch", group = "epochs of its own")]
fn epoch() {}

#[test]
fn only_a_reset_begins_an_epoch_and_it_leaves_the_whole_alone() {
    let _turn = turn();
    let counts = |lines: &[String]| lines.iter().find_map(|line| row(line, "epoch"));
    let print = |reset| counts(&logged(|| profile::print_summary(reset))).map(|(count, _)| count);
    print(true);
    let before = count(&profile::process_summary(), "epoch");
    epoch();
    assert_eq!(print(false), Some(1));
    epoch();
    assert_eq!(print(true), Some(2));
    assert_eq!(print(true), None);
    epoch();
    assert_eq!(count(&profile::epoch_summary(), "epoch"), 1);
    let (group, stage) = find(&profile::process_summary(), "epoch").unwrap();
    assert_eq!((group, stage.count), ("epochs of its own", before + 3));
}

#[test]
fn a_summary_is_logged_at_debug_and_says_when_there_is_nothing() {
    let _turn = turn();
    profile::print_summary(true);
    let nothing = logged(|| profile::print_summary(false));
    assert_eq!(nothing, ["DEBUG timing summary: no timed call has ended"]);
    epoch();
    let lines = logged(|| profile::print_summary(true));
    assert_eq!(lines[..2], ["DEBUG timing summary:", "DEBUG epochs of its own:"]);
    assert_eq!(lines.len(), 3, "no phase, hence no shares: {lines:?}");
}

#[rle::timed("inside")]
fn inside() {}

#[rle::timed("outside")]
fn outside() {}

fn suite(directory: &Path, run: fn(&RunContext) -> rle::Result<RunResult>) {
    let config = SuiteConfig::new("bandit").export_dir(directory.join("out")).source_dir(directory);
    let report = Suite::new(config).algorithm(AlgorithmSpec::new("Timed", run)).run().unwrap();
    assert!(report.is_complete(), "{report:?}");
}

#[test]
fn a_run_sees_the_calls_of_all_threads_since_it_began_and_leaves_its_own_timings() {
    fn run(ctx: &RunContext) -> rle::Result<RunResult> {
        inside();
        thread::scope(|scope| {
            scope.spawn(inside);
        });
        let summary = profile::summary();
        assert_eq!((count(&summary, "inside"), count(&summary, "outside")), (2, 0));
        assert_eq!(find(&summary, "inside").unwrap().0, "profile", "the module's name");
        // Without RLE_DEBUG the end of an epoch is not even that.
        ctx.epoch_end();
        assert_eq!(count(&profile::epoch_summary(), "inside"), 2);
        profile::print_summary(true);
        inside();
        assert_eq!(count(&profile::epoch_summary(), "inside"), 1);
        assert_eq!(count(&profile::summary(), "inside"), 3);
        assert!(summary.seconds > 0.0 && summary.seconds < profile::process_summary().seconds);
        Ok(RunResult::new())
    }
    let _turn = turn();
    outside();
    let directory = tempfile::tempdir().unwrap();
    suite(directory.path(), run);
    outside();
    let process = profile::summary();
    assert_eq!((count(&process, "inside"), count(&process, "outside")), (3, 2));
    let text = std::fs::read_to_string(directory.path().join("out/timed/timings.json")).unwrap();
    let timings: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(timings.keys().collect::<Vec<_>>(), ["inside", "timed_run"]);
    assert_eq!(timings["inside"]["runs"][0]["calls"], 3);
}

mod engine {
    #[rle::timed("folded")]
    pub(super) fn outer() {
        super::buffer::inner();
    }
}

mod buffer {
    #[rle::timed("folded")]
    pub(super) fn inner() {}
}

#[test]
fn modules_have_blocks_of_their_own_and_fold_one_stage_together() {
    let _turn = turn();
    engine::outer();
    buffer::inner();
    let summary = profile::summary();
    let of = |name: &str| {
        let group = summary.groups.iter().find(|group| group.name == name).unwrap();
        (group.stages.len(), group.stages[0].count)
    };
    assert_eq!((of("engine"), of("buffer")), ((1, 1), (1, 1)));
    let seconds = summary.stage_seconds();
    assert_eq!(seconds.iter().filter(|(stage, _)| *stage == "folded").count(), 1);
}
