//! The program that the end-to-end tests run: small algorithms that misbehave on demand.
//!
//! `LAB_ERROR` and `LAB_PANIC` list slots that fail, `LAB_WAIT` names a slot and a socket on
//! which it reports and waits, `LAB_TRACE` a file that every call is written to, `LAB_TELL` a
//! variable whose value goes there too, `LAB_SUITE` another suite, `LAB_SOURCE` the source tree. None of them is part of a request. `long` has more.

mod long;

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use rle::prelude::*;

rle::stages! { rollout, rollout_inner, train }

/// The environment's settings.
#[derive(Serialize)]
struct Environment {
    map: String,
    size: u64,
    wind: f64,
    start: Option<u64>,
}

/// Settings of a well-behaved learner.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Learner {
    lr: f64,
    steps: u64,
    layers: Vec<u64>,
    label: String,
    greedy: bool,
    schedule: Schedule,
}

/// A nested table.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Schedule {
    warmup: u64,
    decay: Option<f64>,
}

impl Default for Learner {
    fn default() -> Self {
        Self {
            lr: 3e-4,
            steps: 3,
            layers: vec![64, 64],
            label: "plain".to_owned(),
            greedy: false,
            schedule: Schedule::default(),
        }
    }
}

/// Well-behaved.
#[rle::algorithm(name = "Alpha", flag = "run_alpha")]
fn alpha(ctx: &RunContext, config: Learner) -> rle::Result<RunResult> {
    learn(ctx, &config)
}

/// Well-behaved, with a label that no file name could hold.
#[rle::algorithm(name = "Beta w/ \"β\", v2", slug = "beta", flag = "run_beta")]
fn beta(ctx: &RunContext, config: Learner) -> rle::Result<RunResult> {
    learn(ctx, &config)
}

fn learn(ctx: &RunContext, config: &Learner) -> rle::Result<RunResult> {
    begin(ctx)?;
    ctx.progress().set_total(config.steps);
    let mut result = RunResult::new();
    let mut returns = Vec::new();
    for step in 0..config.steps {
        returns.push(roll_out(step) + config.lr);
        update(step);
        ctx.progress().inc(1);
        ctx.epoch_end();
        result = result.episode(Episode {
            episode: step,
            start_step: step * 10,
            t_end: step * 10 + 10,
            ep_len: 10,
            cum_reward: returns[returns.len() - 1],
            agent_returns: [("agent_0".to_owned(), 0.5)].into(),
            ..Episode::default()
        });
    }
    let policy = ctx.artifact_path("policy.txt")?;
    fs::write(&policy, format!("{} {} {}\n", ctx.slug(), ctx.seed(), config.lr))?;
    let curves = ctx.artifact_path("curves/return.csv")?;
    fs::write(&curves, "step,return\n")?;
    Ok(result
        .metric("return", &returns)
        .summary("note", "as asked")
        .artifact("format", "text")
        .artifact_path("policy", policy)
        .artifact_path("curves", curves.parent().context("a file has a parent")?))
}

#[rle::timed("rollout")]
#[expect(clippy::cast_precision_loss, reason = "counts of steps are small")]
fn roll_out(step: u64) -> f64 {
    rle::timed_block!("rollout_inner", debug, group = "environments", {
        std::hint::black_box(step as f64 * 0.25)
    })
}

#[rle::timed("train", metric)]
fn update(step: u64) {
    std::hint::black_box(step);
}

/// What every algorithm does first: tell of itself, wait, fail, as asked.
fn begin(ctx: &RunContext) -> rle::Result<()> {
    let slot = format!("{}:{}", ctx.slug(), ctx.run_idx());
    trace(&format!("run {slot}"))?;
    if let Ok(name) = env::var("LAB_TELL") {
        trace(&format!("{slot} {name}={}", variable(&name)))?;
    }
    if let Some((waiting, socket)) = variable("LAB_WAIT").split_once('=')
        && waiting == slot
    {
        let mut socket = UnixStream::connect(socket)?;
        socket.write_all(slot.as_bytes())?;
        // The other end says nothing: it closes when the slot may go on.
        socket.read_to_end(&mut Vec::new())?;
    }
    let asked = |name| variable(name).split(',').any(|listed| listed == slot);
    if asked("LAB_ERROR") {
        let cause = std::io::Error::other("disk on fire");
        return Err(anyhow::Error::new(cause).context("reading the replay buffer"));
    }
    assert!(!asked("LAB_PANIC"), "index 7 is out of bounds in {slot}");
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn trace(line: &str) -> rle::Result<()> {
    let path = variable("LAB_TRACE");
    if path.is_empty() {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}

/// An act and what it is done with.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wild {
    act: String,
    with: String,
}

/// Does what its configuration says.
#[rle::algorithm(name = "Wild", flag = "run_wild")]
fn wild(ctx: &RunContext, config: Wild) -> rle::Result<RunResult> {
    begin(ctx)?;
    let Wild { act, with } = config;
    let result = RunResult::new();
    match act.as_str() {
        "" => Ok(result),
        "metrics" => Ok(odd_metrics(result)),
        "word metric" => Ok(result.metric("verdict", "NaN")),
        "keyed metric" => Ok(result.metric("table", BTreeMap::from([((1, 2), 3)]))),
        "name" => {
            fs::write(ctx.artifact_path(&with)?, "escaped")?;
            Ok(result)
        }
        "link" => {
            let place = ctx.artifact_path("link")?;
            std::os::unix::fs::symlink(&with, &place)?;
            fs::write(ctx.artifact_path("link/x")?, "escaped")?;
            Ok(result)
        }
        "track" => {
            let path = ctx.export_dir().join(&with);
            fs::write(&path, format!("by run {}\n", ctx.run_idx()))?;
            Ok(result.artifact_path("output", path))
        }
        "track twice" => {
            let path = ctx.artifact_path("x")?;
            fs::write(&path, "x")?;
            Ok(result.artifact_path("output", &path).artifact_path("output", &path))
        }
        "track missing" => Ok(result
            .artifact_path("here", ctx.export_dir())
            .artifact_path("policy", ctx.export_dir().join("no/policy"))
            .artifact_path("curves", ctx.export_dir().join("no/curves"))),
        "fill" => {
            fs::write(ctx.artifact_path("large")?, vec![7; 1 << 20])
                .context("saving the policy")?;
            Ok(result)
        }
        "talk" => talk(ctx, &with),
        "thread" => {
            let outcome = std::thread::spawn(|| panic!("in a thread of its own")).join();
            Ok(result.metric("panicked", outcome.is_err()))
        }
        other => bail!("there is no act `{other}`"),
    }
}

/// Says every line that comes over the socket, as one of 100 steps, until the other end closes.
fn talk(ctx: &RunContext, socket: &str) -> rle::Result<RunResult> {
    let progress = ctx.progress();
    progress.set_total(100);
    let socket = UnixStream::connect(socket)?;
    (&socket).write_all(format!("{}\n", ctx.run_idx()).as_bytes())?;
    for line in BufReader::new(socket).lines() {
        tracing::info!("{}", line?);
        progress.inc(1);
        progress.set_message(format!("return {}", progress.position()));
    }
    Ok(RunResult::new())
}

fn odd_metrics(result: RunResult) -> RunResult {
    result
        .metric("loss", [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
        .metric("diverged", f64::NAN)
        .metric("grid", vec![vec![1, 2], vec![], vec![3]])
        .metric("large", u64::MAX)
        .metric("negative", i64::MIN)
        .metric("tenth", 0.1_f32)
        .metric("text", "Ünïcode \"quoted\"\n\u{0}")
        .metric("nothing", None::<u8>)
        .metric("time_profile/rollout", 1.0)
        .episode(Episode {
            cum_reward: f64::NAN,
            extra: [("goals".to_owned(), rle::value::Value::from(9_007_199_254_740_993_u64))]
                .into(),
            ..Episode::default()
        })
}

/// A configuration that takes keys which it does not know.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Loose {
    lr: f64,
    #[serde(skip)]
    cache: u64,
}

impl Default for Loose {
    fn default() -> Self {
        Self { lr: 0.5, cache: 1 }
    }
}

/// Its type ignores what it does not know.
#[rle::algorithm(name = "Loose", flag = "run_loose")]
fn loose(ctx: &RunContext, config: Loose) -> rle::Result<RunResult> {
    begin(ctx)?;
    Ok(RunResult::new().metric("lr", config.lr).metric("cache", config.cache))
}

/// A configuration without an order.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Unordered {
    agents: HashSet<String>,
}

impl Default for Unordered {
    fn default() -> Self {
        Self { agents: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).into() }
    }
}

/// Its configuration differs at every reading.
#[rle::algorithm(name = "Unordered", flag = "run_unordered")]
fn unordered(_: &RunContext, config: Unordered) -> rle::Result<RunResult> {
    Ok(RunResult::new().metric("agents", config.agents.len()))
}

/// A configuration without a JSON form.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Formless {
    table: BTreeMap<(u8, u8), u8>,
}

impl Default for Formless {
    fn default() -> Self {
        Self { table: [((1, 2), 3)].into() }
    }
}

/// Its defaults cannot be stored.
#[rle::algorithm(name = "Formless", flag = "run_formless")]
fn formless(_: &RunContext, config: Formless) -> rle::Result<RunResult> {
    Ok(RunResult::new().metric("table", config.table.len()))
}

/// Needs a model, whose content counts, and a table, whose content does not.
#[rle::algorithm(
    name = "Hungry",
    flag = "run_hungry",
    requires(model = "models/wm.bin", fingerprint),
    requires(table = "models/table.csv")
)]
fn hungry(ctx: &RunContext) -> rle::Result<RunResult> {
    begin(ctx)?;
    Ok(RunResult::new().metric("model", fs::read_to_string(ctx.required("model")?)?))
}

/// Needs a directory.
#[rle::algorithm(
    name = "Greedy",
    flag = "run_greedy",
    requires(data = "data/offline", fingerprint)
)]
fn greedy(ctx: &RunContext) -> rle::Result<RunResult> {
    begin(ctx)?;
    Ok(RunResult::new().metric("data", ctx.required("data")?.is_dir()))
}

/// What a prepare hands over.
#[derive(Serialize, Deserialize)]
struct Shield {
    strength: u64,
    config: Option<Learner>,
}

/// Has a prepare of its own.
#[rle::algorithm(name = "Owner", flag = "run_owner")]
fn owner(ctx: &RunContext, _config: Learner) -> rle::Result<RunResult> {
    begin(ctx)?;
    let shield: Shield = ctx.prepared()?;
    let lr = shield.config.context("a prepare of one algorithm sees its configuration")?.lr;
    Ok(RunResult::new().metric("strength", shield.strength).metric("lr", lr))
}

#[rle::prepare(owner)]
fn own_step(ctx: &PrepareContext) -> rle::Result<Shield> {
    let shield = make_shield(ctx, "own_step")?;
    Ok(Shield { config: Some(ctx.config()?), ..shield })
}

/// Shares a prepare.
#[rle::algorithm(name = "Left", flag = "run_left")]
fn left(ctx: &RunContext, _config: Learner) -> rle::Result<RunResult> {
    shielded(ctx)
}

/// Shares a prepare.
#[rle::algorithm(name = "Right", flag = "run_right")]
fn right(ctx: &RunContext) -> rle::Result<RunResult> {
    shielded(ctx)
}

#[rle::prepare(left, right)]
fn shared_step(ctx: &PrepareContext) -> rle::Result<Shield> {
    if let Ok(config) = ctx.config::<Learner>() {
        bail!("a shared prepare sees a configuration with lr {}", config.lr);
    }
    make_shield(ctx, "shared_step")
}

/// Has a prepare that runs at every start.
#[rle::algorithm(name = "Ever", flag = "run_ever")]
fn ever(ctx: &RunContext) -> rle::Result<RunResult> {
    shielded(ctx)
}

#[rle::prepare(ever, always)]
fn every_time(ctx: &PrepareContext) -> rle::Result<Shield> {
    make_shield(ctx, "every_time")
}

fn shielded(ctx: &RunContext) -> rle::Result<RunResult> {
    begin(ctx)?;
    Ok(RunResult::new().metric("strength", ctx.prepared::<Shield>()?.strength))
}

fn make_shield(ctx: &PrepareContext, name: &str) -> rle::Result<Shield> {
    trace(&format!("prepare {name}"))?;
    fs::write(ctx.artifact_path("tables/shield.bin")?, "shield")?;
    let asked = |variable_name| variable(variable_name).split(',').any(|listed| listed == name);
    if asked("LAB_ERROR") {
        bail!("no shield for {}", ctx.env_name());
    }
    assert!(!asked("LAB_PANIC"), "the solver gave up");
    ctx.record_timing("solver", 0.25, "first")?;
    Ok(Shield { strength: 3, config: None })
}

#[rle::main]
fn main() -> rle::Result<SuiteConfig> {
    if long::is_library() {
        long::as_library()?;
    }
    let environment =
        Environment { map: "small".to_owned(), size: 3, wind: 0.5, start: Some(1 << 60) };
    let mut suite = SuiteConfig::new("lab")
        .export_dir("out")
        .env_config(&environment)
        .common("gamma", 0.99)
        .common("limits", BTreeMap::from([("steps", 500), ("run_length", 10)]))
        .flag("run_alpha", true)
        .flag("run_beta", true);
    let source = variable("LAB_SOURCE");
    if !source.is_empty() {
        suite = suite.source_dir(Path::new(&source));
    }
    let lr = |lr: f64| BTreeMap::from([("lr", lr)]);
    Ok(match variable("LAB_SUITE").as_str() {
        "nan environment" => suite.env_config(Environment { wind: f64::NAN, ..environment }),
        "nan common" => suite.common("gamma", f64::NEG_INFINITY),
        "nan algorithm" => suite.algorithm_config("Alpha", lr(f64::NAN)),
        "reserved" => suite.common("run_length", 100),
        "twice" => suite.algorithm_config("Alpha", lr(0.1)).algorithm_config("alpha", lr(0.2)),
        "unknown flag" => suite.flag("run_alhpa", true),
        "seeds" => suite.seeds_by_run([(1, seeds([("learner", 6), ("env", u64::MAX)]))]),
        "wrong seeds" => suite.seeds_by_run([(1, seeds([("learner", 5), ("env", 1)]))]),
        "variant" => suite.variant("Alpha fast", "alpha", lr(0.25)),
        "limited" => suite.gpus_per_run(1).retries(2).stop_after(Duration::ZERO).fail_fast(true),
        "error" => bail!("no map named `{}`", environment.map),
        _ => suite,
    })
}

fn seeds<const N: usize>(seeds: [(&str, u64); N]) -> BTreeMap<String, u64> {
    seeds.map(|(domain, seed)| (domain.to_owned(), seed)).into()
}
