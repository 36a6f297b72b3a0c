//! The command `verify`: outputs and checkpoints as they were stored, and resumed runs as
//! unbroken ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::algorithm::AlgorithmSpec;
use crate::cli::show::{self, Format};
use crate::console::{SuiteConsole, Table, stdout_width};
use crate::names::SlotId;
use crate::record::decision::value_text;
use crate::record::verify::{Finding, Verification, verify};
use crate::record::{self, TrackedPath, WholeRecord};
use crate::run::{artifacts, checkpoint};
use crate::suite::{self, Mode, SlotOutcome, Start, SuiteConfig};
use crate::value::{Difference, Value, differences};

pub(in crate::cli) fn outputs(
    config: SuiteConfig,
    specs: &[AlgorithmSpec],
    format: Format,
) -> Result<u8, Error> {
    let (export_dir, slots) = Start::slots_of(config, specs)?;
    let verification = verify(&export_dir, &slots)?;
    shown(&verification, format)
}

fn shown(verification: &Verification, format: Format) -> Result<u8, Error> {
    let status = u8::from(!verification.findings.is_empty());
    if format == Format::Json {
        show::json(verification)?;
        return Ok(status);
    }
    let mut text = String::new();
    if !verification.findings.is_empty() {
        let mut table = Table::new(["slot", "problem"]);
        for finding in &verification.findings {
            table.row([&finding.slot, &finding.problem]);
        }
        text = table.render(stdout_width());
    }
    show::out(&format!(
        "{text}{}, {}, checkpoints of {}: {}\n",
        plural(verification.records, "record"),
        plural(verification.outputs, "tracked output"),
        plural(verification.slots_with_checkpoints, "slot"),
        match verification.findings.len() {
            0 => "all as stored".to_owned(),
            problems => plural(problems, "problem"),
        }
    ))?;
    Ok(status)
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Proves that stopping at every checkpoint and going on gives what an unbroken run gives, for
/// one run of each selected algorithm.
pub(in crate::cli) fn interruption(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
    format: Format,
) -> Result<u8, Error> {
    let (export_dir, mut slots) = Start::slots_of(config.clone(), specs)?;
    if config.selection.run_numbers.is_none() {
        let first = slots.iter().map(SlotId::run_idx).min();
        slots.retain(|slot| Some(slot.run_idx()) == first);
    }
    let mut verification = Verification::default();
    for slot in &slots {
        let scratch = Scratch::new(slot)?;
        let trial = Trial { config, specs, export_dir: &export_dir, slot, scratch: &scratch.0 };
        let problem = trial.problem()?;
        verification.records += 1;
        let finding = problem.map(|problem| Finding { slot: slot.to_string(), problem });
        verification.findings.extend(finding);
    }
    if format == Format::Text && verification.findings.is_empty() {
        let names: Vec<String> = slots.iter().map(SlotId::to_string).collect();
        show::out(&format!(
            "stopped at every checkpoint and resumed, these equal their unbroken runs: {}\n",
            names.join(" ")
        ))?;
        return Ok(0);
    }
    shown(&verification, format)
}

/// A directory beside nothing of the user's, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(slot: &SlotId) -> Result<Self, Error> {
        let stem = format!("rle-verify-{}-{}", std::process::id(), slot.file_stem());
        let mut number = 0_u32;
        loop {
            // Never one that is there already: what a killed process left, or another's.
            let path = std::env::temp_dir().join(format!("{stem}-{number}"));
            if artifacts::create_new_directory(&path)? {
                return Ok(Self(path));
            }
            number += 1;
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is the system's temporary files' care.
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Trial<'a> {
    config: &'a SuiteConfig,
    specs: &'a [AlgorithmSpec],
    export_dir: &'a Path,
    slot: &'a SlotId,
    scratch: &'a Path,
}

impl Trial<'_> {
    /// What is wrong with resuming this slot.
    fn problem(&self) -> Result<Option<String>, Error> {
        let unbroken = self.scratch.join("unbroken");
        let outcome = self.run(&unbroken, false)?;
        if !matches!(outcome, SlotOutcome::Complete { .. }) {
            return Ok(Some(format!("the unbroken run did not complete: {}", text(&outcome))));
        }
        let broken = self.scratch.join("broken");
        let mut stops = 0_u32;
        let mut last = None;
        loop {
            match self.run(&broken, true)? {
                SlotOutcome::Complete { .. } if stops == 0 => {
                    let problem = "it was never stopped: its algorithm saves no checkpoint, or does \
                                   not ask should_stop() after saving";
                    return Ok(Some(problem.to_owned()));
                }
                SlotOutcome::Complete { .. } => break,
                SlotOutcome::Interrupted => stops += 1,
                outcome => return Ok(Some(format!("after {stops} stops: {}", text(&outcome)))),
            }
            let sequence = checkpoint::newest_sequence(&broken, self.slot)?;
            if sequence == last {
                return Ok(Some(format!(
                    "stopped {stops} times without a new checkpoint: it would never end"
                )));
            }
            last = sequence;
        }
        let one = record::read_whole(&record::record_path(&unbroken, self.slot))?;
        let other = record::read_whole(&record::record_path(&broken, self.slot))?;
        Ok(difference(&one, &other)
            .map(|difference| format!("after {stops} stops and resumes, {difference}")))
    }

    fn run(&self, export_dir: &Path, stop_at_save: bool) -> Result<SlotOutcome, Error> {
        self.provide_required(export_dir)?;
        let config = self.config.for_trial(self.slot, export_dir, stop_at_save);
        let start = Start::new(config, self.specs)?;
        let mut report = suite::run(start, SuiteConsole::for_program(), Mode::Library)?;
        let slot = report.slots.pop().ok_or_else(|| Error::usage("no slot is selected"))?;
        Ok(slot.outcome)
    }

    /// Required artifacts stand below the export directory: links to them, in the scratch one.
    fn provide_required(&self, export_dir: &Path) -> Result<(), Error> {
        for required in self.specs.iter().flat_map(|spec| &spec.requires) {
            let link = export_dir.join(&required.path);
            let target = self.export_dir.join(&required.path);
            if Path::new(&required.path).is_absolute() || link.exists() || !target.exists() {
                continue;
            }
            artifacts::create_parents(&link)?;
            symlink(&target, &link).map_err(Error::cannot("make a link", &link))?;
        }
        Ok(())
    }
}

fn text(outcome: &SlotOutcome) -> String {
    match outcome {
        SlotOutcome::Failed { message } => format!("failed: {message}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The first thing in which two results differ, metrics first.
fn difference(unbroken: &WholeRecord, resumed: &WholeRecord) -> Option<String> {
    for name in unbroken.metrics.keys().chain(resumed.metrics.keys()) {
        let place = first_place(unbroken.metrics.get(name), resumed.metrics.get(name));
        if let Some(place) = place {
            return Some(format!("metric `{name}` differs{place}"));
        }
    }
    let rows = |record: &WholeRecord| Value::Array(record.episodes.clone());
    if let Some(place) = first_place(Some(&rows(unbroken)), Some(&rows(resumed))) {
        return Some(format!("the episode history differs{place}"));
    }
    let (one, other) = (&unbroken.head.artifact_paths, &resumed.head.artifact_paths);
    let sha256 = |tracked: Option<&TrackedPath>| tracked.map(|tracked| tracked.sha256.clone());
    let mut labels = one.keys().chain(other.keys());
    let label = labels.find(|label| sha256(one.get(*label)) != sha256(other.get(*label)))?;
    Some(format!("output `{label}` differs"))
}

/// Where two values differ first, and how; none where they do not.
fn first_place(one: Option<&Value>, other: Option<&Value>) -> Option<String> {
    // As text, in which NaN equals NaN.
    if value_text(one) == value_text(other) {
        return None;
    }
    let (Some(one), Some(other)) = (one, other) else {
        return Some(": one of the runs does not have it".to_owned());
    };
    let mut differences = differences(one, other).into_iter();
    let place = differences.find_map(|Difference { path, old, new, .. }| {
        let (old, new) = (value_text(old.as_ref()), value_text(new.as_ref()));
        let at = if path.is_empty() { String::new() } else { format!(" at {path}") };
        (old != new).then(|| format!("{at}: {old} unbroken, {new} resumed"))
    });
    Some(place.unwrap_or_default())
}
