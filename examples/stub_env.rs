//! The template of an experiment: three placeholder algorithms on a placeholder environment.
//!
//! Copy it, replace the stubs by trainers one at a time, and keep what is around them.
//!
//! ```console
//! $ cargo run --bin stub_env -- --num-runs 3
//! $ cargo run --bin stub_env -- --num-runs 3 --run-icpo false
//! ```

use rle::prelude::*;

rle::stages! { rollout, train }

/// Settings of the environment: they describe the request, and so are part of every run's identity.
#[derive(Serialize)]
struct Environment {
    map: String,
    num_agents: u64,
    horizon: u64,
}

/// Settings of the placeholder trainers.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stub {
    lr: f64,
    updates: u64,
    steps_per_update: u64,
}

impl Default for Stub {
    fn default() -> Self {
        Self { lr: 3e-4, updates: 50, steps_per_update: 64 }
    }
}

/// What a prepare hands to every run of its algorithms.
#[derive(Serialize, Deserialize)]
struct Limits {
    violations_per_episode: f64,
}

/// Independent PPO, a placeholder.
#[rle::algorithm(name = "IPPO", flag = "run_ippo")]
fn ippo(ctx: &RunContext, config: Stub) -> rle::Result<RunResult> {
    train(ctx, &config, None)
}

/// IPPO with a Lagrange multiplier, a placeholder.
#[rle::algorithm(name = "IPPO-Lagrangian", flag = "run_ippo_lag")]
fn ippo_lagrangian(ctx: &RunContext, config: Stub) -> rle::Result<RunResult> {
    let limits: Limits = ctx.prepared()?;
    train(ctx, &config, Some(limits.violations_per_episode))
}

/// Constrained policy optimisation, a placeholder.
#[rle::algorithm(name = "ICPO", flag = "run_icpo")]
fn icpo(ctx: &RunContext, config: Stub) -> rle::Result<RunResult> {
    let limits: Limits = ctx.prepared()?;
    train(ctx, &config, Some(limits.violations_per_episode))
}

/// Work that the constrained algorithms share, done once before their first run.
#[rle::prepare(ippo_lagrangian, icpo)]
fn estimate_limits(ctx: &PrepareContext) -> rle::Result<Limits> {
    let limits = Limits { violations_per_episode: 0.1 };
    std::fs::write(ctx.artifact_path("limits.txt")?, "0.1 violations per episode\n")?;
    Ok(limits)
}

fn train(ctx: &RunContext, config: &Stub, limit: Option<f64>) -> rle::Result<RunResult> {
    ctx.progress().set_total(config.updates);
    let mut rewards = Vec::new();
    let mut result = RunResult::new();
    for update in 0..config.updates {
        let reward = rollout(ctx.stream_at("env", update));
        let reward = learn(reward, update, config.updates);
        rewards.push(reward);
        result = result.episode(Episode {
            episode: update,
            start_step: update * config.steps_per_update,
            t_end: (update + 1) * config.steps_per_update,
            ep_len: config.steps_per_update,
            cum_reward: reward,
            cum_violations: limit.unwrap_or(0.0),
            agent_returns: [("agent_0".to_owned(), reward)].into(),
            ..Episode::default()
        });
        ctx.progress().inc(1);
        ctx.epoch_end();
    }
    let policy = ctx.artifact_path("policy.txt")?;
    std::fs::write(&policy, format!("{} with lr {}\n", ctx.name(), config.lr))?;
    Ok(result
        .metric("reward_mean", &rewards)
        .metric("final_reward", rewards.last())
        .artifact_path("policy", policy))
}

/// A number from 0 to 1 in place of an episode.
#[rle::timed("rollout")]
#[expect(clippy::cast_precision_loss, reason = "noise needs no precision")]
fn rollout(seed: u64) -> f64 {
    (seed >> 11) as f64 / (1_u64 << 53) as f64
}

/// A curve that rises in place of an optimiser.
#[rle::timed("train")]
#[expect(clippy::cast_precision_loss, reason = "counts of updates are small")]
fn learn(noise: f64, update: u64, updates: u64) -> f64 {
    ((update + 1) as f64 / updates as f64).sqrt() + 0.1 * noise
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("stub_env")
        .export_dir("exports/stub_env")
        .env_config(Environment { map: "my_map".to_owned(), num_agents: 4, horizon: 500 })
        .flag("run_ippo", true)
        .flag("run_ippo_lag", true)
        .flag("run_icpo", true)
}
