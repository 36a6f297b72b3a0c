//! From words to a checked command line.
//!
//! It reads no value: what an option's text means is for the layers to say.
//!
//! - `command`: the commands, which options each takes, and the words that one program understands.
//! - `words`: the pass over the words before clap reads them.
//! - `parser`: the command line as clap knows it.

mod command;
mod parser;
mod words;

use std::ffi::OsString;

use clap::ArgMatches;
use clap_complete::Shell;

use crate::Error;
use crate::console::escape_log_text;
use crate::suite::config::settings::settings;

pub(super) use command::{Command, CommandKind, FILE_COMMANDS, Grammar, PROGRAM_COMMANDS};
use parser::Extent;
use words::{Arranged, arrange};

/// A checked command line.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) command: Command,
    /// The word beside the options: the name of an archive, or a shell.
    pub(super) operand: Option<String>,
    /// Keys such as `num_runs` or a flag, and the text given, in the order of the words.
    pub(super) values: Vec<(String, String)>,
}

/// The outcome of reading the command line.
#[derive(Debug)]
pub(super) enum Parsed {
    Command(Invocation),
    /// Help, the version, clap's error or a completion script was printed: the exit status.
    Printed(u8),
}

/// Reads the command line.
///
/// # Errors
/// When a word is not valid Unicode.
pub(super) fn parse(
    words: impl IntoIterator<Item = OsString>,
    grammar: &Grammar<'_>,
) -> Result<Parsed, Error> {
    let words: Vec<String> = words
        .into_iter()
        .skip(1)
        .map(|word| {
            word.into_string().map_err(|word| {
                Error::usage(format!("the argument {} is not valid UTF-8", word.display()))
            })
        })
        .collect::<Result<_, _>>()?;
    let Arranged { words, path, needs_flags } = arrange(&words, grammar);
    let mut clap = grammar.clap(Extent::Path(&path), needs_flags);
    let matches = match clap.try_get_matches_from_mut(&words) {
        Ok(matches) => matches,
        Err(error) => return Ok(Parsed::Printed(print(error, grammar, &words))),
    };
    let Some(CommandKind::Command(command)) = path.last().map(|spec| &spec.kind) else {
        return Err(Error::usage("no command is named; --help lists them"));
    };
    let invocation = invocation(*command, &matches);
    match (command, &invocation.operand) {
        (Command::Completions, Some(shell)) => {
            print_completions(shell, grammar).map(Parsed::Printed)
        }
        _ => Ok(Parsed::Command(invocation)),
    }
}

fn invocation(command: Command, mut matches: &ArgMatches) -> Invocation {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let mut operand = None;
    let mut values = Vec::new();
    for id in matches.ids() {
        let texts = matches.get_many::<String>(id.as_str()).into_iter().flatten();
        if Some(id.as_str()) == command.operand() {
            operand = texts.last().cloned();
            continue;
        }
        let indices = matches.indices_of(id.as_str()).into_iter().flatten();
        values.extend(indices.zip(texts).map(|(at, text)| (at, id.to_string(), text.clone())));
    }
    values.sort();
    let values = values.into_iter().map(|(_, key, text)| (key, text)).collect();
    Invocation { command, operand, values }
}

/// Prints help, the version or an error, and gives the exit status.
fn print(mut error: clap::Error, grammar: &Grammar<'_>, words: &[String]) -> u8 {
    grammar.advise(&mut error);
    // A closed pipe is no reason to fail over a help text.
    if error.use_stderr() && words.iter().any(|word| word.contains(char::is_control)) {
        // What a terminal obeys is shown, not sent to it.
        eprint!("{}", escape_log_text(&error.render().to_string()));
    } else {
        let _ = error.print();
    }
    if error.use_stderr() { super::BAD_USAGE } else { 0 }
}

fn print_completions(shell: &str, grammar: &Grammar<'_>) -> Result<u8, Error> {
    let shell = shell.parse().unwrap_or(Shell::Bash);
    let mut script = Vec::new();
    let mut clap = grammar.clap(Extent::Everything, true);
    clap_complete::generate(shell, &mut clap, grammar.name, &mut script);
    super::show::out(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

impl Invocation {
    /// Whether an option means something else to this command than to a start.
    pub(super) fn is_about_files(&self, key: &str) -> bool {
        let setting = || settings().find(|setting| setting.key == key);
        self.command.reads_files()
            && (key == "algorithms"
                || setting().is_some_and(|setting| !setting.only_for.is_empty()))
    }

    /// The last value given for an option, with its name for messages.
    pub(super) fn last(&self, key: &str) -> Option<&str> {
        self.values.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}
