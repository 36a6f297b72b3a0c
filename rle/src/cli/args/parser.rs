//! The command line as clap knows it: only the command at hand gets its options.

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command as Clap};

use super::command::{Command, CommandKind, CommandSpec, Grammar, setting_of};
use crate::suite::config::selection::flag_option;
use crate::suite::config::settings::{Kind, SECTIONS, Setting};

/// The shells that have completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Options of `run` that the program's own help shows.
const MOST_USED: [&str; 10] = [
    "algorithms",
    "config",
    "dry_run",
    "export_dir",
    "format",
    "jobs",
    "num_runs",
    "rerun",
    "run_numbers",
    "set",
];

const BOOL_HELP: &str =
    "BOOL is true, false, 1, 0, yes, no, on or off; without a value it is true.";

/// How much of the command line is built.
#[derive(Clone, Copy)]
pub(super) enum Extent<'a> {
    /// The commands' names, and the options of the last command of the path.
    Path(&'a [&'static CommandSpec]),
    /// Every option of every command.
    Everything,
}

impl Grammar<'_> {
    /// The command line, with the algorithms' flags where `flags` says so.
    pub(super) fn clap(&self, extent: Extent<'_>, flags: bool) -> Clap {
        let mut clap = Clap::new(self.name.to_owned())
            .bin_name(self.name)
            .version(self.version.to_owned())
            .no_binary_name(true)
            .disable_help_subcommand(true)
            .subcommand_value_name("COMMAND")
            .override_usage(self.usage(""));
        if let Some(about) = self.about {
            clap = clap.about(about);
        }
        clap = match (extent, self.default) {
            (Extent::Everything, Some(CommandSpec { kind: CommandKind::Command(default), .. })) => {
                self.with_options(clap, *default, flags)
            }
            (Extent::Path([_, ..]), _) => clap,
            (_, Some(_)) => {
                self.with_settings(clap, |setting| MOST_USED.contains(&setting.key), true)
            }
            (_, None) => {
                let commands = leaves(self.commands);
                let is_common = |setting: &Setting| {
                    commands.iter().all(|command| !command.reads_files() || command.takes(setting))
                };
                self.with_settings(clap.args_override_self(true), is_common, false)
                    .subcommand_required(true)
                    .arg_required_else_help(true)
            }
        };
        let after = match self.default {
            Some(default) => format!(
                "`{0} {1} --help` shows all options of `{1}`; each command has its own --help.\n\
                 {BOOL_HELP}\nkey=value means --key value, with `_` as `-`.",
                self.name, default.name
            ),
            None => format!("`{} COMMAND --help` shows all options of a command.", self.name),
        };
        self.with_commands(clap.after_help(after), "", self.commands, extent, flags)
    }

    fn usage(&self, path: &str) -> String {
        let name = self.name;
        match path {
            "" if self.default.is_some() => format!("{name} [COMMAND] [OPTIONS] [key=value ...]"),
            "" => format!("{name} COMMAND [OPTIONS] [key=value ...]"),
            path => format!("{name} {path} [OPTIONS] [key=value ...]"),
        }
    }

    fn with_commands(
        &self,
        mut clap: Clap,
        above: &str,
        commands: &'static [CommandSpec],
        extent: Extent<'_>,
        flags: bool,
    ) -> Clap {
        for spec in commands {
            let mut part = Clap::new(spec.name).about(spec.about);
            let is_chosen = match extent {
                Extent::Path(path) => path.iter().any(|chosen| std::ptr::eq(*chosen, spec)),
                Extent::Everything => true,
            };
            match spec.kind {
                CommandKind::Command(command) if is_chosen => {
                    part = self.with_options(part, command, flags && command.takes_flags());
                    part = self.with_usage(part, command);
                }
                CommandKind::Group(parts) if is_chosen => {
                    let above = format!("{above}{} ", spec.name);
                    part = part
                        .disable_help_subcommand(true)
                        .subcommand_value_name("COMMAND")
                        .override_usage(self.usage(&format!("{above}[COMMAND]")));
                    part = self.with_commands(part, &above, parts, extent, flags);
                }
                _ => {}
            }
            clap = clap.subcommand(part);
        }
        clap
    }

    fn with_usage(&self, clap: Clap, command: Command) -> Clap {
        let mut path = command.path().to_owned();
        let Some(operand) = command.operand() else {
            return clap.override_usage(self.usage(&path)).after_help(BOOL_HELP);
        };
        path = format!("{path} {operand}");
        let arg = Arg::new(operand).value_name(operand).required(true);
        if command == Command::Completions {
            let arg = arg
                .value_parser(PossibleValuesParser::new(SHELLS))
                .help("The shell that is to complete the program's words");
            return clap.arg(arg).override_usage(format!("{} {path}", self.name));
        }
        let arg = arg.help("The name of an archive, as `archive list` shows it");
        clap.arg(arg).override_usage(self.usage(&path)).after_help(BOOL_HELP)
    }

    /// Adds the options of one command.
    fn with_options(&self, clap: Clap, command: Command, flags: bool) -> Clap {
        let is_taken = |setting: &Setting| command.takes(setting);
        let clap = clap.args_override_self(true);
        let clap = self.with_settings(clap, is_taken, !command.reads_files());
        if flags { self.with_flags(clap) } else { clap }
    }

    /// Adds the options of settings, under the headings of their sections where these are about a
    /// start.
    fn with_settings(
        &self,
        clap: Clap,
        is_wanted: impl Fn(&Setting) -> bool,
        is_about_start: bool,
    ) -> Clap {
        let mut clap = clap.next_display_order(None);
        for section in &SECTIONS {
            for setting in section.settings.iter().filter(|setting| is_wanted(setting)) {
                let Some(help) = (self.describe)(setting) else { continue };
                // The one option without which its command cannot do anything.
                let arg = option(setting, help).required(setting.key == "keep");
                let has_heading = is_about_start && setting.only_for.is_empty();
                clap = clap.arg(if has_heading { arg.help_heading(section.heading) } else { arg });
            }
        }
        clap
    }

    fn with_flags(&self, mut clap: Clap) -> Clap {
        let mut selected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for spec in self.specs {
            if let Some(flag) = &spec.flag {
                selected.entry(flag).or_default().push(&spec.name);
            }
        }
        for (flag, names) in selected {
            clap = clap.arg(
                bool_arg(flag.to_owned(), &flag_option(flag))
                    .help(format!("select {}", names.join(", ")))
                    .help_heading("Algorithms"),
            );
        }
        clap
    }

    /// Adds to clap's error what it cannot know: where an option belongs, which commands there are.
    pub(super) fn advise(&self, error: &mut clap::Error) {
        if error.get(ContextKind::Suggested).is_some() {
            return;
        }
        let tip = match (error.kind(), error.get(ContextKind::InvalidArg)) {
            (ErrorKind::InvalidSubcommand, _) => {
                (error.get(ContextKind::SuggestedSubcommand).is_none()).then(|| {
                    let names: Vec<&str> = self.commands.iter().map(|spec| spec.name).collect();
                    format!("commands are {}", names.join(", "))
                })
            }
            (ErrorKind::UnknownArgument, Some(ContextValue::String(arg))) => self.owners(arg),
            _ => None,
        };
        if let Some(tip) = tip {
            // Where an option belongs is known: one that only sounds alike would mislead.
            error.remove(ContextKind::SuggestedArg);
            let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
            error.insert(ContextKind::Suggested, tips);
        }
    }

    /// Which other commands take an option.
    fn owners(&self, arg: &str) -> Option<String> {
        let long = arg.strip_prefix("--")?;
        let setting = setting_of(long);
        let owners: Vec<String> = leaves(self.commands)
            .into_iter()
            .filter(|command| match setting {
                Some(setting) => command.takes(setting),
                None => command.takes_flags() && self.is_flag(long),
            })
            .map(|command| format!("`{}`", command.path()))
            .collect();
        (!owners.is_empty()).then(|| format!("{arg} belongs to {}", owners.join(", ")))
    }
}

fn leaves(commands: &'static [CommandSpec]) -> Vec<Command> {
    let mut leaves = Vec::new();
    for spec in commands {
        match spec.kind {
            CommandKind::Command(command) => leaves.push(command),
            CommandKind::Group(parts) => leaves.extend(self::leaves(parts)),
        }
    }
    leaves
}

fn option(setting: &Setting, help: &'static str) -> Arg {
    let long = setting.key.replace('_', "-");
    let arg = match setting.kind {
        Kind::Bool => bool_arg(setting.key.to_owned(), &long),
        _ => Arg::new(setting.key).long(long).value_name(setting.value_name),
    };
    let is_repeated = setting.kind == Kind::Repeated;
    arg.help(help).action(if is_repeated { ArgAction::Append } else { ArgAction::Set })
}

fn bool_arg(key: String, option: &str) -> Arg {
    let long = option.trim_start_matches("--").to_owned();
    Arg::new(key).long(long).value_name("BOOL").num_args(0..=1)
}
