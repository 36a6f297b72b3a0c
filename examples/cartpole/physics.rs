//! The classic cart-pole of Barto, Sutton and Anderson (1983), as in Gymnasium's `CartPole-v1`.
//!
//! A pole is hinged on a cart that is pushed left or right, with full force, at every step. The
//! episode ends when the pole leans too far, the cart leaves the track, or time is up. Nothing here
//! is random: where an episode starts is the caller's choice.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// What the cart-pole is made of, in SI units. The default is `CartPole-v1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constants {
    /// Acceleration of gravity, m/s².
    pub gravity: f64,
    /// Mass of the cart, kg.
    pub cart_mass: f64,
    /// Mass of the pole, kg.
    pub pole_mass: f64,
    /// Half the length of the pole, m: the distance from its hinge to its centre of mass.
    pub half_length: f64,
    /// Force of one push, N.
    pub force: f64,
    /// Time between two pushes, s.
    pub time_step: f64,
    /// The episode ends when the cart is farther than this from the centre, m.
    pub max_position: f64,
    /// The episode ends when the pole leans farther than this, rad.
    pub max_angle: f64,
    /// The episode is cut off after this many steps.
    pub max_steps: u32,
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            gravity: 9.8,
            cart_mass: 1.0,
            pole_mass: 0.1,
            half_length: 0.5,
            force: 10.0,
            time_step: 0.02,
            max_position: 2.4,
            max_angle: 12.0 * 2.0 * PI / 360.0,
            max_steps: 500,
        }
    }
}

/// Where the cart and the pole are, and how fast they move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Position of the cart, m, from the centre of the track.
    pub position: f64,
    /// Velocity of the cart, m/s.
    pub velocity: f64,
    /// Angle of the pole, rad, from upright; positive to the right.
    pub angle: f64,
    /// Angular velocity of the pole, rad/s.
    pub angular_velocity: f64,
}

impl State {
    /// The four numbers in Gymnasium's order.
    pub fn to_array(self) -> [f64; 4] {
        [self.position, self.velocity, self.angle, self.angular_velocity]
    }
}

impl From<[f64; 4]> for State {
    fn from([position, velocity, angle, angular_velocity]: [f64; 4]) -> Self {
        Self { position, velocity, angle, angular_velocity }
    }
}

/// A push of the cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Push to the left (Gymnasium's 0).
    Left,
    /// Push to the right (Gymnasium's 1).
    Right,
}

/// What one step led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The state after the step.
    pub state: State,
    /// 1 for every step, the one that fails included.
    pub reward: f64,
    /// The pole fell or the cart left the track.
    pub terminated: bool,
    /// Time is up.
    pub truncated: bool,
}

/// A cart-pole in motion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CartPole {
    /// Where it is now.
    pub state: State,
    constants: Constants,
    steps: u32,
}

impl CartPole {
    /// A cart-pole at rest in the centre, upright.
    pub fn new(constants: Constants) -> Self {
        Self { constants, state: State::default(), steps: 0 }
    }

    /// Begins an episode at `state`.
    pub fn start(&mut self, state: State) {
        self.state = state;
        self.steps = 0;
    }

    /// Pushes once and lets one time step pass.
    pub fn step(&mut self, action: Action) -> Outcome {
        self.state = self.constants.advance(self.state, action);
        self.steps += 1;
        Outcome {
            state: self.state,
            reward: 1.0,
            terminated: self.constants.is_failure(self.state),
            truncated: self.steps >= self.constants.max_steps,
        }
    }
}

impl Constants {
    /// The state one time step after `state`: explicit Euler, all four numbers from the old state.
    ///
    /// Terms stand in Gymnasium's order, so that both round alike.
    pub fn advance(&self, state: State, action: Action) -> State {
        let force = match action {
            Action::Left => -self.force,
            Action::Right => self.force,
        };
        let State { position, velocity, angle, angular_velocity } = state;
        let (sin, cos) = (angle.sin(), angle.cos());
        let total_mass = self.pole_mass + self.cart_mass;
        let pole_moment = self.pole_mass * self.half_length;

        let push = (force + pole_moment * (angular_velocity * angular_velocity) * sin) / total_mass;
        let angular_acceleration = (self.gravity * sin - cos * push)
            / (self.half_length * (4.0 / 3.0 - self.pole_mass * (cos * cos) / total_mass));
        let acceleration = push - pole_moment * angular_acceleration * cos / total_mass;

        State {
            position: position + self.time_step * velocity,
            velocity: velocity + self.time_step * acceleration,
            angle: angle + self.time_step * angular_velocity,
            angular_velocity: angular_velocity + self.time_step * angular_acceleration,
        }
    }

    /// Whether the pole leans too far or the cart has left the track.
    pub fn is_failure(&self, state: State) -> bool {
        state.position.abs() > self.max_position || state.angle.abs() > self.max_angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push_right_until_over(constants: Constants) -> (u32, Outcome) {
        let mut cart_pole = CartPole::new(constants);
        for step in 1.. {
            let outcome = cart_pole.step(Action::Right);
            if outcome.terminated || outcome.truncated {
                return (step, outcome);
            }
        }
        unreachable!("every episode ends");
    }

    #[test]
    fn a_push_moves_the_cart_and_tips_the_pole_the_other_way() {
        let state = Constants::default().advance(State::default(), Action::Right);
        assert_eq!((state.position, state.angle), (0.0, 0.0), "Euler moves with the old velocity");
        assert!((state.velocity - 0.195_121_951_219_512_2).abs() < 1e-15);
        assert!((state.angular_velocity + 0.292_682_926_829_268_3).abs() < 1e-15);
    }

    #[test]
    fn left_mirrors_right() {
        let state = State::from([0.3, -0.2, 0.1, 0.4]);
        let mirrored = State::from([-0.3, 0.2, -0.1, -0.4]);
        let constants = Constants::default();
        let State { position, velocity, angle, angular_velocity } =
            constants.advance(state, Action::Right);
        let negated = State::from([-position, -velocity, -angle, -angular_velocity]);
        assert_eq!(negated, constants.advance(mirrored, Action::Left));
    }

    #[test]
    fn a_constant_push_fails_by_the_angle() {
        let (steps, outcome) = push_right_until_over(Constants::default());
        assert!(outcome.terminated && !outcome.truncated);
        assert!(outcome.state.angle < -Constants::default().max_angle);
        assert_eq!(steps, 9);
    }

    #[test]
    fn the_limits_themselves_are_still_inside() {
        let constants = Constants::default();
        let at =
            |position, angle| constants.is_failure(State { position, angle, ..State::default() });
        assert!(!at(2.4, constants.max_angle) && !at(-2.4, -constants.max_angle));
        assert!(at(2.400_000_1, 0.0) && at(-2.400_000_1, 0.0));
        assert!(at(0.0, constants.max_angle + 1e-9) && at(0.0, -constants.max_angle - 1e-9));
    }

    #[test]
    fn time_runs_out_at_max_steps_and_starts_again_with_the_episode() {
        let constants = Constants { max_steps: 4, ..Constants::default() };
        let (steps, outcome) = push_right_until_over(constants.clone());
        assert!(outcome.truncated && !outcome.terminated);
        assert_eq!(steps, 4);

        let mut cart_pole = CartPole::new(constants);
        for _ in 0..4 {
            cart_pole.step(Action::Left);
        }
        cart_pole.start(State::default());
        assert!(!cart_pole.step(Action::Left).truncated);
    }
}
