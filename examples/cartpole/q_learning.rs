//! Q-learning (Watkins, 1989) with a table, on a state cut into cells.

use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Policy, Trajectory};
use crate::learner::{History, Learner, count};
use crate::physics::{Action, State};
use crate::rng::Rng;

/// How to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Episodes of training, each followed by one pass of learning over its steps.
    pub episodes: u32,
    /// Step size at the start; it falls linearly to `final_learning_rate`.
    pub learning_rate: f64,
    /// Step size at the end.
    pub final_learning_rate: f64,
    /// Probability of a random action at the start; it falls linearly to zero.
    pub exploration: f64,
    /// How much a reward one step later counts.
    pub discount: f64,
    /// The state is cut into cells at these positions (m) and at their mirror images.
    pub positions: Vec<f64>,
    /// The same for the velocity, m/s.
    pub velocities: Vec<f64>,
    /// The same for the angle, rad.
    pub angles: Vec<f64>,
    /// The same for the angular velocity, rad/s.
    pub angular_velocities: Vec<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            episodes: 3000,
            learning_rate: 0.6,
            final_learning_rate: 0.1,
            exploration: 0.3,
            discount: 0.99,
            positions: vec![0.8],
            velocities: vec![0.5],
            angles: vec![0.0, 0.02],
            angular_velocities: vec![0.3, 0.9],
        }
    }
}

/// The value of both actions in every cell; the policy takes the better one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Where each of the four numbers of the state is cut, in rising order.
    cuts: [Vec<f64>; 4],
    /// Values of a push to the left and to the right.
    values: Vec<[f64; 2]>,
}

impl Table {
    fn new(config: &Config) -> Self {
        let halves =
            [&config.positions, &config.velocities, &config.angles, &config.angular_velocities];
        let cuts = halves.map(|half| {
            let mut cuts: Vec<f64> = half.iter().flat_map(|&cut| [-cut, cut]).collect();
            cuts.sort_by(f64::total_cmp);
            cuts.dedup();
            cuts
        });
        let cells = cuts.iter().map(|cuts| cuts.len() + 1).product();
        Self { cuts, values: vec![[0.0; 2]; cells] }
    }

    fn cell(&self, state: State) -> usize {
        self.cuts.iter().zip(state.to_array()).fold(0, |cell, (cuts, number)| {
            cell * (cuts.len() + 1) + cuts.partition_point(|&cut| cut < number)
        })
    }

    /// The value of the better action.
    fn value(&self, state: State) -> f64 {
        let [left, right] = self.values[self.cell(state)];
        left.max(right)
    }
}

impl Policy for Table {
    fn act(&self, state: State) -> Action {
        let [left, right] = self.values[self.cell(state)];
        if right > left { Action::Right } else { Action::Left }
    }
}

/// The learner and all of its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QLearning {
    config: Config,
    environment: Environment,
    table: Table,
    rng: Rng,
    history: History,
}

impl QLearning {
    /// A learner that knows nothing yet; its exploration is drawn from `seed`.
    pub fn new(config: Config, environment: Environment, seed: u64) -> Self {
        let table = Table::new(&config);
        Self { config, environment, table, rng: Rng::new(seed), history: History::default() }
    }

    /// Plays an episode: mostly what seems best, now and then anything.
    #[rle::timed("rollout", metric)]
    fn rollout(&mut self) -> Trajectory {
        let exploration = self.config.exploration * self.history.remaining(self.config.episodes);
        let Self { environment, table, rng, .. } = self;
        environment.episode(|state| {
            if rng.chance(exploration) {
                if rng.chance(0.5) { Action::Left } else { Action::Right }
            } else {
                table.act(state)
            }
        })
    }

    /// Learns from an episode, last step first, so that what its end was worth reaches all of it.
    ///
    /// Returns the mean square of the temporal-difference errors.
    #[rle::timed("train", metric)]
    fn train(&mut self, episode: &Trajectory) -> f64 {
        let Config { learning_rate, final_learning_rate, discount, .. } = self.config;
        let remaining = self.history.remaining(self.config.episodes);
        let step_size = final_learning_rate + (learning_rate - final_learning_rate) * remaining;
        let mut next = if episode.terminated { 0.0 } else { self.table.value(episode.last) };
        let mut squares = 0.0;
        for step in episode.steps.iter().rev() {
            let cell = self.table.cell(step.state);
            let value = &mut self.table.values[cell][step.action as usize];
            let error = step.reward + discount * next - *value;
            *value += step_size * error;
            squares += error * error;
            next = self.table.value(step.state);
        }
        squares / count(episode.steps.len())
    }
}

impl Learner for QLearning {
    type Policy = Table;

    fn iterations(&self) -> u32 {
        self.config.episodes
    }

    fn iterate(&mut self) {
        let episode = self.rollout();
        let loss = self.train(&episode);
        self.history.add_episode(&episode);
        self.history.end_iteration(&[("loss", loss)]);
    }

    fn policy(&self) -> &Table {
        &self.table
    }

    fn history(&self) -> &History {
        &self.history
    }
}
