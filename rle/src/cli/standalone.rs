//! The program `rle`: the commands that work on files alone, of any suite.

use std::process::ExitCode;

use crate::Error;
use crate::suite::config::settings::SETTINGS;

use super::args::{self, Command, CommandLine, Grammar, OptionSpec, Parsed};
use super::commands::looking;
use super::{BAD_USAGE, show};

const DEFAULT_ROOT: &str = "exports";

const COMMANDS: [CommandLine; 2] = [
    (
        "timings",
        Command::Timings,
        "timings show [options]   how long runs took, and on which hardware\n           \
         timings check [options]  stages that are not among --allow (exit status 1)",
    ),
    ("locks", Command::Locks, "lock files, which of them are held, and by whom"),
];

/// Runs the program.
pub fn main() -> ExitCode {
    match carry_out() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            show::error(&error.to_string());
            ExitCode::from(BAD_USAGE)
        }
    }
}

fn carry_out() -> Result<u8, Error> {
    let grammar = Grammar {
        name: "rle",
        version: env!("CARGO_PKG_VERSION"),
        about: Some("Looks at what experiment programs have written below an export root."),
        commands: &COMMANDS,
        default: None,
        options: options(),
    };
    match args::parse(std::env::args_os(), &grammar)? {
        Parsed::Command(invocation) => looking::anywhere(&invocation, DEFAULT_ROOT),
        Parsed::Shown(status) => Ok(status),
    }
}

/// The options that need no suite, in words that speak of none.
fn options() -> Vec<OptionSpec> {
    let looks = |only_for: &[&str]| {
        only_for.iter().any(|name| COMMANDS.iter().any(|(command, ..)| name.starts_with(command)))
    };
    SETTINGS
        .iter()
        .filter_map(|setting| {
            let option = OptionSpec::of(setting);
            match setting.key {
                "export_root" => {
                    Some(option.described(
                        "the directory of the groups [default: exports]",
                        "Common options",
                    ))
                }
                "groups" => Some(option.described(
                    "all, or these groups by their paths below the root [default: all]",
                    "Common options",
                )),
                "algorithms" => Some(option.described(
                    "all, or the algorithms of these slugs [default: all]",
                    "Common options",
                )),
                "format" => {
                    Some(option.described("text or json [default: text]", "Common options"))
                }
                "help" | "version" => Some(option),
                _ => looks(setting.only_for).then_some(option),
            }
        })
        .collect()
}
