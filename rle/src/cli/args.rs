//! From words to options: the grammar of the command line.
//!
//! Truth values with an optional word, and `key=value` words, are turned into `--option=value`
//! first; clap then checks the options, and makes the help.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command as Clap};

use crate::Error;
use crate::algorithm::AlgorithmSpec;
use crate::private::Program;
use crate::suggest;
use crate::suite::selection::flag_option;
use crate::suite::settings::{Kind, SETTINGS};

/// What the program is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Run,
    List,
    Status,
    Verify,
    Archive,
}

impl Command {
    fn name(self) -> &'static str {
        COMMANDS.iter().find(|(_, command, _)| *command == self).map_or("", |(name, ..)| name)
    }
}

const COMMANDS: [(&str, Command, &str); 5] = [
    ("run", Command::Run, "compute every requested slot that no record answers (the default)"),
    ("list", Command::List, "show algorithms, flags, stages and default configurations"),
    ("status", Command::Status, "show for every slot whether it is reused, and why not"),
    ("verify", Command::Verify, "hash all tracked outputs and checkpoints again"),
    ("archive", Command::Archive, "archive list, archive restore NAME, archive prune --keep N"),
];

/// A checked command line.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) command: Command,
    /// Further words of the command: `restore NAME`.
    pub(super) words: Vec<String>,
    /// Keys such as `num_runs` or a flag, and the text given, in the order of the words.
    pub(super) values: Vec<(String, String)>,
}

/// The outcome of reading the command line.
#[derive(Debug)]
pub(super) enum Parsed {
    Command(Invocation),
    /// Help, the version or clap's error was printed: the exit status.
    Shown(u8),
}

struct OptionSpec {
    key: String,
    long: String,
    kind: Kind,
    value_name: &'static str,
    help: String,
    heading: String,
}

/// Reads the command line.
///
/// # Errors
/// When a word is no command, a truth value is none of the accepted words, or a word is not
/// valid Unicode.
pub(super) fn parse(
    words: impl IntoIterator<Item = OsString>,
    program: Program,
    specs: &[AlgorithmSpec],
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
    let options = options(specs);
    let Normal { command, words, options: normal } = normalise(&words, &options)?;
    let clap = clap_command(program, &options);
    match clap.try_get_matches_from(normal) {
        Ok(matches) => {
            let mut values = Vec::new();
            for option in &options {
                let given = matches.get_many::<String>(&option.key).into_iter().flatten();
                let indices = matches.indices_of(&option.key).into_iter().flatten();
                values.extend(
                    indices
                        .zip(given)
                        .map(|(index, text)| (index, option.key.clone(), text.clone())),
                );
            }
            values.sort();
            let values = values.into_iter().map(|(_, key, text)| (key, text)).collect();
            let invocation = Invocation { command, words, values };
            refuse_misplaced(&invocation)?;
            Ok(Parsed::Command(invocation))
        }
        Err(error) => {
            let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // A closed pipe is no reason to fail over a help text.
            let _ = error.print();
            Ok(Parsed::Shown(if shown { 0 } else { super::BAD_USAGE }))
        }
    }
}

fn options(specs: &[AlgorithmSpec]) -> Vec<OptionSpec> {
    let built_in = SETTINGS.iter().map(|setting| OptionSpec {
        key: setting.key.to_owned(),
        long: setting.key.replace('_', "-"),
        kind: setting.kind,
        value_name: setting.value_name,
        help: setting.help.to_owned(),
        heading: setting
            .only_for
            .map_or("Suite options".to_owned(), |command| format!("Options of `{command}`")),
    });
    let mut options: Vec<OptionSpec> = built_in.collect();
    for spec in specs {
        let Some(flag) = &spec.flag else { continue };
        match options.iter_mut().find(|option| option.key == *flag) {
            Some(option) => option.help = format!("{}, {}", option.help, spec.name),
            None => options.push(OptionSpec {
                key: flag.clone(),
                long: flag_option(flag).trim_start_matches("--").to_owned(),
                kind: Kind::Bool,
                value_name: "BOOL",
                help: format!("select {}", spec.name),
                heading: "Algorithms".to_owned(),
            }),
        }
    }
    options
}

/// An option of another command would be ignored: it is refused.
fn refuse_misplaced(invocation: &Invocation) -> Result<(), Error> {
    for (key, _) in &invocation.values {
        let setting = SETTINGS.iter().find(|setting| setting.key == key);
        let Some(owner) = setting.and_then(|setting| setting.only_for) else { continue };
        if owner != invocation.command.name() {
            return Err(Error::usage(format!(
                "{} belongs to the command `{owner}`, not to `{}`",
                flag_option(key),
                invocation.command.name()
            )));
        }
    }
    Ok(())
}

/// A command line in the form that clap reads.
struct Normal {
    command: Command,
    words: Vec<String>,
    options: Vec<String>,
}

fn normalise(words: &[String], options: &[OptionSpec]) -> Result<Normal, Error> {
    let mut command = None;
    let mut further = Vec::new();
    let mut normal = Vec::with_capacity(words.len());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let option = find_option(options, name, &format!("--{name}"))?;
            let next = match (value, option.kind) {
                (Some(_), _) | (None, Kind::Switch) => None,
                (None, Kind::Bool) => {
                    words.next_if(|next| !next.starts_with('-') && !next.contains('='))
                }
                (None, Kind::Value | Kind::Repeated) => {
                    words.next_if(|next| !next.starts_with("--"))
                }
            };
            normal.push(match (next, value, option.kind) {
                (Some(value), ..) => format!("{word}={value}"),
                (None, None, Kind::Bool) => format!("{word}=true"),
                _ => word.clone(),
            });
        } else if word.starts_with('-') {
            normal.push(word.clone());
        } else if let Some((key, value)) = word.split_once('=') {
            let long = key.replace('_', "-");
            normal.push(if key.contains('.') {
                format!("--set={word}")
            } else {
                find_option(options, &long, &format!("{key}="))?;
                format!("--{long}={value}")
            });
        } else if command.is_none() {
            command = Some(find_command(word)?);
        } else if command == Some(Command::Archive) {
            further.push(word.clone());
        } else {
            return Err(Error::usage(format!(
                "unexpected word `{word}`; options begin with `--`, settings have the form key=value"
            )));
        }
    }
    Ok(Normal { command: command.unwrap_or(Command::Run), words: further, options: normal })
}

fn find_option<'a>(
    options: &'a [OptionSpec],
    long: &str,
    written: &str,
) -> Result<&'a OptionSpec, Error> {
    options.iter().find(|option| option.long == long).ok_or_else(|| {
        let known = options.iter().map(|option| option.long.as_str());
        let hint = suggest::nearest(long, known)
            .map_or("; --help lists them".to_owned(), |near| format!("; did you mean `--{near}`?"));
        Error::usage(format!("there is no option `{written}`{hint}"))
    })
}

fn find_command(word: &str) -> Result<Command, Error> {
    if let Some((_, command, _)) = COMMANDS.iter().find(|(name, ..)| *name == word) {
        return Ok(*command);
    }
    let names: Vec<&str> = COMMANDS.iter().map(|(name, ..)| *name).collect();
    let hint = suggest::hint(word, names.iter().copied());
    Err(Error::usage(format!(
        "there is no command `{word}`{hint} (commands: {})",
        names.join(", ")
    )))
}

fn clap_command(program: Program, options: &[OptionSpec]) -> Clap {
    let mut commands = String::from("Commands:\n");
    for (name, _, help) in COMMANDS {
        writeln!(commands, "  {name:<9}{help}").expect("writing to a string does not fail");
    }
    commands.push_str(
        "\nBOOL is true, false, 1, 0, yes, no, on or off; without a value it is true.\n\
         key=value means --key value, with `_` as `-`.",
    );
    let mut clap = Clap::new(program.name)
        .bin_name(program.name)
        .version(program.version)
        .no_binary_name(true)
        .override_usage(format!("{} [COMMAND] [OPTIONS] [key=value ...]", program.name))
        .after_help(commands)
        .args_override_self(true);
    for option in options.iter().filter(|option| option.kind != Kind::Switch) {
        let action = if option.kind == Kind::Repeated { ArgAction::Append } else { ArgAction::Set };
        clap = clap.arg(
            Arg::new(option.key.clone())
                .long(option.long.clone())
                .value_name(option.value_name)
                .help(option.help.clone())
                .help_heading(option.heading.clone())
                .action(action)
                .num_args(if option.kind == Kind::Bool { 0..=1 } else { 1..=1 }),
        );
    }
    clap
}
