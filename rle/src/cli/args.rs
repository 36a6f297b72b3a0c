//! From words to options: the grammar of the command line.
//!
//! Truth values with an optional word, and `key=value` words, are turned into `--option=value`
//! first; clap then checks the options, and makes the help.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command as Clap};

use crate::Error;
use crate::algorithm::spec::AlgorithmSpec;
use crate::near_match;
use crate::suite::config::selection::flag_option;
use crate::suite::config::settings::{Kind, LOOKING, SETTINGS, Setting};

/// What the program is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Run,
    List,
    Status,
    Verify,
    Archive,
    Timings,
    Locks,
}

impl Command {
    fn name(self) -> &'static str {
        COMMANDS.iter().find(|(_, command, _)| *command == self).map_or("", |(name, ..)| name)
    }

    /// Whether further words say what to do.
    const fn takes_words(self) -> bool {
        matches!(self, Self::Archive | Self::Timings)
    }
}

/// The name of a command, and what it does.
pub(super) type CommandLine = (&'static str, Command, &'static str);

pub(super) const COMMANDS: [CommandLine; 7] = [
    ("run", Command::Run, "compute every requested slot that no record answers (the default)"),
    ("list", Command::List, "show algorithms, flags, stages and default configurations"),
    ("status", Command::Status, "show for every slot whether it is reused, and why not"),
    ("verify", Command::Verify, "hash all tracked outputs and checkpoints again"),
    ("archive", Command::Archive, "archive list, archive restore NAME, archive prune --keep N"),
    (
        "timings",
        Command::Timings,
        "timings show: how long runs took, and on which hardware;\n           \
                                   timings check: stages that nobody has declared",
    ),
    ("locks", Command::Locks, "show lock files, which of them are held, and by whom"),
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

/// The words that a program understands.
pub(super) struct Grammar<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    /// What the program is, at the head of its help.
    pub(super) about: Option<&'static str>,
    pub(super) commands: &'static [CommandLine],
    /// The command where none is named.
    pub(super) default: Option<Command>,
    pub(super) options: Vec<OptionSpec>,
}

pub(super) struct OptionSpec {
    key: String,
    long: String,
    kind: Kind,
    value_name: &'static str,
    help: String,
    heading: String,
    only_for: &'static [&'static str],
}

impl OptionSpec {
    pub(super) fn of(setting: &Setting) -> Self {
        Self {
            key: setting.key.to_owned(),
            long: setting.key.replace('_', "-"),
            kind: setting.kind,
            value_name: setting.value_name,
            help: setting.help.to_owned(),
            heading: match setting.only_for {
                [] => "Suite options".to_owned(),
                commands => format!("Options of `{}`", commands.join("`, `")),
            },
            only_for: setting.only_for,
        }
    }

    /// The option with other words about it.
    pub(super) fn described(mut self, help: &str, heading: &str) -> Self {
        help.clone_into(&mut self.help);
        heading.clone_into(&mut self.heading);
        self
    }
}

/// Options of a start that say where it would write: a look begins there.
const OF_A_LOOK_TOO: [&str; 4] = ["export_dir", "config", "set", "format"];

/// Reads the command line.
///
/// # Errors
/// When a word is no command, a truth value is none of the accepted words, or a word is not
/// valid Unicode.
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
    let mut clap = clap_command(grammar);
    if words.is_empty() && grammar.default.is_none() {
        eprint!("{}", clap.render_help());
        return Ok(Parsed::Shown(super::BAD_USAGE));
    }
    let Normal { command, words, options: normal } = normalise(&words, grammar)?;
    match clap.try_get_matches_from(normal) {
        Ok(matches) => {
            let mut values = Vec::new();
            for option in &grammar.options {
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
            let command = command.or(grammar.default).ok_or_else(|| {
                let names: Vec<&str> = grammar.commands.iter().map(|(name, ..)| *name).collect();
                Error::usage(format!("no command is named; use {}", names.join(" or ")))
            })?;
            let invocation = Invocation { command, words, values };
            refuse_misplaced(&invocation, &grammar.options)?;
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

/// The options of a program with these algorithms.
pub(super) fn options(specs: &[AlgorithmSpec]) -> Vec<OptionSpec> {
    let mut options: Vec<OptionSpec> = SETTINGS.iter().map(OptionSpec::of).collect();
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
                only_for: &[],
            }),
        }
    }
    options
}

/// An option of another command would be ignored: it is refused.
fn refuse_misplaced(invocation: &Invocation, options: &[OptionSpec]) -> Result<(), Error> {
    let name = invocation.name();
    if LOOKING.contains(&name)
        && let Some((key, _)) = invocation.values.iter().find(|(key, _)| {
            !invocation.is_for_looking(key) && !OF_A_LOOK_TOO.contains(&key.as_str())
        })
    {
        let key = flag_option(key);
        return Err(Error::usage(format!("{key} is about a start, and `{name}` makes none")));
    }
    for (key, _) in &invocation.values {
        let Some(option) = options.iter().find(|option| option.key == *key) else { continue };
        let owners = option.only_for;
        if !owners.is_empty() && !owners.contains(&name) {
            return Err(Error::usage(format!(
                "{} belongs to {}, not to `{name}`",
                flag_option(key),
                match owners {
                    [owner] => format!("the command `{owner}`"),
                    owners => format!("the commands `{}`", owners.join("`, `")),
                }
            )));
        }
    }
    Ok(())
}

impl Invocation {
    /// The command with the word that says which part of it.
    pub(super) fn name(&self) -> &'static str {
        match (self.command, self.words.first().map(String::as_str)) {
            (Command::Timings, Some("check")) => "timings check",
            (Command::Timings, _) => "timings show",
            (command, _) => command.name(),
        }
    }

    /// Whether an option means something else to this command than to a start.
    pub(super) fn is_for_looking(&self, key: &str) -> bool {
        let setting = || SETTINGS.iter().find(|setting| setting.key == key);
        LOOKING.contains(&self.name())
            && (key == "algorithms"
                || setting().is_some_and(|setting| !setting.only_for.is_empty()))
    }

    /// The last value given for an option, with its name for messages.
    pub(super) fn last(&self, key: &str) -> Option<&str> {
        self.values.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// A command line in the form that clap reads.
struct Normal {
    command: Option<Command>,
    words: Vec<String>,
    options: Vec<String>,
}

fn normalise(words: &[String], grammar: &Grammar<'_>) -> Result<Normal, Error> {
    let options = grammar.options.as_slice();
    let mut command: Option<Command> = None;
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
            command = Some(find_command(word, grammar.commands)?);
        } else if command.is_some_and(Command::takes_words) {
            further.push(word.clone());
        } else {
            return Err(Error::usage(format!(
                "unexpected word `{word}`; options begin with `--`, settings have the form key=value"
            )));
        }
    }
    Ok(Normal { command, words: further, options: normal })
}

fn find_option<'a>(
    options: &'a [OptionSpec],
    long: &str,
    written: &str,
) -> Result<&'a OptionSpec, Error> {
    options.iter().find(|option| option.long == long).ok_or_else(|| {
        let known = options.iter().map(|option| option.long.as_str());
        let hint = near_match::nearest(long, known)
            .map_or("; --help lists them".to_owned(), |near| format!("; did you mean `--{near}`?"));
        Error::usage(format!("there is no option `{written}`{hint}"))
    })
}

fn find_command(word: &str, commands: &[CommandLine]) -> Result<Command, Error> {
    if let Some((_, command, _)) = commands.iter().find(|(name, ..)| *name == word) {
        return Ok(*command);
    }
    let names: Vec<&str> = commands.iter().map(|(name, ..)| *name).collect();
    let hint = near_match::hint(word, names.iter().copied());
    Err(Error::usage(format!(
        "there is no command `{word}`{hint} (commands: {})",
        names.join(", ")
    )))
}

fn clap_command(grammar: &Grammar<'_>) -> Clap {
    let mut commands = String::from("Commands:\n");
    for (name, _, help) in grammar.commands {
        writeln!(commands, "  {name:<9}{help}").expect("writing to a string does not fail");
    }
    commands.push_str(
        "\nBOOL is true, false, 1, 0, yes, no, on or off; without a value it is true.\n\
         key=value means --key value, with `_` as `-`.",
    );
    let command = if grammar.default.is_some() { "[COMMAND]" } else { "COMMAND" };
    let mut clap = Clap::new(grammar.name.to_owned())
        .bin_name(grammar.name)
        .version(grammar.version.to_owned())
        .no_binary_name(true)
        .override_usage(format!("{} {command} [OPTIONS] [key=value ...]", grammar.name))
        .after_help(commands)
        .args_override_self(true);
    if let Some(about) = grammar.about {
        clap = clap.about(about);
    }
    for option in grammar.options.iter().filter(|option| option.kind != Kind::Switch) {
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
