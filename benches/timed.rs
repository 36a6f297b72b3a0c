//! One `#[rle::timed]` call beside two `Instant::now()` calls.
//!
//! `cargo bench -p rle-benches --bench timed`
//!
//! Batches run in turn; what counts is the median of the ratios within one turn.

use std::hint::black_box;
use std::time::Instant;

rle::stages! { step }

const TURNS: usize = 400;
const CALLS: u32 = 20_000;

#[rle::timed("step")]
#[inline(never)]
fn timed(value: u64) -> u64 {
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

/// A call to measure, with its name.
type Subject = (&'static str, fn(u64) -> u64);

fn main() {
    let subjects: [Subject; 3] =
        [("two Instant::now()", two_instants), ("#[rle::timed]", timed), ("plain call", plain)];
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
}

fn nanoseconds_per_call(subject: fn(u64) -> u64) -> f64 {
    let start = Instant::now();
    for call in 0..CALLS {
        black_box(subject(u64::from(call)));
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
