//! `timings.json`: stages by name, read strictly and written back with everything that was in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::entry::RunEntry;
use super::file;
use super::raw::{Raw, push_member};
use super::scan::{Fault, Scanner};
use super::summary::Summary;
use crate::Error;
use crate::value::Value;

/// All stages of a file, by name.
pub(super) type Stages = BTreeMap<String, Stage>;

/// One stage: its entries, in the order in which they were recorded.
#[derive(Clone, Debug)]
pub struct Stage {
    runs: Vec<RunEntry>,
    members: Vec<Member>,
}

/// A key of a stage's object, in the order of the file.
#[derive(Clone, Debug)]
enum Member {
    Runs,
    /// The sum as the file has it, until the entries change.
    Total(Option<Raw>),
    Other(String, Raw),
}

impl Default for Stage {
    fn default() -> Self {
        Self { runs: Vec::new(), members: vec![Member::Runs, Member::Total(None)] }
    }
}

impl Stage {
    /// The entries.
    pub fn runs(&self) -> &[RunEntry] {
        &self.runs
    }

    /// The sum of the entries' times in seconds, added in their order; at most `f64::MAX`.
    pub fn total_seconds(&self) -> f64 {
        // From 0 rather than by `sum`, which begins at -0.
        let total: f64 = self.runs.iter().fold(0.0, |total, run| total + run.seconds());
        // JSON has no infinity.
        total.min(f64::MAX)
    }

    /// Number, mean, spread and hardware of the entries; `None` where there are none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.runs)
    }

    /// Keys that others have put beside `runs` and `total_seconds`, with their values.
    pub fn extra(&self) -> BTreeMap<String, Value> {
        let members = self.members.iter().filter_map(|member| match member {
            Member::Other(key, raw) => Some((key.clone(), raw.value())),
            _ => None,
        });
        members.collect()
    }

    /// The entries, to be changed: the sum that the file had no longer counts.
    pub(super) fn runs_mut(&mut self) -> &mut Vec<RunEntry> {
        for member in &mut self.members {
            if let Member::Total(total) = member {
                *total = None;
            }
        }
        &mut self.runs
    }

    pub(super) fn into_runs(self) -> Vec<RunEntry> {
        self.runs
    }

    /// Takes over the keys that another file has put beside the entries.
    pub(super) fn take_extra(&mut self, other: &Self) {
        for member in &other.members {
            let Member::Other(key, raw) = member else { continue };
            let place = self.members.iter_mut().find_map(|member| match member {
                Member::Other(known, place) if known == key => Some(place),
                _ => None,
            });
            match place {
                Some(place) => *place = raw.clone(),
                None => self.members.push(Member::Other(key.clone(), raw.clone())),
            }
        }
    }

    fn scan(scanner: &mut Scanner<'_>, source: &Arc<String>) -> Result<Self, Fault> {
        scanner.require(b'{', |kind| {
            format!("is {kind} where an object with an array `runs` is expected")
        })?;
        let mut runs = None;
        let mut members = Vec::with_capacity(2);
        scanner.object(|scanner, key| {
            match &*key {
                "runs" => {
                    scanner.require(b'[', |kind| {
                        format!("has {kind} where an array `runs` is expected")
                    })?;
                    runs = Some(scan_runs(scanner, source)?);
                    members.push(Member::Runs);
                }
                "total_seconds" => {
                    let is_number = scanner.kind()? == "a number";
                    let raw = Raw::new(source, scanner.value()?);
                    members.push(Member::Total(is_number.then_some(raw)));
                }
                _ => {
                    let raw = Raw::new(source, scanner.value()?);
                    members.push(Member::Other(key.into_owned(), raw));
                }
            }
            Ok(())
        })?;
        let Some(runs) = runs else {
            return Err(Fault::Content("has no array `runs`".to_owned()));
        };
        if !members.iter().any(|member| matches!(member, Member::Total(_))) {
            members.push(Member::Total(None));
        }
        Ok(Self { runs, members })
    }

    fn render(&self, out: &mut String) {
        out.push('{');
        for (index, member) in self.members.iter().enumerate() {
            out.push_str(if index == 0 { "\n    " } else { ",\n    " });
            match member {
                Member::Runs => self.render_runs(out),
                Member::Total(Some(raw)) => push_member("total_seconds", raw.text(), out),
                Member::Total(None) => {
                    let total = Value::from(self.total_seconds());
                    push_member("total_seconds", &total.to_string(), out);
                }
                Member::Other(key, raw) => push_member(key, raw.text(), out),
            }
        }
        out.push_str("\n  }");
    }

    fn render_runs(&self, out: &mut String) {
        out.push_str("\"runs\": [");
        for (index, run) in self.runs.iter().enumerate() {
            out.push_str(if index == 0 { "\n      " } else { ",\n      " });
            out.push_str(run.text());
        }
        out.push_str(if self.runs.is_empty() { "]" } else { "\n    ]" });
    }
}

impl PartialEq for Stage {
    /// Whether entries and further keys are the same.
    fn eq(&self, other: &Self) -> bool {
        self.runs == other.runs && self.extra() == other.extra()
    }
}

fn scan_runs(scanner: &mut Scanner<'_>, source: &Arc<String>) -> Result<Vec<RunEntry>, Fault> {
    let mut runs = Vec::new();
    scanner.array(|scanner, index| {
        let run = RunEntry::scan(scanner, source);
        runs.push(run.map_err(|fault| fault.within(|| format!("run entry {index}")))?);
        Ok(())
    })?;
    Ok(runs)
}

/// The stages that a text holds.
pub(super) fn parse(source: &Arc<String>) -> Result<Stages, Fault> {
    let mut stages = BTreeMap::new();
    Scanner::whole_object(source, |scanner, name| {
        let stage = Stage::scan(scanner, source);
        let stage = stage.map_err(|fault| fault.within(|| describe_stage(&name)))?;
        stages.insert(name.into_owned(), stage);
        Ok(())
    })?;
    Ok(stages)
}

/// Reads the file at `path`; one that does not exist holds no stages.
///
/// # Errors
/// Names the file and, where there is one, stage and entry.
pub(super) fn load(path: &Path) -> Result<Stages, Error> {
    file::read(path, parse).map(Option::unwrap_or_default)
}

/// The text of the file.
pub(super) fn render(stages: &Stages) -> String {
    let bytes: usize =
        stages.values().flat_map(|stage| &stage.runs).map(|run| run.text().len() + 8).sum();
    let mut out = String::with_capacity(bytes + 256 * stages.len() + 8);
    out.push('{');
    for (index, (name, stage)) in stages.iter().enumerate() {
        out.push_str(if index == 0 { "\n  " } else { ",\n  " });
        push_member(name, "", &mut out);
        stage.render(&mut out);
    }
    out.push_str(if stages.is_empty() { "}\n" } else { "\n}\n" });
    out
}

/// A stage for a message: its name without line breaks, and shortened if it is long.
pub(super) fn describe_stage(name: &str) -> String {
    const LONGEST: usize = 80;
    let mut short: Cow<'_, str> = name.into();
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        short = format!("{}...", &name[..end]).into();
    }
    format!("stage `{}`", short.escape_debug())
}
