//! How long a tick of the CPU's counter is, by comparison with the system's clock.

use std::time::Instant;

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) ticks: u64,
    pub(super) at: Instant,
}

/// How far two measures of the rate may differ. The system's clock is slewed by at most 0.05 %
/// while it is set, and a measure over half a millisecond is good to 0.02 %.
const TOLERANCE: f64 = 1e-3;

/// Seconds per tick, by the longest period over which both clocks ran on.
///
/// While the machine is suspended the system's clock stands still, and the counter runs on or
/// begins anew: a period with such a gap gives another rate than one without, and is ignored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Where the period begins.
    since: Option<Pair>,
    /// Seconds per tick; 0 while it is unknown.
    per_tick: f64,
    /// Seconds over which that was measured.
    measured_over: f64,
}

impl Rate {
    pub(super) const UNKNOWN: Self = Self { since: None, per_tick: 0.0, measured_over: 0.0 };

    pub(super) fn is_known(&self) -> bool {
        self.per_tick > 0.0
    }

    /// Begins the period, unless it has begun.
    pub(super) fn begin(&mut self, pair: Pair) {
        self.since.get_or_insert(pair);
    }

    /// A first measure by itself, from `begun` to the end of `wait`.
    pub(super) fn measure(&mut self, begun: Pair, wait: impl FnOnce() -> Pair) {
        if let Some((per_tick, seconds)) = between(begun, wait()) {
            self.per_tick = per_tick;
            self.measured_over = seconds;
        }
    }

    /// Uses a longer period if its rate agrees; returns the best rate.
    pub(super) fn refine(&mut self, now: Pair) -> f64 {
        let since = *self.since.get_or_insert(now);
        match between(since, now) {
            Some((per_tick, _)) if !self.agrees(per_tick) => self.since = Some(now),
            Some((per_tick, seconds)) if seconds >= self.measured_over => {
                self.per_tick = per_tick;
                self.measured_over = seconds;
            }
            // The counter began anew, or the period is shorter than an earlier one.
            Some(_) => {}
            None => self.since = Some(now),
        }
        self.per_tick
    }

    fn agrees(&self, per_tick: f64) -> bool {
        (per_tick / self.per_tick - 1.0).abs() <= TOLERANCE
    }
}

/// Seconds per tick and seconds between two moments; none where a clock did not go on.
fn between(earlier: Pair, later: Pair) -> Option<(f64, f64)> {
    let ticks = later.ticks.checked_sub(earlier.ticks).filter(|ticks| *ticks > 0)?;
    let seconds = later.at.checked_duration_since(earlier.at)?.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "exact for weeks, then to 16 digits")]
    let per_tick = seconds / ticks as f64;
    (seconds > 0.0).then_some((per_tick, seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A machine of two clocks: three ticks a nanosecond.
    struct Machine(Pair);

    impl Machine {
        fn new() -> Self {
            Self(Pair { ticks: 1_000, at: Instant::now() })
        }

        fn passes(&mut self, nanos: u64) -> Pair {
            self.0.ticks += 3 * nanos;
            self.0.at += Duration::from_nanos(nanos);
            self.0
        }
    }

    const EXACT: f64 = 1e-9 / 3.0;
    const HOUR: u64 = 3_600_000_000_000;

    fn measured(machine: &mut Machine, rate: &mut Rate) {
        let begun = machine.passes(0);
        rate.measure(begun, || machine.passes(500_000));
    }

    fn off(per_tick: f64) -> f64 {
        (per_tick / EXACT - 1.0).abs()
    }

    #[test]
    fn a_longer_period_makes_the_rate_more_exact() {
        let (mut machine, mut rate) = (Machine::new(), Rate::UNKNOWN);
        rate.begin(machine.passes(0));
        // The first end was read 60 ns late.
        let begun = machine.passes(0);
        rate.measure(begun, || Pair { ticks: machine.passes(500_000).ticks + 180, ..machine.0 });
        assert!(rate.is_known());
        let first = off(rate.per_tick);
        assert!(first > 1e-5, "{first}");
        let late = machine.passes(HOUR);
        assert!(off(rate.refine(Pair { ticks: late.ticks + 180, ..late })) < 1e-9);
    }

    #[test]
    fn a_suspended_machine_does_not_change_the_rate() {
        for counter_runs_on in [true, false] {
            let (mut machine, mut rate) = (Machine::new(), Rate::UNKNOWN);
            rate.begin(machine.passes(0));
            machine.passes(HOUR);
            // Nobody had read when it was suspended.
            machine.0.ticks = if counter_runs_on { machine.0.ticks + 24 * HOUR } else { 17 };
            measured(&mut machine, &mut rate);
            let now = machine.passes(1_000);
            assert!(off(rate.refine(now)) < 1e-9);
            // And again, once the rate is known.
            machine.passes(HOUR);
            machine.0.ticks = if counter_runs_on { machine.0.ticks + 24 * HOUR } else { 17 };
            let now = machine.passes(1_000);
            assert!(off(rate.refine(now)) < 1e-9);
            let now = machine.passes(HOUR);
            assert!(off(rate.refine(now)) < 1e-9);
            assert!(rate.measured_over > 3_599.0, "the new period counts: {rate:?}");
        }
    }

    #[test]
    fn a_short_period_takes_nothing_from_a_long_one() {
        let (mut machine, mut rate) = (Machine::new(), Rate::UNKNOWN);
        rate.begin(machine.passes(0));
        measured(&mut machine, &mut rate);
        let now = machine.passes(HOUR);
        rate.refine(now);
        let exact = rate.per_tick;
        rate.since = Some(machine.passes(0));
        let now = machine.passes(1_000_000);
        let coarse = Pair { ticks: now.ticks + 180, ..now };
        assert_eq!(rate.refine(coarse).to_bits(), exact.to_bits());
    }
}
