//! What the three learners have in common: small steps, saved whole, and a history.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::environment::{Policy, Trajectory};

/// A learner holds all that its next step depends on: weights, optimiser, random numbers,
/// environment, counters and history. Saved between two steps and loaded again, it goes on to
/// the same result, bit for bit.
pub trait Learner: Serialize + DeserializeOwned {
    /// What is learned.
    type Policy: Policy + Serialize;

    /// The number of steps of a whole training run.
    fn iterations(&self) -> u32;

    /// Takes one step: plays some episodes and learns from them.
    fn iterate(&mut self);

    /// The policy as learned so far, without exploration.
    fn policy(&self) -> &Self::Policy;

    /// What happened so far.
    fn history(&self) -> &History;
}

/// What happened in training: one number of every curve an iteration, one row an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Environment steps taken by the end of each iteration.
    pub global_step: Vec<u64>,
    /// Mean return of the episodes of each iteration.
    pub return_mean: Vec<f64>,
    /// The learner's own curves, as long as the two above.
    pub curves: BTreeMap<String, Vec<f64>>,
    /// Every episode played.
    pub episodes: Vec<EpisodeRow>,
    steps: u64,
    episodes_before: usize,
}

/// One episode of training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRow {
    /// Environment steps taken in training before it began.
    pub start_step: u64,
    /// Its number of steps.
    pub length: u64,
    /// The sum of its rewards.
    pub total_reward: f64,
}

impl History {
    /// The share of a training run of `iterations` that is still to come, from 1 down to 0.
    pub fn remaining(&self, iterations: u32) -> f64 {
        1.0 - count(self.global_step.len()) / f64::from(iterations)
    }

    /// Adds an episode to the iteration under way.
    pub fn add_episode(&mut self, episode: &Trajectory) {
        let length = episode.steps.len() as u64;
        let total_reward = episode.total_reward();
        self.episodes.push(EpisodeRow { start_step: self.steps, length, total_reward });
        self.steps += length;
    }

    /// Ends the iteration under way, with its values of the learner's own curves.
    pub fn end_iteration(&mut self, values: &[(&str, f64)]) {
        let returns = self.episodes[self.episodes_before..].iter().map(|row| row.total_reward);
        self.return_mean.push(mean(returns));
        self.global_step.push(self.steps);
        self.episodes_before = self.episodes.len();
        for &(name, value) in values {
            self.curves.entry(name.to_owned()).or_default().push(value);
        }
    }
}

/// The mean of some numbers, at least one.
pub fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let divisor = count(numbers.len());
    numbers.sum::<f64>() / divisor
}

/// A count to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2⁵³")]
pub fn count(things: usize) -> f64 {
    things as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross_entropy::CrossEntropy;
    use crate::environment::{Environment, evaluate};
    use crate::physics::Constants;
    use crate::q_learning::QLearning;
    use crate::reinforce::Reinforce;

    fn environment() -> Environment {
        Environment::new(Constants::default(), 11)
    }

    fn reinforce(seed: u64) -> Reinforce {
        Reinforce::new(crate::reinforce::Config::default(), environment(), seed).unwrap()
    }

    fn cross_entropy(seed: u64) -> CrossEntropy {
        CrossEntropy::new(crate::cross_entropy::Config::default(), environment(), seed).unwrap()
    }

    fn q_learning(seed: u64) -> QLearning {
        QLearning::new(crate::q_learning::Config::default(), environment(), seed)
    }

    fn text(state: &impl Serialize) -> String {
        serde_json::to_string(state).unwrap()
    }

    fn after<L: Learner>(mut learner: L, iterations: u32) -> L {
        (0..iterations).for_each(|_| learner.iterate());
        learner
    }

    fn repeats_itself_from_the_seed<L: Learner>(new: fn(u64) -> L) {
        assert_eq!(text(&after(new(1), 6)), text(&after(new(1), 6)));
        assert_ne!(text(&after(new(1), 6)), text(&after(new(2), 6)));
    }

    fn goes_on_from_a_saved_state_as_if_unbroken<L: Learner>(new: fn(u64) -> L) {
        for split in [0, 1, 7] {
            let saved = text(&after(new(3), split));
            let restored: L = serde_json::from_str(&saved).unwrap();
            assert_eq!(text(&restored), saved);
            assert_eq!(text(&after(restored, 12 - split)), text(&after(new(3), 12)));
        }
    }

    fn learns_to_balance<L: Learner>(new: fn(u64) -> L) {
        let value = |learner: &L| evaluate(learner.policy(), Constants::default(), 5, 50);
        let learner = new(4);
        assert!(value(&learner) < 50.0);
        let iterations = learner.iterations();
        let learner = after(learner, iterations);
        assert!(value(&learner) >= 400.0, "{}", value(&learner));

        let history = learner.history();
        let length = iterations as usize;
        assert_eq!((history.global_step.len(), history.return_mean.len()), (length, length));
        assert!(history.curves.values().all(|curve| curve.len() == length));
        let steps: u64 = history.episodes.iter().map(|row| row.length).sum();
        assert_eq!(history.global_step.last(), Some(&steps));
    }

    #[test]
    fn learners_repeat_themselves_from_the_seed() {
        repeats_itself_from_the_seed(reinforce);
        repeats_itself_from_the_seed(cross_entropy);
        repeats_itself_from_the_seed(q_learning);
    }

    #[test]
    fn learners_go_on_from_a_saved_state_as_if_unbroken() {
        goes_on_from_a_saved_state_as_if_unbroken(reinforce);
        goes_on_from_a_saved_state_as_if_unbroken(cross_entropy);
        goes_on_from_a_saved_state_as_if_unbroken(q_learning);
    }

    #[test]
    fn reinforce_learns_to_balance() {
        learns_to_balance(reinforce);
    }

    #[test]
    fn cross_entropy_learns_to_balance() {
        learns_to_balance(cross_entropy);
    }

    #[test]
    fn q_learning_learns_to_balance() {
        learns_to_balance(q_learning);
    }

    #[test]
    fn history_keeps_rows_and_curves_in_step() {
        let mut history = History::default();
        let mut environment = environment();
        for _ in 0..2 {
            let episodes = [(); 3].map(|()| environment.episode(|_| crate::physics::Action::Left));
            for episode in &episodes {
                history.add_episode(episode);
            }
            history.end_iteration(&[("loss", 0.5)]);
        }
        let rows = &history.episodes;
        assert!(
            rows.windows(2).all(|pair| pair[1].start_step == pair[0].start_step + pair[0].length)
        );
        let second = rows[3..].iter().map(|row| row.total_reward);
        assert!((history.return_mean[1] - mean(second)).abs() < 1e-12);
        assert_eq!(history.curves["loss"], [0.5, 0.5]);
        assert!((history.remaining(8) - 0.75).abs() < 1e-12);
    }
}
