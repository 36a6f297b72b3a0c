//! REINFORCE (Williams, 1992): make the actions of better-than-expected returns more likely.

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Policy, Trajectory};
use crate::learner::{History, Learner, count, mean};
use crate::network::{Adam, Network};
use crate::physics::{Action, State};
use crate::rng::Rng;

/// How to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of updates of the policy.
    pub iterations: u32,
    /// Episodes played for each update.
    pub episodes_per_iteration: u32,
    /// Hidden units of the network.
    pub hidden: usize,
    /// Step size of Adam at the start; it falls linearly to zero.
    pub learning_rate: f64,
    /// How much a reward one step later counts.
    pub discount: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            iterations: 80,
            episodes_per_iteration: 10,
            hidden: 16,
            learning_rate: 0.05,
            discount: 0.99,
        }
    }
}

/// The learned policy: the network's output is the log-odds of a push to the right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkPolicy {
    network: Network,
}

impl NetworkPolicy {
    fn probability_of_right(&self, state: State) -> f64 {
        1.0 / (1.0 + (-self.network.output(state.to_array())).exp())
    }
}

impl Policy for NetworkPolicy {
    fn act(&self, state: State) -> Action {
        if self.network.output(state.to_array()) > 0.0 { Action::Right } else { Action::Left }
    }
}

/// The learner and all of its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reinforce {
    config: Config,
    environment: Environment,
    policy: NetworkPolicy,
    optimiser: Adam,
    rng: Rng,
    history: History,
}

impl Reinforce {
    /// A learner that knows nothing yet; its weights and its exploration are drawn from `seed`.
    pub fn new(config: Config, environment: Environment, seed: u64) -> rle::Result<Self> {
        ensure!(config.hidden > 0, "`hidden` must be at least 1");
        ensure!(config.episodes_per_iteration > 0, "`episodes_per_iteration` must be at least 1");
        let mut rng = Rng::new(seed);
        let network = Network::new(config.hidden, &mut rng);
        let optimiser = Adam::new(&network);
        let policy = NetworkPolicy { network };
        Ok(Self { config, environment, policy, optimiser, rng, history: History::default() })
    }

    /// Plays the episodes of one update, each action drawn from the policy.
    #[rle::timed("rollout", metric)]
    fn rollout(&mut self) -> Vec<Trajectory> {
        let Self { environment, policy, rng, .. } = self;
        let mut explore = |state| {
            if rng.chance(policy.probability_of_right(state)) {
                Action::Right
            } else {
                Action::Left
            }
        };
        (0..self.config.episodes_per_iteration).map(|_| environment.episode(&mut explore)).collect()
    }

    /// Follows the policy gradient once; returns the loss, and the mean entropy of the policy in the
    /// states met, in nats.
    #[rle::timed("train", metric)]
    fn train(&mut self, episodes: &[Trajectory]) -> (f64, f64) {
        let advantages = self.advantages(episodes);
        let steps = episodes.iter().flat_map(|episode| &episode.steps);
        let scale = 1.0 / count(advantages.len());
        let mut gradient = vec![0.0; self.policy.network.len()];
        let (mut loss, mut entropy) = (0.0, 0.0);
        for (step, advantage) in steps.zip(&advantages) {
            let right = self.policy.probability_of_right(step.state);
            // With p the probability of right: d ln p / d log-odds = 1 - p, d ln (1 - p) = -p.
            let (likelihood, slope) = match step.action {
                Action::Right => (right, 1.0 - right),
                Action::Left => (1.0 - right, -right),
            };
            loss -= scale * advantage * likelihood.ln();
            entropy += scale * binary_entropy(right);
            let slope = -scale * advantage * slope;
            self.policy.network.add_gradient(step.state.to_array(), slope, &mut gradient);
        }
        let learning_rate =
            self.config.learning_rate * self.history.remaining(self.config.iterations);
        self.optimiser.descend(&mut self.policy.network, &gradient, learning_rate);
        (loss, entropy)
    }

    /// The discounted return from every step on, shifted and scaled to mean 0 and deviation 1:
    /// the mean over the batch is the baseline.
    fn advantages(&self, episodes: &[Trajectory]) -> Vec<f64> {
        let mut returns = Vec::new();
        for episode in episodes {
            let first = returns.len();
            let mut return_from_here = 0.0;
            for step in episode.steps.iter().rev() {
                return_from_here = step.reward + self.config.discount * return_from_here;
                returns.push(return_from_here);
            }
            returns[first..].reverse();
        }
        let baseline = mean(returns.iter().copied());
        let deviation = mean(returns.iter().map(|value| (value - baseline).powi(2))).sqrt();
        returns.iter().map(|value| (value - baseline) / (deviation + 1e-8)).collect()
    }
}

/// The entropy of a choice between two, in nats: 0 where it is certain.
fn binary_entropy(probability: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    term(probability) + term(1.0 - probability)
}

impl Learner for Reinforce {
    type Policy = NetworkPolicy;

    fn iterations(&self) -> u32 {
        self.config.iterations
    }

    fn iterate(&mut self) {
        let episodes = self.rollout();
        let (loss, entropy) = self.train(&episodes);
        for episode in &episodes {
            self.history.add_episode(episode);
        }
        self.history.end_iteration(&[("loss", loss), ("entropy", entropy)]);
    }

    fn policy(&self) -> &NetworkPolicy {
        &self.policy
    }

    fn history(&self) -> &History {
        &self.history
    }
}
