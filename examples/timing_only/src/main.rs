//! Keeps times without a suite: no attributes, no generated `main`, no command line.
//!
//! Sorts the same numbers a few times, and records how long making and sorting them took.

use rle::timings::{RunKey, Timer, Timings};

const DIRECTORY: &str = "exports/sorting/quick";
const NUMBERS: u64 = 200_000;

fn main() -> Result<(), rle::Error> {
    let mut timings = Timings::load(DIRECTORY)?;
    for run_idx in 0..3 {
        let run = RunKey::run(run_idx);
        // A timer that is started and stopped by hand ..
        let mut timer = Timer::new("quick_run", run.clone());
        timer.start()?;
        // .. and a block that is measured as a whole.
        let mut numbers = timings.timed("generate", run.clone(), || numbers(run_idx.into()));
        timings.timed("sort", run, || numbers.sort_unstable());
        timer.stop(&mut timings)?;
    }
    // Merges with what other programs have saved there meanwhile.
    timings.save(DIRECTORY)?;

    for (stage, times) in timings.stages() {
        let Some(summary) = times.summary() else { continue };
        println!("{stage}: {} runs, runs {:?}", summary.runs, summary.run_indices);
    }
    Ok(())
}

/// Numbers that look random, by a linear congruence (Knuth's MMIX constants).
fn numbers(seed: u64) -> Vec<u64> {
    let mut number = seed;
    let mut next = || {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        number >> 33
    };
    (0..NUMBERS).map(|_| next()).collect()
}
