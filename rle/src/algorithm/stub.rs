//! Placeholders for trainers: the wiring of a project before its algorithms exist.

use serde::{Deserialize, Serialize};

use crate::algorithm::AlgorithmSpec;
use crate::run::{Episode, PrepareContext, RunContext, RunResult};

/// Updates of a stub where the suite sets no `progress_total`.
const DEFAULT_UPDATES: u64 = 20;

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StubConfig {
    lr: f64,
    num_steps: u64,
}

impl Default for StubConfig {
    fn default() -> Self {
        Self { lr: 3e-4, num_steps: 64 }
    }
}

#[derive(Serialize, Deserialize)]
struct Constraint {
    limit: f64,
}

/// Three cheap placeholders, IPPO, IPPO-Lagrangian and ICPO, on the flags `run_ippo`,
/// `run_ippo_lag` and `run_icpo`.
///
/// They train nothing: they write small metrics and one output, and move the progress. The two
/// constrained ones have a prepare.
#[must_use]
pub fn stub_algorithms() -> Vec<AlgorithmSpec> {
    vec![
        AlgorithmSpec::with_config("IPPO", |ctx, config| stub(ctx, config, None)).flag("run_ippo"),
        AlgorithmSpec::with_config("IPPO-Lagrangian", constrained)
            .flag("run_ippo_lag")
            .prepare("prepare_ippo_lagrangian", prepare_constraint),
        AlgorithmSpec::with_config("ICPO", constrained)
            .flag("run_icpo")
            .prepare("prepare_icpo", prepare_constraint),
    ]
}

fn prepare_constraint(ctx: &PrepareContext) -> crate::Result<Constraint> {
    let constraint = Constraint { limit: 0.1 };
    std::fs::write(ctx.artifact_path("constraint.json")?, format!("{}\n", constraint.limit))?;
    Ok(constraint)
}

fn constrained(ctx: &RunContext, config: StubConfig) -> crate::Result<RunResult> {
    let constraint: Constraint = ctx.prepared()?;
    stub(ctx, config, Some(constraint.limit))
}

fn stub(ctx: &RunContext, config: StubConfig, limit: Option<f64>) -> crate::Result<RunResult> {
    let updates = ctx.common_config().get("progress_total").and_then(crate::value::Value::as_u64);
    let updates = updates.unwrap_or(DEFAULT_UPDATES);
    ctx.progress().set_total(updates);
    let noise = ctx.algorithm_stream("stub");
    let mut rewards = Vec::new();
    let mut result = RunResult::new();
    for update in 1..=updates {
        // A curve that rises with a little noise of the seed's.
        let wobble = f64::from(u32::try_from((noise >> (update % 32)) & 0xff)?) / 2560.0;
        let progress = f64::from(u32::try_from(update)?) / f64::from(u32::try_from(updates)?);
        let reward = progress.sqrt() + wobble;
        rewards.push(reward);
        result = result.episode(Episode {
            episode: update,
            start_step: (update - 1) * config.num_steps,
            t_end: update * config.num_steps,
            ep_len: config.num_steps,
            cum_reward: reward,
            cum_violations: limit.unwrap_or(0.0),
            agent_returns: [("agent_0".to_owned(), reward)].into(),
            ..Episode::default()
        });
        ctx.progress().inc(1);
    }
    let policy = ctx.artifact_path("policy.txt")?;
    std::fs::write(&policy, format!("{} {}\n", ctx.slug(), config.lr))?;
    Ok(result
        .metric("reward_mean", &rewards)
        .metric("final_reward", rewards.last())
        .artifact("trainer", "stub")
        .artifact_path("policy", policy))
}
