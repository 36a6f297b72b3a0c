//! Algorithms of the program `lab` that take long, stop, resume, and end badly.
//!
//! `LAB_ACT` lists what slots do as they begin (`steady:0=abort`). `LAB_HOLD` lists steps
//! (`steady:0@3`) at which a run tells the socket `LAB_SOCKET` of itself and waits until the other
//! end closes, or until it shall stop. `LAB_LIBRARY` makes the program one with a `main` of its own.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use rle::prelude::*;
use rle::{AlgorithmSpec, Suite};

use super::{begin, trace, variable};

/// How often a run that is held asks whether it shall stop.
const ASK: Duration = Duration::from_millis(2);

const FLOOD: usize = 10 << 20;

/// A learner whose whole state is a random number generator and what it gave so far.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Steady {
    lr: f64,
    steps: u64,
    save_every: u64,
    /// Whether it asks, and obeys.
    stops: Stops,
    /// Resumes with a generator as new.
    forgets: bool,
}

/// What a learner does with `should_stop()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stops {
    /// Asks and obeys.
    Polite,
    /// Never asks.
    Silent,
    /// Asks and goes on.
    Deaf,
}

impl Default for Steady {
    fn default() -> Self {
        Self { lr: 0.5, steps: 6, save_every: 2, stops: Stops::Polite, forgets: false }
    }
}

/// What is stored beside the generator.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    step: u64,
    returns: Vec<f64>,
}

/// Saves, stops and resumes.
#[rle::algorithm(name = "Steady", flag = "run_steady")]
fn steady(ctx: &RunContext, config: Steady) -> rle::Result<RunResult> {
    go(ctx, &config)
}

/// A second one, for two at once.
#[rle::algorithm(name = "Twin", flag = "run_twin")]
fn twin(ctx: &RunContext, config: Steady) -> rle::Result<RunResult> {
    go(ctx, &config)
}

fn go(ctx: &RunContext, config: &Steady) -> rle::Result<RunResult> {
    begin(ctx)?;
    act(ctx)?;
    let mut rng = ctx.stream("policy");
    let mut progress = Progress::default();
    if let Some(latest) = ctx.checkpoint().latest() {
        progress = latest.metadata_as()?;
        if !config.forgets {
            rng = fs::read_to_string(latest.path("rng.txt")?)?.parse()?;
        }
        trace(&format!("resumed {}:{} at {}", ctx.slug(), ctx.run_idx(), progress.step))?;
    }
    ctx.progress().set_total(config.steps);
    while progress.step < config.steps {
        hold(ctx, config, progress.step)?;
        rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        progress.returns.push(super::roll_out(rng >> 44) * config.lr);
        progress.step += 1;
        ctx.progress().inc(1);
        let due = config.save_every > 0 && progress.step.is_multiple_of(config.save_every);
        if due {
            save(ctx, rng, &progress)?;
        }
        if config.stops != Stops::Silent && ctx.should_stop() && config.stops == Stops::Polite {
            if !due && config.save_every > 0 {
                save(ctx, rng, &progress)?;
            }
            return Ok(ctx.interrupted());
        }
    }
    let policy = ctx.artifact_path("policy.txt")?;
    fs::write(&policy, format!("{rng}\n"))?;
    Ok(RunResult::new()
        .metric("return", &progress.returns)
        .metric("rng", rng)
        .artifact_path("policy", policy))
}

fn save(ctx: &RunContext, rng: u64, progress: &Progress) -> rle::Result<()> {
    ctx.checkpoint().write("rng.txt", rng.to_string())?;
    Ok(ctx.checkpoint().save(progress)?)
}

/// Waits where it is told to, asking as the algorithm's manner is.
fn hold(ctx: &RunContext, config: &Steady, step: u64) -> rle::Result<()> {
    let here = format!("{}:{}@{step}", ctx.slug(), ctx.run_idx());
    if !variable("LAB_HOLD").split(',').any(|listed| listed == here) {
        return Ok(());
    }
    // Asked before anyone hears of it: from then on a signal does not end the process.
    let asks = config.stops != Stops::Silent;
    let mut stopped = asks && ctx.should_stop();
    let mut socket = UnixStream::connect(variable("LAB_SOCKET"))?;
    socket.write_all(format!("{here} {}\n", process::id()).as_bytes())?;
    socket.set_read_timeout(Some(ASK))?;
    while !(stopped && config.stops == Stops::Polite) {
        match socket.read(&mut [0]) {
            Ok(0) => break,
            Err(error) if is_unready(&error) => {}
            other => bail!("the other end said {other:?}"),
        }
        stopped = asks && ctx.should_stop();
    }
    Ok(())
}

fn is_unready(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// What a slot is told to do as it begins.
fn act(ctx: &RunContext) -> rle::Result<()> {
    let slot = format!("{}:{}", ctx.slug(), ctx.run_idx());
    let acts = variable("LAB_ACT");
    let acts: BTreeMap<&str, &str> =
        acts.split(',').filter_map(|listed| listed.split_once('=')).collect();
    match acts.get(slot.as_str()).copied().unwrap_or_default() {
        "" => Ok(()),
        "abort" => {
            eprintln!("the simulator lost its mind");
            process::abort()
        }
        "hoard" => hoard(),
        "orphan" => {
            // It keeps this process's outputs open for as long as the test listens.
            let socket = UnixStream::connect(variable("LAB_SOCKET"))?;
            (&socket).write_all(format!("orphan {}\n", process::id()).as_bytes())?;
            Command::new("cat").stdin(OwnedFd::from(socket)).spawn()?;
            process::abort()
        }
        "never return" => loop {
            thread::park();
        },
        "flood lines" => flood(b"all work and no play\n"),
        "flood" => flood(b"all work and no play "),
        "fail once" => {
            let mark = Path::new(&variable("LAB_TRACE")).with_extension(slot.replace(':', "_"));
            if !mark.exists() {
                fs::write(mark, "")?;
                bail!("not the first time");
            }
            Ok(())
        }
        "tell" => trace(&format!(
            "{slot} CUDA_VISIBLE_DEVICES={} RAYON_NUM_THREADS={} OMP_NUM_THREADS={}",
            variable("CUDA_VISIBLE_DEVICES"),
            variable("RAYON_NUM_THREADS"),
            variable("OMP_NUM_THREADS")
        )),
        other => bail!("there is no act `{other}`"),
    }
}

fn hoard() -> ! {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    loop {
        blocks.push(black_box(Vec::with_capacity(64 << 20)));
    }
}

fn flood(text: &[u8]) -> rle::Result<()> {
    let mut stdout = io::stdout().lock();
    let block = text.repeat(1000);
    for _ in 0..FLOOD / block.len() {
        stdout.write_all(&block)?;
    }
    Ok(stdout.flush()?)
}

/// A program with a `main` of its own: it can be met before, in and after its suite.
pub(super) fn as_library() -> rle::Result<()> {
    meet("before")?;
    let run = |ctx: &RunContext, _: Steady| -> rle::Result<RunResult> {
        meet("in")?;
        let stopped = ctx.should_stop();
        Ok(RunResult::new().metric("stopped", stopped))
    };
    let config = SuiteConfig::new("lab")
        .export_dir("out")
        .source_dir(variable("LAB_SOURCE"))
        .jobs(variable("LAB_LIBRARY").parse().context("LAB_LIBRARY is a number of jobs")?);
    let report = Suite::new(config).algorithm(AlgorithmSpec::with_config("Own", run)).run()?;
    meet("after")?;
    process::exit(i32::from(report.exit_status()))
}

fn meet(place: &str) -> rle::Result<()> {
    if !variable("LAB_HOLD").split(',').any(|listed| listed == place) {
        return Ok(());
    }
    let mut socket = UnixStream::connect(variable("LAB_SOCKET"))?;
    socket.write_all(format!("{place} {}\n", process::id()).as_bytes())?;
    socket.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Whether the program is one with a `main` of its own.
pub(super) fn is_library() -> bool {
    env::var_os("LAB_LIBRARY").is_some()
}
