//! The cart-pole of the examples moves like that of Gymnasium.
//!
//! Runs `RLE_PYTHON` (`python3`). Without the package `gymnasium` the test is skipped, unless
//! `RLE_REQUIRE_PEERS=1` asks for it.

#[allow(dead_code, unreachable_pub, reason = "the file belongs to a program that uses all of it")]
#[path = "../examples/cartpole/physics.rs"]
mod physics;

use std::env;
use std::process::Command;

use physics::{Action, CartPole, Constants, Outcome, State};
use serde::Deserialize;

const TOLERANCE: f64 = 1e-12;

#[derive(Deserialize)]
struct Peer {
    /// Episodes of random actions.
    drawn: Vec<Episode>,
    /// One that lasts until time is up.
    balanced: Episode,
}

#[derive(Deserialize)]
struct Episode {
    states: Vec<[f64; 4]>,
    actions: Vec<u8>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
}

impl Episode {
    fn action(&self, step: usize) -> Action {
        if self.actions[step] == 1 { Action::Right } else { Action::Left }
    }

    fn assert_step(&self, step: usize, outcome: Outcome) {
        let expected = self.states[step + 1];
        let numbers = outcome.state.to_array();
        let close = |(one, other): (&f64, &f64)| (one - other).abs() <= TOLERANCE;
        assert!(
            numbers.iter().zip(&expected).all(close),
            "step {step} from {:?}: {numbers:?}, Gymnasium {expected:?}",
            self.states[0]
        );
        assert_eq!(
            (outcome.terminated, outcome.truncated),
            (self.terminated[step], self.truncated[step]),
            "terminated and truncated at step {step} from {:?}",
            self.states[0]
        );
    }
}

/// What Gymnasium does, or `None` where it is not installed and need not be.
fn peer() -> Option<Peer> {
    let python = env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python).args(["-c", "import gymnasium"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        let required = env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "`{python}` cannot import gymnasium, and RLE_REQUIRE_PEERS is 1");
        eprintln!("skipped: `{python}` cannot import gymnasium");
        return None;
    }
    let output = Command::new(&python)
        .args(["-c", include_str!("fixtures/gymnasium_cartpole.py")])
        .output()
        .expect("the python that has just run can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("the script prints episodes"))
}

#[test]
fn cart_pole_moves_like_gymnasium() {
    let Some(peer) = peer() else { return };
    let mut cart_pole = CartPole::new(Constants::default());

    for episode in &peer.drawn {
        cart_pole.start(State::from(episode.states[0]));
        for step in 0..episode.actions.len() {
            episode.assert_step(step, cart_pole.step(episode.action(step)));
        }
    }
    assert_eq!(peer.drawn.iter().map(|episode| episode.actions.len()).sum::<usize>(), 5_000);
    let ended_by = |index: usize, limit: f64| {
        peer.drawn.iter().any(|episode| {
            episode.terminated.last() == Some(&true)
                && episode.states.last().is_some_and(|state| state[index].abs() > limit)
        })
    };
    assert!(ended_by(0, 2.4), "no episode left the track");
    assert!(ended_by(2, Constants::default().max_angle), "no pole fell");

    // An upright pole multiplies a difference in the last digit by e^39 in ten seconds, and the
    // sine is not rounded alike everywhere: here every step begins where Gymnasium's does.
    let episode = &peer.balanced;
    cart_pole.start(State::from(episode.states[0]));
    for step in 0..episode.actions.len() {
        cart_pole.state = State::from(episode.states[step]);
        episode.assert_step(step, cart_pole.step(episode.action(step)));
    }
    assert_eq!(episode.actions.len(), 500);
    assert_eq!(episode.truncated.last(), Some(&true));
}
