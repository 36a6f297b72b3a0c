//! The cart-pole as a task: random starts, whole episodes, and what a policy is worth.

use serde::{Deserialize, Serialize};

use crate::physics::{Action, CartPole, Constants, State};
use crate::rng::Rng;

/// Chooses what to do, always the same in the same state.
pub trait Policy {
    /// The action to take in `state`.
    fn act(&self, state: State) -> Action;
}

/// A cart-pole and the stream of random starts of its episodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Environment {
    cart_pole: CartPole,
    starts: Rng,
}

/// One step of an episode: what was seen, done and got.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The state in which the action was chosen.
    pub state: State,
    /// The action.
    pub action: Action,
    /// The reward that followed.
    pub reward: f64,
}

/// A whole episode.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// The state after the last step.
    pub last: State,
    /// Whether it ended in failure, not because time was up.
    pub terminated: bool,
}

impl Trajectory {
    /// The sum of its rewards.
    pub fn total_reward(&self) -> f64 {
        self.steps.iter().map(|step| step.reward).sum()
    }
}

impl Environment {
    /// An environment whose starts are drawn from `seed`.
    pub fn new(constants: Constants, seed: u64) -> Self {
        Self { cart_pole: CartPole::new(constants), starts: Rng::new(seed) }
    }

    /// Plays one episode from a random start near the upright centre.
    pub fn episode(&mut self, mut act: impl FnMut(State) -> Action) -> Trajectory {
        let mut state = State::from(std::array::from_fn(|_| self.starts.uniform(-0.05, 0.05)));
        let mut steps = Vec::new();
        self.cart_pole.start(state);
        loop {
            let action = act(state);
            let outcome = self.cart_pole.step(action);
            steps.push(Step { state, action, reward: outcome.reward });
            state = outcome.state;
            if outcome.terminated || outcome.truncated {
                return Trajectory { steps, last: state, terminated: outcome.terminated };
            }
        }
    }
}

/// The mean return of `policy` over `episodes` episodes, whose starts are drawn from `seed`.
#[rle::timed("evaluation")]
pub fn evaluate(policy: &impl Policy, constants: Constants, seed: u64, episodes: u32) -> f64 {
    let mut environment = Environment::new(constants, seed);
    let returns =
        (0..episodes).map(|_| environment.episode(|state| policy.act(state)).total_reward());
    returns.sum::<f64>() / f64::from(episodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes towards the side to which the pole leans or will lean in a moment.
    struct Balance;

    impl Policy for Balance {
        fn act(&self, state: State) -> Action {
            if state.angle + 0.5 * state.angular_velocity > 0.0 {
                Action::Right
            } else {
                Action::Left
            }
        }
    }

    #[test]
    fn an_episode_chains_its_states_and_counts_its_steps() {
        let constants = Constants::default();
        let episode = Environment::new(constants.clone(), 7).episode(|_| Action::Right);
        assert!(episode.terminated && constants.is_failure(episode.last));
        for pair in episode.steps.windows(2) {
            assert_eq!(constants.advance(pair[0].state, pair[0].action), pair[1].state);
        }
        assert!(episode.steps[0].state.to_array().iter().all(|number| number.abs() <= 0.05));
        assert_eq!(episode.total_reward().to_string(), episode.steps.len().to_string());
    }

    #[test]
    fn starts_follow_from_the_seed_and_differ_between_episodes() {
        let starts = |seed| {
            let mut environment = Environment::new(Constants::default(), seed);
            [(); 3].map(|()| environment.episode(|_| Action::Left).steps[0].state)
        };
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
        assert_ne!(starts(1)[0], starts(1)[1]);
    }

    #[test]
    fn evaluation_tells_a_good_policy_from_a_bad_one() {
        struct AlwaysLeft;
        impl Policy for AlwaysLeft {
            fn act(&self, _: State) -> Action {
                Action::Left
            }
        }
        assert!(evaluate(&Balance, Constants::default(), 3, 20) > 400.0);
        assert!(evaluate(&AlwaysLeft, Constants::default(), 3, 20) < 12.0);
    }
}
