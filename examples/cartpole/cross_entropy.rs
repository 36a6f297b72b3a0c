//! The cross-entropy method (Rubinstein, 1999): try random policies, move to where the best are.

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Policy};
use crate::learner::{History, Learner, mean};
use crate::physics::{Action, State};
use crate::rng::Rng;

/// How to search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of generations.
    pub iterations: u32,
    /// Policies tried in each generation.
    pub population: usize,
    /// The best of them, that the next generation is drawn around.
    pub elites: usize,
    /// Episodes that each policy is tried in.
    pub episodes_per_policy: u32,
    /// Standard deviation of every weight in the first generation.
    pub initial_spread: f64,
    /// Spread added in the first generation against settling too soon; it falls linearly to zero.
    pub extra_spread: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            iterations: 25,
            population: 40,
            elites: 8,
            episodes_per_policy: 2,
            initial_spread: 1.0,
            extra_spread: 0.5,
        }
    }
}

/// Pushes to the right where a weighted sum of the state is positive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinearPolicy {
    weights: [f64; 4],
}

impl Policy for LinearPolicy {
    fn act(&self, state: State) -> Action {
        let terms = self.weights.iter().zip(state.to_array());
        let sum: f64 = terms.map(|(weight, number)| weight * number).sum();
        if sum > 0.0 { Action::Right } else { Action::Left }
    }
}

/// The learner and all of its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrossEntropy {
    config: Config,
    environment: Environment,
    /// The centre of the next generation.
    policy: LinearPolicy,
    spread: [f64; 4],
    rng: Rng,
    history: History,
}

/// A policy and its mean return.
type Scored = (LinearPolicy, f64);

impl CrossEntropy {
    /// A search that begins at zero; its policies are drawn from `seed`.
    pub fn new(config: Config, environment: Environment, seed: u64) -> rle::Result<Self> {
        let Config { population, elites, .. } = config;
        ensure!(
            (1..=population).contains(&elites),
            "`elites` is {elites}; it must be at least 1 and at most `population` ({population})"
        );
        ensure!(config.episodes_per_policy > 0, "`episodes_per_policy` must be at least 1");
        let spread = [config.initial_spread; 4];
        let policy = LinearPolicy::default();
        let rng = Rng::new(seed);
        Ok(Self { config, environment, policy, spread, rng, history: History::default() })
    }

    /// Draws a generation and plays with each policy of it.
    #[rle::timed("rollout", metric)]
    fn rollout(&mut self) -> Vec<Scored> {
        (0..self.config.population)
            .map(|_| {
                let weights = std::array::from_fn(|index| {
                    self.policy.weights[index] + self.spread[index] * self.rng.normal()
                });
                let policy = LinearPolicy { weights };
                let mut total = 0.0;
                for _ in 0..self.config.episodes_per_policy {
                    let episode = self.environment.episode(|state| policy.act(state));
                    self.history.add_episode(&episode);
                    total += episode.total_reward();
                }
                (policy, total / f64::from(self.config.episodes_per_policy))
            })
            .collect()
    }

    /// Moves to the mean and the spread of the best and returns their mean return.
    #[rle::timed("train", metric)]
    fn train(&mut self, mut generation: Vec<Scored>) -> f64 {
        generation.sort_by(|one, other| other.1.total_cmp(&one.1));
        generation.truncate(self.config.elites);
        let remaining = self.history.remaining(self.config.iterations);
        let extra_spread = self.config.extra_spread * remaining;
        for index in 0..self.spread.len() {
            let weights = generation.iter().map(|(policy, _)| policy.weights[index]);
            let centre = mean(weights.clone());
            let variance = mean(weights.map(|weight| (weight - centre).powi(2)));
            self.policy.weights[index] = centre;
            self.spread[index] = variance.sqrt() + extra_spread;
        }
        mean(generation.iter().map(|(_, value)| *value))
    }
}

impl Learner for CrossEntropy {
    type Policy = LinearPolicy;

    fn iterations(&self) -> u32 {
        self.config.iterations
    }

    fn iterate(&mut self) {
        let generation = self.rollout();
        let elite_return = self.train(generation);
        let spread = mean(self.spread.iter().copied());
        self.history.end_iteration(&[("elite_return", elite_return), ("spread", spread)]);
    }

    fn policy(&self) -> &LinearPolicy {
        &self.policy
    }

    fn history(&self) -> &History {
        &self.history
    }
}
