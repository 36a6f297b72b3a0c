//! What goes to stdout: tables and JSON. Errors go to stderr.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use super::BAD_USAGE;
use crate::Error;
use crate::cli::inspect::FileProblem;
use crate::console::{Table, duration_text, escape_controls, escape_log_text, stdout_width};
use crate::record::SlotAction;
use crate::record::decision::value_text;
use crate::suite::{SlotOutcome, SuitePlan, SuiteReport};

/// The version of what commands print as JSON.
const SCHEMA_VERSION: u32 = 1;

const NO_SLOT: &str = "no slot is selected (--just-vis): nothing to run\n";

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}

/// Writes to stdout; a reader that went away is no error.
pub(super) fn out(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::io("write to", Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}

/// What every command prints as JSON: an object, with the version of its form.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    value: &'a T,
}

pub(super) fn json(value: &impl Serialize) -> Result<(), Error> {
    let versioned = Versioned { schema_version: SCHEMA_VERSION, value };
    let mut text = serde_json::to_string_pretty(&versioned)
        .map_err(|error| Error::usage(format!("the output has no JSON form: {error}")))?;
    text.push('\n');
    out(&text)
}

/// The exit status of a command; its error is shown.
pub(super) fn exit_status(result: Result<u8, Error>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|problem| {
        error(&problem.to_string());
        BAD_USAGE
    }))
}

pub(super) fn error(message: &str) {
    // Names of files and words of the command line may hold what a terminal obeys. There is
    // nowhere left to say that stderr is closed.
    let _ = writeln!(io::stderr(), "error: {}", escape_log_text(message));
}

/// Says what could not be looked at, where no JSON says it already.
pub(super) fn faults(faults: &[FileProblem], format: Format) {
    if format == Format::Text {
        for fault in faults {
            // One line each, whatever the names are.
            let line = format!("{}: {}", fault.file.display(), fault.problem);
            error(&escape_controls(&line));
        }
    }
}

pub(super) fn plan(plan: &SuitePlan, export_dir: &Path, format: Format) -> Result<(), Error> {
    if format == Format::Json {
        return json(plan);
    }
    if plan.slots.is_empty() {
        return out(NO_SLOT);
    }
    let mut table = Table::new(["slot", "action", "why"]);
    for slot in &plan.slots {
        let action = action_word(slot.action);
        let mut reasons = slot.reasons.iter().map(|reason| reason.text.as_str());
        table.row([&slot.slot.to_string(), action, reasons.next().unwrap_or_default()]);
        for reason in reasons {
            table.row(["", "", reason]);
        }
    }
    let count = |action| plan.slots.iter().filter(|slot| slot.action == action).count();
    out(&format!(
        "{}{} reused, {} to run, {} busy in {}\n",
        table.render(stdout_width()),
        count(SlotAction::Reuse),
        count(SlotAction::Run) + count(SlotAction::Resume),
        count(SlotAction::Busy),
        export_dir.display()
    ))
}

/// Every difference of the slots, one below the other, with both values in full.
pub(super) fn why(plan: &SuitePlan, format: Format) -> Result<(), Error> {
    if format == Format::Json {
        return json(plan);
    }
    let mut lines = Vec::new();
    for slot in &plan.slots {
        lines.push(format!("{} {}", slot.slot, action_word(slot.action)));
        for reason in &slot.reasons {
            lines.push(format!("  {}", reason.text));
            if let Some(path) = &reason.path {
                lines.push(format!("    {path}"));
                lines.push(format!("      record  {}", value_text(reason.old.as_ref())));
                lines.push(format!("      request {}", value_text(reason.new.as_ref())));
            }
        }
    }
    lines.push(String::new());
    out(&lines.join("\n"))
}

const fn action_word(action: SlotAction) -> &'static str {
    match action {
        SlotAction::Reuse => "reuse",
        SlotAction::Run => "run",
        SlotAction::Resume => "resume",
        SlotAction::Busy => "busy",
    }
}

#[derive(Serialize)]
struct ReportedSlot {
    slot: String,
    outcome: &'static str,
    seconds: Option<f64>,
    message: Option<String>,
}

pub(super) fn report(report: &SuiteReport, export_dir: &Path, format: Format) -> Result<(), Error> {
    let slots: Vec<ReportedSlot> = report
        .slots
        .iter()
        .map(|slot| {
            let (outcome, seconds, message) = match &slot.outcome {
                SlotOutcome::Reused => ("reused", None, None),
                SlotOutcome::Complete { seconds } => ("complete", Some(*seconds), None),
                SlotOutcome::Failed { message } => ("failed", None, Some(message.clone())),
                SlotOutcome::Interrupted => ("interrupted", None, None),
                SlotOutcome::NotRun => ("not_run", None, None),
                SlotOutcome::Busy => ("busy", None, Some("held by another process".to_owned())),
            };
            ReportedSlot { slot: slot.slot.to_string(), outcome, seconds, message }
        })
        .collect();
    if format == Format::Json {
        return json(&BTreeMap::from([("slots", slots)]));
    }
    if slots.is_empty() {
        return out(NO_SLOT);
    }
    let mut table = Table::new(["slot", "outcome", "time", ""]).align_right(2);
    for slot in &slots {
        let time = slot.seconds.map_or(String::new(), |seconds| {
            duration_text(Duration::try_from_secs_f64(seconds).unwrap_or_default())
        });
        let mut lines = slot.message.as_deref().unwrap_or_default().lines();
        table.row([
            &slot.slot,
            &slot.outcome.replace('_', " "),
            &time,
            lines.next().unwrap_or_default(),
        ]);
        for line in lines {
            table.row(["", "", "", line]);
        }
    }
    let count = |outcome| slots.iter().filter(|slot| slot.outcome == outcome).count();
    let mut line = format!("{} complete, {} reused", count("complete"), count("reused"));
    for outcome in ["failed", "interrupted", "not_run", "busy"] {
        if count(outcome) > 0 {
            write!(line, ", {} {}", count(outcome), outcome.replace('_', " "))
                .expect("writing to a string does not fail");
        }
    }
    out(&format!("{}{line}; records in {}\n", table.render(stdout_width()), export_dir.display()))
}
