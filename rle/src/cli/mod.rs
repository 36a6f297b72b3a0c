//! The generated program: reads the command line, carries out one command, ends with its status.
//!
//! It computes nothing: the suite, the records and the files say what there is to print.
//!
//! - `inspect`: times and locks below an export root, of any suite.
//! - `show`: what goes to stdout.
//! - `args`: from words to a checked command line.
//! - `layers`: files, variables and options over the suite's own values.
//! - `commands`: one file a command.
//! - `standalone`: the program `rle`, which belongs to no suite.

mod args;
mod commands;
mod inspect;
mod layers;
mod show;
mod standalone;

use std::error::Error as StdError;
use std::process::ExitCode;

use crate::Error;
use crate::algorithm::{AlgorithmSpec, registry};
use crate::console::{self, SuiteConsole};
use crate::error::chain_text;
use crate::near_match;
use crate::suite::config::settings;
use crate::suite::{self, Mode, Program, Start, SuiteConfig, expand_variants, workers};
use args::{Command, Grammar, Parsed};
use commands::files::Inspection;
use commands::{archive, config, list, locks, timings, verify};
use layers::Request;
use show::Format;
pub use standalone::main as standalone;

/// Bad usage, configuration or files: nothing was run.
const BAD_USAGE: u8 = 2;

/// Runs the program and gives its exit status.
pub(crate) fn main(
    suite: impl FnOnce() -> Result<SuiteConfig, Box<dyn StdError + Send + Sync>>,
    program: Program,
) -> ExitCode {
    console::init_logging();
    show::exit_status(carry_out(suite, program))
}

fn carry_out(
    suite: impl FnOnce() -> Result<SuiteConfig, Box<dyn StdError + Send + Sync>>,
    program: Program,
) -> Result<u8, Error> {
    let specs = registry::algorithms()?;
    registry::check(&specs, &settings::reserved_flags())?;
    let grammar = Grammar {
        name: program.name,
        version: program.version,
        about: None,
        commands: args::PROGRAM_COMMANDS,
        default: args::PROGRAM_COMMANDS.first(),
        specs: &specs,
        describe: |setting| Some(setting.help),
    };
    let invocation = match args::parse(std::env::args_os(), &grammar)? {
        Parsed::Command(invocation) => invocation,
        Parsed::Printed(status) => return Ok(status),
    };
    if workers::is_worker() {
        // The body runs in workers too, for what it does besides; the request is the parent's.
        let _ = suite();
        return workers::main(&specs);
    }
    let mut config = suite().map_err(|error| {
        Error::usage(format!("the suite's configuration: {}", chain_text(error.as_ref(), ": ")))
    })?;
    if config.provenance.source_dir.is_none() && std::path::Path::new(program.manifest_dir).is_dir()
    {
        config.provenance.source_dir = Some(program.manifest_dir.into());
    }
    let request = layers::assign_all(config, &invocation, &specs)?;
    console::set_level(request.config.log.level.as_deref());
    let format = request.asked.format;
    match invocation.command {
        Command::List => {
            let specs = expand_variants(&specs, &request.config.variants)?;
            list::list(&specs, format)
        }
        Command::Config => config::config(request, &specs),
        Command::Status => status(request, &specs),
        Command::Verify if request.asked.interruption => {
            verify::interruption(&request.config, &specs, format)
        }
        Command::Verify => verify::outputs(request.config, &specs, format),
        Command::ArchiveList => archive::list(&request),
        Command::ArchiveRestore => {
            archive::restore(&request, invocation.operand.as_deref().unwrap_or_default())
        }
        Command::ArchivePrune => archive::prune(&request),
        Command::TimingsShow => timings::show(&Inspection::of_program(&request, &invocation)?),
        Command::TimingsCheck => {
            let inspection = Inspection::of_program(&request, &invocation)?;
            timings::check(&inspection, &registry::stages())
        }
        Command::Locks => locks::locks(&Inspection::of_program(&request, &invocation)?),
        // Printed before the suite is asked for anything.
        Command::Completions => Ok(0),
        Command::Run if request.asked.dry_run => status(request, &specs),
        Command::Run => run(request.config, &specs, format, program),
    }
}

fn status(request: Request, specs: &[AlgorithmSpec]) -> Result<u8, Error> {
    let start = Start::new(request.config, specs)?;
    let mut plan = start.as_suite_plan();
    match &request.asked.why {
        None => show::plan(&plan, start.export_dir(), request.asked.format)?,
        Some(slot) => {
            let known: Vec<String> = plan.slots.iter().map(|slot| slot.slot.to_string()).collect();
            if !known.contains(slot) {
                return Err(Error::usage(format!(
                    "--why {slot}: that slot is not part of this start{}",
                    near_match::hint_or_list(slot, known.iter().map(String::as_str))
                )));
            }
            plan.slots.retain(|planned| planned.slot.to_string() == *slot);
            show::why(&plan, request.asked.format)?;
        }
    }
    Ok(0)
}

fn run(
    config: SuiteConfig,
    specs: &[AlgorithmSpec],
    format: Format,
    program: Program,
) -> Result<u8, Error> {
    if program.panic_abort {
        tracing::warn!(
            "this program is built with panic = \"abort\": a panic in one slot ends them all"
        );
    }
    let start = Start::new(config, specs)?;
    let export_dir = start.export_dir().to_owned();
    let report = suite::run(start, SuiteConsole::for_program(), Mode::Program)?;
    if let Err(error) = show::report(&report, &export_dir, format) {
        // The slots are what they are, whether or not their table could be written.
        show::error(&error.to_string());
    }
    Ok(report.exit_status())
}
