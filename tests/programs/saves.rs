//! A suite that does little but save checkpoints, and tells what it was offered.
//!
//! The journal gets a line when a run begins, `offered <step> <sequence>` (zeros: nothing), and
//! one before and after each save, `saving <step>` and `saved <step>`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rle::prelude::*;

const STEPS: u64 = 40;

/// Large enough that a kill can fall into the middle of it.
const WEIGHTS: usize = 6000;

/// What training has come to.
#[derive(Serialize, Deserialize)]
struct State {
    step: u64,
    random: u64,
    mean: f64,
    returns: Vec<f64>,
}

impl State {
    fn advance(&mut self, weights: &mut [u8]) {
        self.step += 1;
        let mut sum = 0.0;
        for weight in weights.iter_mut() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let [byte, ..] = self.random.to_le_bytes();
            *weight = weight.wrapping_mul(5).wrapping_add(byte);
            sum += f64::from(*weight);
        }
        self.mean = self.mean.mul_add(0.9, sum / 3.0);
        self.returns.push(self.mean);
    }
}

/// Saves after every step: two payloads whole, two by their paths, one of these below a directory.
#[rle::algorithm]
fn saver(ctx: &RunContext) -> rle::Result<RunResult> {
    let checkpoint = ctx.checkpoint();
    let latest = checkpoint.latest();
    let (mut state, mut weights) = latest.map_or_else(|| Ok(begin(ctx.seed())), load)?;
    let sequence = latest.map_or(0, rle::Latest::sequence);
    note(&format!("offered {} {sequence}", state.step))?;
    let generations = ctx.algorithm_dir().join(format!("checkpoints/run_{}", ctx.run_idx()));
    while state.step < STEPS {
        state.advance(&mut weights);
        if !checkpoint.enabled() {
            continue;
        }
        note(&format!("saving {}", state.step))?;
        checkpoint.write("state.json", serde_json::to_vec(&state)?)?;
        fs::write(checkpoint.path("weights/layer.bin")?, &weights)?;
        checkpoint.write_with("weights/mirrored.bin", |file| {
            weights.iter().rev().try_for_each(|byte| file.write_all(&[*byte]))
        })?;
        fs::write(checkpoint.path("step.txt")?, state.step.to_string())?;
        checkpoint.save(state.step)?;
        note(&format!("saved {}", state.step))?;
        expect("more than two generations stay", count_directories(&generations)? <= 2)?;
    }
    let policy = ctx.artifact_path("policy.bin")?;
    fs::write(&policy, &weights)?;
    let result = RunResult::new().metric("mean", state.mean).metric("returns", state.returns);
    Ok(result.episode(Episode::default()).artifact_path("policy", policy))
}

fn begin(seed: u64) -> (State, Vec<u8>) {
    let state = State { step: 0, random: seed + 1, mean: 0.0, returns: Vec::new() };
    (state, vec![0; WEIGHTS])
}

/// All payloads of one and the same save.
fn load(latest: &rle::Latest) -> rle::Result<(State, Vec<u8>)> {
    let state: State = serde_json::from_slice(&fs::read(latest.path("state.json")?)?)?;
    let weights = fs::read(latest.path("weights/layer.bin")?)?;
    let mut mirrored = fs::read(latest.path("weights/mirrored.bin")?)?;
    mirrored.reverse();
    expect("the two copies of the weights differ", mirrored == weights)?;
    expect("the weights are torn", weights.len() == WEIGHTS)?;
    let step = fs::read_to_string(latest.path("step.txt")?)?;
    expect("another step's payload", step == state.step.to_string())?;
    expect("another step's metadata", latest.metadata_as::<u64>()? == state.step)?;
    expect("another step's returns", state.returns.len() as u64 == state.step)?;
    Ok((state, weights))
}

fn expect(problem: &str, holds: bool) -> rle::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(problem.to_owned()).into()) }
}

fn count_directories(directory: &Path) -> io::Result<usize> {
    let entries = fs::read_dir(directory)?;
    Ok(entries.flatten().filter(|entry| entry.path().is_dir()).count())
}

/// One write of one line.
fn note(line: &str) -> io::Result<()> {
    let path = env::var_os("SAVES_JOURNAL").unwrap_or_else(|| "journal".into());
    let mut journal = OpenOptions::new().append(true).create(true).open(path)?;
    journal.write_all(format!("{line}\n").as_bytes())
}

#[rle::main]
fn main() -> SuiteConfig {
    SuiteConfig::new("saves")
        .export_dir("export")
        .num_runs(1)
        .checkpoints(true)
        .provenance_mode(ProvenanceMode::Supplied)
}
