//! Random numbers whose whole state can be saved: xoshiro256++ (Blackman and Vigna, 2019).

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// A generator. The same seed gives the same numbers on every machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Spreads `seed` over the state with `SplitMix64`, as the authors of xoshiro advise.
    pub fn new(mut seed: u64) -> Self {
        let state = std::array::from_fn(|_| {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        Self { state }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let bits = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        bits
    }

    /// A number between `low` and `high`, one of 2⁵³ equally likely ones.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit an f64")]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        low + (high - low) * unit
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform(0.0, 1.0) < probability
    }

    /// A number from the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(0.0, 1.0)).ln()).sqrt();
        radius * self.uniform(0.0, TAU).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(expected, std::array::from_fn(|_| rng.next_u64()));
        assert_eq!(Rng::new(0).next_u64(), 5_987_356_902_031_041_503);
    }

    #[test]
    fn a_restored_generator_goes_on_where_it_was() {
        let mut rng = Rng::new(u64::MAX);
        rng.normal();
        let mut restored: Rng =
            serde_json::from_str(&serde_json::to_string(&rng).unwrap()).unwrap();
        assert_eq!(rng.next_u64(), restored.next_u64());
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let mut rng = Rng::new(1);
        let mut mean_of = |draw: fn(&mut Rng) -> f64| {
            (0..100_000).map(|_| draw(&mut rng)).sum::<f64>() / 100_000.0
        };
        assert!((mean_of(|rng| rng.uniform(-1.0, 2.0)) - 0.5).abs() < 0.02);
        assert!((mean_of(|rng| f64::from(u8::from(rng.chance(0.3)))) - 0.3).abs() < 0.02);
        assert!(mean_of(Rng::normal).abs() < 0.02);
        assert!((mean_of(|rng| rng.normal().powi(2)) - 1.0).abs() < 0.02);
    }
}
