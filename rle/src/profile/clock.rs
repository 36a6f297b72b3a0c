//! The clock of the timed stages: the CPU's time-stamp counter where it may be trusted, else
//! the system's monotonic clock. A wall-clock jump changes neither.
//!
//! Calls count in ticks; ticks become seconds when somebody reads, by [`Rate`]. With
//! `RLE_CLOCK=system` the system's clock is read in any case.
//!
//! - `rate`: how many seconds a tick takes.

mod rate;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rate::{Pair, Rate};

use crate::sync::Mutex;

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

static RATE: Mutex<Rate> = Mutex::new(Rate::UNKNOWN);

/// The bits of the last result of [`seconds_per_tick`]; 0 before the first one.
static RECENT: AtomicU64 = AtomicU64::new(0);

/// The first rate is measured over this time, by whoever reads sums first.
const FIRST_MEASURE: Duration = Duration::from_micros(500);

/// When a call began. Of the size of an `Instant`, which has a niche.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    Counter(u64),
    System(Instant),
}

impl Start {
    #[inline]
    pub(super) fn now() -> Self {
        match SOURCE.load(Ordering::Relaxed) {
            COUNTER => Self::Counter(counter::ticks()),
            SYSTEM => Self::System(Instant::now()),
            _ => first_use(),
        }
    }

    /// Ticks since then.
    #[inline]
    pub(super) fn elapsed(self) -> u64 {
        match self {
            // Between CPUs the counter may be a few ticks behind.
            Self::Counter(start) => counter::ticks().saturating_sub(start),
            Self::System(start) => nanoseconds(start.elapsed()),
        }
    }
}

/// 584 years fit.
#[inline]
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(time.subsec_nanos()))
}

#[expect(clippy::cast_precision_loss, reason = "exact for weeks, then to 16 digits")]
pub(super) fn seconds(ticks: u64, per_tick: f64) -> f64 {
    ticks as f64 * per_tick
}

/// Seconds per tick, as exact as the time since the first call allows.
///
/// The first caller waits for half a millisecond.
pub(super) fn seconds_per_tick() -> f64 {
    if let Start::System(_) = Start::now() {
        RECENT.store(1e-9_f64.to_bits(), Ordering::Relaxed);
        return 1e-9;
    }
    let mut rate = RATE.lock();
    let per_tick = measured(&mut rate);
    RECENT.store(per_tick.to_bits(), Ordering::Relaxed);
    per_tick
}

fn measured(rate: &mut Rate) -> f64 {
    if !rate.is_known() {
        rate.measure(take_pair(), || {
            let begun = Instant::now();
            while begun.elapsed() < FIRST_MEASURE {
                std::hint::spin_loop();
            }
            take_pair()
        });
    }
    rate.refine(take_pair())
}

/// The last result of [`seconds_per_tick`], without a lock.
pub(super) fn recent_seconds_per_tick() -> f64 {
    match RECENT.load(Ordering::Relaxed) {
        0 => seconds_per_tick(),
        bits => f64::from_bits(bits),
    }
}

/// The counter and the system's clock at one moment: of several tries the one that took the
/// fewest ticks, so that losing the CPU between two readings does no harm.
fn take_pair() -> Pair {
    let tried = (0..8).map(|_| {
        let before = counter::ticks();
        let at = Instant::now();
        let width = counter::ticks().saturating_sub(before);
        (width, Pair { ticks: before + width / 2, at })
    });
    tried.min_by_key(|(width, _)| *width).map(|(_, pair)| pair).expect("there are eight")
}

#[cold]
fn first_use() -> Start {
    let source = if wants_counter() && counter::is_usable() { COUNTER } else { SYSTEM };
    if source == COUNTER {
        RATE.lock().begin(take_pair());
    }
    SOURCE.store(source, Ordering::Relaxed);
    Start::now()
}

fn wants_counter() -> bool {
    match std::env::var("RLE_CLOCK").as_deref() {
        Ok("system") => false,
        Err(_) | Ok("" | "auto") => true,
        Ok(other) => {
            tracing::warn!("RLE_CLOCK is `{other}`, expected `auto` or `system`; `auto` is used");
            true
        }
    }
}

/// The CPU's counter, and whether it runs at one speed, on, and alike on all CPUs.
#[cfg(target_arch = "x86_64")]
mod counter {
    #[inline]
    pub(super) fn ticks() -> u64 {
        tick_counter::x86_64_tick_counter()
    }

    /// The CPU promises an invariant counter, and the kernel, where it says what it reads, reads
    /// that counter itself: it has compared the CPUs, and leaves the counter when it misbehaves.
    pub(super) fn is_usable() -> bool {
        is_invariant() && super::kernel_clock().is_none_or(|name| name == "tsc")
    }

    /// Intel SDM volume 3, 19.17.1 "Invariant TSC"; AMD APM volume 3, E.4.6: the same bit.
    fn is_invariant() -> bool {
        use std::arch::x86_64::__cpuid;
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT_COUNTER: u32 = 1 << 8;
        __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT
            && __cpuid(POWER_MANAGEMENT).edx & INVARIANT_COUNTER != 0
    }
}

/// The generic timer's virtual counter: of constant speed and alike on all CPUs by the
/// architecture (Arm ARM, D12 "The Generic Timer").
#[cfg(all(target_arch = "aarch64", any(target_os = "linux", target_os = "macos")))]
mod counter {
    #[inline]
    pub(super) fn ticks() -> u64 {
        tick_counter::aarch64_tick_counter()
    }

    /// A kernel that reads another clock has a reason to: some CPUs' counters have errata.
    pub(super) fn is_usable() -> bool {
        super::kernel_clock().is_none_or(|name| name == "arch_sys_counter")
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", any(target_os = "linux", target_os = "macos"))
)))]
mod counter {
    #[inline]
    pub(super) fn ticks() -> u64 {
        0
    }

    pub(super) fn is_usable() -> bool {
        false
    }
}

/// The clock that Linux reads itself; none where it does not say.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", any(target_os = "linux", target_os = "macos"))
))]
fn kernel_clock() -> Option<String> {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(FILE).ok().map(|name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_agree_with_the_system_clock() {
        let (begun, start) = (Instant::now(), Start::now());
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let (ticks, elapsed) = (start.elapsed(), begun.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "some million ticks")]
        let seconds = ticks as f64 * seconds_per_tick();
        // Losing the CPU between the two readings of an end makes them differ: seldom, and by
        // milliseconds at most.
        assert!((seconds / elapsed - 1.0).abs() < 0.2, "{seconds} s by ticks in {elapsed} s");
    }

    #[test]
    fn a_process_that_has_just_begun_measures_as_well_as_an_old_one() {
        if !matches!(Start::now(), Start::Counter(_)) {
            eprintln!("skipped: this machine's counter is not used");
            return;
        }
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let old = seconds_per_tick();
        let young = || {
            let mut rate = Rate::UNKNOWN;
            rate.begin(take_pair());
            (measured(&mut rate) / old - 1.0).abs()
        };
        let mut errors: Vec<f64> = (0..15).map(|_| young()).collect();
        errors.sort_by(f64::total_cmp);
        assert!(errors[7] < 5e-4, "{errors:?}");
    }

    #[test]
    fn a_counter_that_the_kernel_reads_is_used() {
        let read = kernel_clock().is_some_and(|name| name == "tsc" || name == "arch_sys_counter");
        if read && wants_counter() {
            assert!(matches!(Start::now(), Start::Counter(_)));
        } else {
            eprintln!("skipped: the kernel of this machine does not read the CPU's counter");
        }
    }
}
