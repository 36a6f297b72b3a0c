//! A suite whose steps tests can count, hold and kill.
//!
//! What begins and ends goes to the journal, one line each; a file `<step>.hold` among the gates
//! keeps a step from going on.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rle::prelude::*;
use rle::value::Value;

/// How long a step waits at its gate before it gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the shared prepare hands to its algorithms.
#[derive(Serialize, Deserialize)]
struct Ground {
    scale: u64,
}

/// Needs the shared prepare; tracks a file and a directory.
#[rle::algorithm]
fn alpha(ctx: &RunContext) -> rle::Result<RunResult> {
    let ground: Ground = ctx.prepared()?;
    step(ctx, |result| Ok(result.metric("ground", ground.scale)))
}

/// As alpha.
#[rle::algorithm]
fn beta(ctx: &RunContext) -> rle::Result<RunResult> {
    let ground: Ground = ctx.prepared()?;
    step(ctx, |result| Ok(result.metric("ground", ground.scale)))
}

/// Needs no prepare; tracks outputs outside its run's own directory too.
#[rle::algorithm]
fn gamma(ctx: &RunContext) -> rle::Result<RunResult> {
    step(ctx, |result| {
        let curve = ctx.algorithm_dir().join(format!("curve_{}.txt", ctx.run_idx()));
        let outside = directory("STEPS_OUTSIDE").join(format!("gamma_{}.txt", ctx.run_idx()));
        for (path, label) in [(&curve, "curve"), (&outside, "outside")] {
            fs::write(path, text_of(ctx, label))?;
        }
        Ok(result.artifact_path("curve", curve).artifact_path("outside", outside))
    })
}

/// Done once for alpha and beta.
#[rle::prepare(alpha, beta)]
fn groundwork(ctx: &PrepareContext) -> rle::Result<Ground> {
    note("begin", "groundwork")?;
    pass_gate("groundwork")?;
    let scale = scale(ctx.common_config());
    fs::write(ctx.artifact_path("ground.txt")?, format!("scale {scale}\n"))?;
    note("end", "groundwork")?;
    Ok(Ground { scale })
}

fn step(
    ctx: &RunContext,
    finish: impl FnOnce(RunResult) -> rle::Result<RunResult>,
) -> rle::Result<RunResult> {
    let slot = format!("{}-{}", ctx.slug(), ctx.run_idx());
    note("begin", &slot)?;
    pass_gate(&slot)?;
    let policy = ctx.artifact_path("policy.txt")?;
    fs::write(&policy, text_of(ctx, "policy"))?;
    work();
    for part in ["weights/a", "weights/b"] {
        fs::write(ctx.artifact_path(part)?, text_of(ctx, part))?;
    }
    work();
    let scale = scale(ctx.common_config());
    let mut result = RunResult::new().metric("scale", scale);
    let returns: Vec<u64> = (0..8).map(|at| ctx.stream_at("env", at) ^ scale).collect();
    result = result.metric("returns", returns).episode(Episode::default());
    let weights = policy.with_file_name("weights");
    let result = finish(result.artifact_path("policy", policy).artifact_path("weights", weights))?;
    note("end", &slot)?;
    Ok(result)
}

fn scale(common_config: &Value) -> u64 {
    common_config.get("scale").and_then(Value::as_u64).unwrap_or(0)
}

/// The content of an output: no two outputs of different requests or slots are alike.
fn text_of(ctx: &RunContext, label: &str) -> String {
    let scale = scale(ctx.common_config());
    format!("{}-{} {label} at scale {scale}\n", ctx.slug(), ctx.run_idx())
}

/// A moment's work: what a kill may fall into.
fn work() {
    let micros = env::var("STEPS_MICROS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    thread::sleep(Duration::from_micros(micros));
}

fn directory(variable: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// One write of one line: lines of several processes do not mix.
fn note(what: &str, step: &str) -> rle::Result<()> {
    let mut journal =
        OpenOptions::new().append(true).create(true).open(directory("STEPS_JOURNAL"))?;
    journal.write_all(format!("{what} {step} {}\n", process::id()).as_bytes())?;
    Ok(())
}

fn pass_gate(step: &str) -> rle::Result<()> {
    let gates = directory("STEPS_GATES");
    let hold = gates.join(format!("{step}.hold"));
    if !hold.exists() {
        return Ok(());
    }
    fs::write(gates.join(format!("{step}.{}.reached", process::id())), "")?;
    wait_until_gone(&hold)
}

fn wait_until_gone(hold: &Path) -> rle::Result<()> {
    let begun = Instant::now();
    while hold.exists() {
        if begun.elapsed() > PATIENCE {
            return Err(std::io::Error::other("the gate was never opened").into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("steps")
        .export_dir("export")
        .num_runs(2)
        .common("scale", 1)
        .source_dir(directory("STEPS_SOURCE"))
}
