//! The one clock of the timed stages: the CPU's time-stamp counter where it may be trusted, else
//! the system's monotonic clock. A wall-clock jump changes neither.
//!
//! Calls count in ticks; ticks become seconds when somebody reads, by [`Rate`].

mod rate;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rate::{Pair, Rate};

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

static RATE: Mutex<Rate> = Mutex::new(Rate::UNKNOWN);

/// The first rate is measured over this time, by whoever reads sums first.
const FIRST_MEASURE: Duration = Duration::from_micros(500);

/// Ticks since some moment.
#[inline]
pub(super) fn now() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        COUNTER => counter::ticks(),
        SYSTEM => system_ticks(),
        _ => first_use(),
    }
}

/// Seconds per tick, as exact as the time since the first call allows.
///
/// The first caller waits for half a millisecond.
pub(super) fn seconds_per_tick() -> f64 {
    let started = now();
    if SOURCE.load(Ordering::Relaxed) == SYSTEM {
        return 1e-9;
    }
    let mut rate = RATE.lock().unwrap_or_else(PoisonError::into_inner);
    if !rate.is_known() {
        rate.begin(Pair { ticks: started, at: Instant::now() });
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
fn first_use() -> u64 {
    let source = if counter::is_usable() { COUNTER } else { SYSTEM };
    if source == COUNTER {
        let pair = take_pair();
        RATE.lock().unwrap_or_else(PoisonError::into_inner).begin(pair);
    } else {
        system_ticks();
    }
    SOURCE.store(source, Ordering::Relaxed);
    now()
}

/// Nanoseconds since the first use; 584 years fit.
fn system_ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    elapsed.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(elapsed.subsec_nanos()))
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
        super::system_ticks()
    }

    pub(super) fn is_usable() -> bool {
        false
    }
}

/// The clock that Linux reads itself; none where it does not say.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn kernel_clock() -> Option<String> {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(FILE).ok().map(|name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_agree_with_the_system_clock() {
        let (begun, first) = (Instant::now(), now());
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let (last, elapsed) = (now(), begun.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a few million ticks")]
        let seconds = (last - first) as f64 * seconds_per_tick();
        // Losing the CPU between the two readings of an end makes them differ: seldom, and by
        // milliseconds at most.
        assert!((seconds / elapsed - 1.0).abs() < 0.2, "{seconds} s by ticks in {elapsed} s");
    }

    #[test]
    fn a_counter_that_the_kernel_reads_is_used() {
        let read = kernel_clock().is_some_and(|name| name == "tsc" || name == "arch_sys_counter");
        now();
        if read {
            assert_eq!(SOURCE.load(Ordering::Relaxed), COUNTER);
        } else {
            eprintln!("skipped: the kernel of this machine does not read the CPU's counter");
        }
    }
}
