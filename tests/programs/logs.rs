//! The program of the tests of logging: a learner that logs, saves, and ends as asked.
//!
//! `LOGS_DIE` and `LOGS_ABORT` name a step after which the process dies, the first once all before
//! is in the files, `LOGS_FAIL` one after which the run fails, `LOGS_TERM` and `LOGS_STOP` one after
//! which the process is told to end, the second a run that asks for it. None is part of a request.

use std::env;
use std::process::{self, Command};
use std::thread;

use anyhow::bail;
use rle::metrics::{Backend, LogMode};
use rle::prelude::*;

rle::stages! { climb }

/// What to log.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Climb {
    steps: u64,
    /// Steps between two checkpoints.
    save_every: u64,
    act: String,
}

impl Default for Climb {
    fn default() -> Self {
        Self { steps: 10, save_every: 4, act: String::new() }
    }
}

/// Logs its height at every step.
#[rle::algorithm(name = "Climber", flag = "run_climber")]
fn climber(ctx: &RunContext, config: Climb) -> rle::Result<RunResult> {
    if config.act == "nothing" {
        return Ok(RunResult::new());
    }
    let checkpoint = ctx.checkpoint();
    let first = match checkpoint.latest() {
        Some(latest) => latest.metadata_as()?,
        None => 0,
    };
    if first == 0 {
        ctx.log("warm_up", 1, 0);
    }
    for step in first..config.steps {
        log_step(ctx, step);
        if (step + 1).is_multiple_of(config.save_every) {
            checkpoint.save(step + 1)?;
            if ctx.should_stop() {
                return Ok(ctx.interrupted());
            }
        }
        let asked = |name| env::var(name).is_ok_and(|at| at == step.to_string());
        if asked("LOGS_ABORT") {
            process::abort();
        }
        if asked("LOGS_DIE") {
            ctx.logger().flush();
            process::abort();
        }
        if asked("LOGS_TERM") {
            terminate(process::id())?;
            // It never asks whether it shall stop, and is ended.
            loop {
                thread::park();
            }
        }
        if asked("LOGS_STOP") {
            terminate(process::id())?;
            while !ctx.should_stop() {
                thread::yield_now();
            }
        }
        if asked("LOGS_FAIL") {
            bail!("the rope broke at {step}");
        }
    }
    let result = RunResult::new();
    Ok(match config.act.as_str() {
        "own" => result.metric("height", "my own").metric("other", 1),
        "odd" => {
            log_odd(ctx);
            result
        }
        "many" => {
            (0..10_000_u32).for_each(|tag| ctx.log(format!("tag/{tag}"), tag, 1_000));
            result
        }
        _ => result,
    })
}

fn terminate(pid: u32) -> rle::Result<()> {
    Command::new("kill").args(["-TERM", &pid.to_string()]).status()?;
    Ok(())
}

#[rle::timed("climb", metric)]
fn log_step(ctx: &RunContext, step: u64) {
    ctx.log("height", step, step);
    // Code below knows of no context, nor on which thread it is.
    let below = move || rle::log_metric("from/below", step.is_multiple_of(2), step);
    thread::spawn(below).join().expect("logging does not panic");
}

/// What is not well formed, changes its kind, repeats or goes back.
fn log_odd(ctx: &RunContext) {
    let long = "x".repeat(1_000);
    for name in ["two words", "a/b:c", "🧗", &long, ""] {
        ctx.log(name, 1.5_f32, 20);
    }
    ctx.log_many(&[("nan", f64::NAN), ("infinity", f64::NEG_INFINITY)], 21_u8);
    ctx.log("kind", true, 22);
    ctx.log("kind", 0.25, 23);
    ctx.log("back", 1, 24);
    ctx.log("back", 2, 24);
    ctx.log("back", 3, 5);
    ctx.log("time_profile/by_hand", 1, 24);
}

#[rle::main]
fn main() -> SuiteConfig {
    rle::log_metric("before/any/run", 1, 1);
    let suite = SuiteConfig::new("alps")
        .export_dir("out")
        .source_dir("../source")
        .flag("run_climber", true);
    match env::var("LOGS_SUITE").as_deref() {
        Ok("wandb") => suite.log_backends([Backend::Wandb]).log_project("suite").log_level("error"),
        Ok("faulty") => suite.log_mode(LogMode::Online).log_level("loud"),
        _ => suite,
    }
}
