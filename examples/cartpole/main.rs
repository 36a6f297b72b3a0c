//! Three ways to learn to balance a pole on a cart, and all that is needed to compare them.
//!
//! ```console
//! $ cargo run -- --num-runs 3 --run-numbers 1     # run 1 of each learner
//! $ cargo run -- --num-runs 3                     # the two others; run 1 is not computed again
//! $ cargo run -- --algorithms cem --set algorithm_configs.cem.population=80
//! ```

#![expect(unreachable_pub, reason = "within one program, `pub` says enough")]

mod cross_entropy;
mod environment;
mod learner;
mod network;
mod physics;
mod q_learning;
mod reinforce;
mod rng;

use std::fs;

use rle::prelude::*;

use cross_entropy::CrossEntropy;
use environment::{Environment, evaluate};
use learner::{History, Learner};
use physics::Constants;
use q_learning::QLearning;
use reinforce::Reinforce;

rle::stages! { rollout, train, evaluation }

/// Episodes that a learned policy is judged by.
const EVALUATION_EPISODES: u32 = 50;

/// Policy gradient with a small network.
#[rle::algorithm(name = "REINFORCE", flag = "run_reinforce")]
fn reinforce(ctx: &RunContext, config: reinforce::Config) -> rle::Result<RunResult> {
    learn(ctx, || Reinforce::new(config, environment(ctx)?, ctx.algorithm_stream("policy")))
}

/// The cross-entropy method: evolution of a linear policy.
#[rle::algorithm(name = "CEM", flag = "run_cem")]
fn cross_entropy(ctx: &RunContext, config: cross_entropy::Config) -> rle::Result<RunResult> {
    learn(ctx, || CrossEntropy::new(config, environment(ctx)?, ctx.algorithm_stream("policy")))
}

/// A table of action values on a state cut into cells.
#[rle::algorithm(name = "Q-Learning", flag = "run_q_learning")]
fn q_learning(ctx: &RunContext, config: q_learning::Config) -> rle::Result<RunResult> {
    learn(ctx, || Ok(QLearning::new(config, environment(ctx)?, ctx.algorithm_stream("policy"))))
}

/// How many checkpoints a run saves, where they are on.
const CHECKPOINTS: u32 = 10;

/// A checkpoint's payload: the whole learner.
const LEARNER_FILE: &str = "learner.json";

/// The cart-pole that the suite describes. All learners meet the same starts in the same order.
fn environment(ctx: &RunContext) -> rle::Result<Environment> {
    Ok(Environment::new(ctx.env_config_as()?, ctx.stream("env")))
}

/// Trains to the end, then judges the policy and saves it. A run that was stopped goes on from
/// its last checkpoint to the same result.
fn learn<L: Learner>(
    ctx: &RunContext,
    begin: impl FnOnce() -> rle::Result<L>,
) -> rle::Result<RunResult> {
    let checkpoint = ctx.checkpoint();
    let mut learner: L = match checkpoint.latest() {
        Some(latest) => serde_json::from_slice(&fs::read(latest.path(LEARNER_FILE)?)?)?,
        None => begin()?,
    };
    let save_every = (learner.iterations() / CHECKPOINTS).max(1);
    ctx.progress().set_total(learner.iterations().into());
    ctx.progress().set_position(learner.iteration().into());
    while learner.iteration() < learner.iterations() {
        learner.iterate();
        log(ctx, learner.history());
        ctx.epoch_end();
        ctx.progress().inc(1);
        ctx.progress().set_message(recent_return(learner.history()));
        let stop = ctx.should_stop();
        if checkpoint.enabled() && (stop || learner.iteration().is_multiple_of(save_every)) {
            checkpoint.write(LEARNER_FILE, serde_json::to_vec(&learner)?)?;
            checkpoint.save(learner.iteration())?;
        }
        if stop {
            return Ok(ctx.interrupted());
        }
    }

    let constants: Constants = ctx.env_config_as()?;
    let evaluation_return =
        evaluate(learner.policy(), constants, ctx.stream("evaluation"), EVALUATION_EPISODES);
    let steps = learner.history().global_step.last().copied().unwrap_or_default();
    ctx.log("evaluation_return", evaluation_return, steps);
    let policy = ctx.artifact_path("policy.json")?;
    fs::write(&policy, serde_json::to_vec(learner.policy())?)?;

    let history = learner.history();
    let mut result = RunResult::new()
        .metric("global_step", &history.global_step)
        .metric("return_mean", &history.return_mean)
        .metric("evaluation_return", evaluation_return)
        .episodes(episodes(history))
        .artifact_path("policy", policy);
    for (name, curve) in &history.curves {
        result = result.metric(name, curve);
    }
    Ok(result)
}

/// Logs the iteration that has just ended, over the environment steps taken.
fn log(ctx: &RunContext, history: &History) {
    let Some(&step) = history.global_step.last() else { return };
    let curves = history.curves.iter().map(|(name, curve)| (name.as_str(), curve));
    for (name, curve) in curves.chain([("return_mean", &history.return_mean)]) {
        if let Some(&value) = curve.last() {
            ctx.log(name, value, step);
        }
    }
}

fn recent_return(history: &History) -> String {
    let last = history.return_mean.last().copied().unwrap_or_default();
    format!("return {last:.0}")
}

/// The episodes of training as rows of the record.
fn episodes(history: &History) -> impl Iterator<Item = Episode> {
    (0..).zip(&history.episodes).map(|(episode, row)| Episode {
        episode,
        start_step: row.start_step,
        t_end: row.start_step + row.length,
        ep_len: row.length,
        cum_reward: row.total_reward,
        agent_returns: [("agent_0".to_owned(), row.total_reward)].into(),
        ..Episode::default()
    })
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("cartpole")
        .export_dir("exports/cartpole")
        .num_runs(3)
        .env_config(Constants::default())
        .flag("run_reinforce", true)
        .flag("run_cem", true)
        .flag("run_q_learning", true)
}
