//! The program `rle`: the commands that work on files alone, of any suite.

use std::process::ExitCode;

use crate::Error;
use crate::suite::config::settings::Setting;

use super::args::{self, Command, Grammar, Parsed};
use super::commands::files::Inspection;
use super::commands::{locks, timings};
use super::show;

const DEFAULT_ROOT: &str = "exports";

/// Runs the program.
pub fn main() -> ExitCode {
    show::exit_status(carry_out())
}

fn carry_out() -> Result<u8, Error> {
    let grammar = Grammar {
        name: "rle",
        version: env!("CARGO_PKG_VERSION"),
        about: Some("Reads what experiment programs have written below an export root"),
        commands: args::FILE_COMMANDS,
        default: None,
        specs: &[],
        describe,
    };
    let invocation = match args::parse(std::env::args_os(), &grammar)? {
        Parsed::Command(invocation) => invocation,
        Parsed::Printed(status) => return Ok(status),
    };
    let inspection = Inspection::of_root(&invocation, DEFAULT_ROOT)?;
    match invocation.command {
        Command::TimingsCheck => timings::check(&inspection, &[]),
        Command::Locks => locks::locks(&inspection),
        _ => timings::show(&inspection),
    }
}

/// The options that need no suite, in words that speak of none.
fn describe(setting: &'static Setting) -> Option<&'static str> {
    match setting.key {
        "export_root" => Some("the directory of the groups [default: exports]"),
        "groups" => Some("all, or these groups by their paths below the root [default: all]"),
        "algorithms" => Some("all, or the algorithms of these slugs [default: all]"),
        "format" => Some("text or json [default: text]"),
        _ => (!setting.only_for.is_empty()).then_some(setting.help),
    }
}
