//! One `#[rle::timed]` call beside two `Instant::now()` calls, and beside what others offer.
//!
//! `cargo bench -p rle-benches --features peers --bench timed`
//!
//! Batches run in turn; what counts is the median of the ratios within one turn. Each peer records
//! every call, as we do, and throws its records away: `fastrace` with a reporter that drops them,
//! one root span for every 1,000 calls; `tracing` with the plain registry of `tracing-subscriber`;
//! `hotpath` with its report going nowhere. Then the same work on every core at once.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

rle::stages! { step, inner, logged }

const TURNS: usize = 400;
const CALLS: u32 = 20_000;

#[rle::timed("step")]
#[inline(never)]
fn timed(value: u64) -> u64 {
    black_box(value)
}

#[rle::timed("inner", debug)]
#[inline(never)]
fn timed_in_debug(value: u64) -> u64 {
    black_box(value)
}

#[rle::timed("logged", metric)]
#[inline(never)]
fn timed_as_metric(value: u64) -> u64 {
    black_box(value)
}

#[inline(never)]
fn two_instants(value: u64) -> u64 {
    let start = Instant::now();
    let value = black_box(value);
    black_box(start.elapsed());
    value
}

#[inline(never)]
fn plain(value: u64) -> u64 {
    black_box(value)
}

/// A batch of calls to measure, with its name.
type Subject = (&'static str, fn());

fn main() {
    let _peers = peers::start();
    assert!(!rle::profile::is_debug(), "without RLE_DEBUG, for what it costs when it is off");
    assert!(rle::profile::set_metric_sink(|name, seconds| _ = black_box((name, seconds))));
    let mut subjects: Vec<Subject> = vec![
        ("two Instant::now()", || batch(two_instants)),
        ("#[rle::timed]", || batch(timed)),
        ("the same, metric", || batch(timed_as_metric)),
        ("the same, debug", || batch(timed_in_debug)),
        ("plain call", || batch(plain)),
    ];
    subjects.extend(peers::SUBJECTS);
    let mut turns: Vec<Vec<f64>> = Vec::new();
    for _ in 0..TURNS {
        turns.push(subjects.iter().map(|(_, subject)| nanoseconds_per_call(*subject)).collect());
    }
    println!("{:<24}{:>12}{:>28}", "call", "median ns", "ratio to two Instant::now()");
    for (column, (name, _)) in subjects.iter().enumerate() {
        let time = median(turns.iter().map(|times| times[column]).collect());
        let ratio = median(turns.iter().map(|times| times[column] / times[0]).collect());
        println!("{name:<24}{time:>12.2}{ratio:>28.2}");
    }
    print_scaling();
}

fn batch(call: fn(u64) -> u64) {
    for value in 0..CALLS {
        black_box(call(u64::from(value)));
    }
}

fn nanoseconds_per_call(subject: fn()) -> f64 {
    let start = Instant::now();
    subject();
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

/// One thread alone against one a core, in turn.
fn print_scaling() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cores = u32::try_from(cores).unwrap_or(u32::MAX);
    for (name, call) in
        [("two Instant::now()", two_instants as fn(u64) -> u64), ("#[rle::timed]", timed)]
    {
        let ratios = (0..TURNS / 4).map(|_| on_threads(cores, call) / on_threads(1, call));
        let ratio = median(ratios.collect());
        println!(
            "{name}: a call on each of {cores} threads at once takes {ratio:.2} times one alone"
        );
    }
}

/// Nanoseconds per call, the mean over threads that begin together.
fn on_threads(count: u32, call: fn(u64) -> u64) -> f64 {
    let barrier = Barrier::new(count as usize);
    let run = || {
        call(0);
        barrier.wait();
        let start = Instant::now();
        batch(call);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        let times = threads.into_iter().map(|thread| thread.join().expect("no call panics"));
        times.sum::<f64>()
    }) / f64::from(count)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(feature = "peers")]
mod peers {
    use std::hint::black_box;
    use std::time::Duration;

    use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
    use fastrace::{Span, set_reporter};
    use tracing::subscriber::with_default;

    use super::{CALLS, Subject, batch};

    /// So that the queue of a root span never overflows: it holds 10,240 calls.
    const CALLS_IN_ROOT: u32 = 1_000;

    pub(super) const SUBJECTS: [Subject; 3] = [
        ("fastrace", in_root_spans),
        ("tracing with a registry", || {
            with_default(tracing_subscriber::registry(), || batch(instrumented));
        }),
        ("hotpath", || batch(measured)),
    ];

    struct Nowhere;

    impl Reporter for Nowhere {
        fn report(&mut self, spans: Vec<SpanRecord>) {
            drop(spans);
        }
    }

    pub(super) fn start() -> hotpath::HotpathGuard {
        set_reporter(Nowhere, Config::default().report_interval(Duration::from_millis(100)));
        hotpath::HotpathGuardBuilder::new("main").output_path("/dev/null").build()
    }

    fn in_root_spans() {
        for _ in 0..CALLS / CALLS_IN_ROOT {
            let root = Span::root("root", SpanContext::random());
            let _parent = root.set_local_parent();
            for value in 0..CALLS_IN_ROOT {
                black_box(traced(u64::from(value)));
            }
        }
    }

    #[fastrace::trace]
    #[inline(never)]
    fn traced(value: u64) -> u64 {
        black_box(value)
    }

    #[tracing::instrument(skip_all)]
    #[inline(never)]
    fn instrumented(value: u64) -> u64 {
        black_box(value)
    }

    #[hotpath::measure]
    #[inline(never)]
    fn measured(value: u64) -> u64 {
        black_box(value)
    }
}

#[cfg(not(feature = "peers"))]
mod peers {
    pub(super) const SUBJECTS: [super::Subject; 0] = [];

    pub(super) struct NoPeers;

    pub(super) fn start() -> NoPeers {
        NoPeers
    }
}
