//! The words that a program understands: its commands as a tree, and which options of the settings
//! table each takes.

use crate::algorithm::AlgorithmSpec;
use crate::suite::config::settings::{Kind, Setting, settings};

/// What a program is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Command {
    Run,
    List,
    Config,
    Status,
    Verify,
    ArchiveList,
    ArchiveRestore,
    ArchivePrune,
    TimingsShow,
    TimingsCheck,
    Locks,
    Completions,
}

/// A command or a group of commands, with its line of help.
pub(in crate::cli) struct CommandSpec {
    pub(in crate::cli) name: &'static str,
    pub(in crate::cli) about: &'static str,
    pub(in crate::cli) kind: CommandKind,
}

pub(in crate::cli) enum CommandKind {
    Command(Command),
    /// The first is meant where only the group is named.
    Group(&'static [CommandSpec]),
}

impl CommandSpec {
    pub(super) const fn is_command(&self) -> bool {
        matches!(self.kind, CommandKind::Command(_))
    }
}

const fn command(name: &'static str, command: Command, about: &'static str) -> CommandSpec {
    CommandSpec { name, about, kind: CommandKind::Command(command) }
}

const fn group(
    name: &'static str,
    commands: &'static [CommandSpec],
    about: &'static str,
) -> CommandSpec {
    CommandSpec { name, about, kind: CommandKind::Group(commands) }
}

/// The commands of a generated program; the first is the default.
pub(in crate::cli) const PROGRAM_COMMANDS: &[CommandSpec] = &[
    command(
        "run",
        Command::Run,
        "Compute every requested slot that no record answers (the default)",
    ),
    command("list", Command::List, "Show algorithms, flags, stages and default configurations"),
    command("config", Command::Config, "Show the configuration, and where each value comes from"),
    command("status", Command::Status, "Show for every slot whether it is reused, and why not"),
    command("verify", Command::Verify, "Hash all tracked outputs and checkpoints again"),
    group("archive", ARCHIVE, "List, restore or prune archived and superseded records"),
    group("timings", TIMINGS, "Show how long runs took, or check the names of stages"),
    LOCKS,
    COMPLETIONS,
];

/// The commands that work on files alone, of any suite.
pub(in crate::cli) const FILE_COMMANDS: &[CommandSpec] = &[
    group("timings", TIMINGS, "Show how long runs took, or check the names of stages"),
    LOCKS,
    COMPLETIONS,
];

const ARCHIVE: &[CommandSpec] = &[
    command("list", Command::ArchiveList, "Show what is archived or superseded (the default)"),
    command("restore", Command::ArchiveRestore, "Put an archive back in its place"),
    command("prune", Command::ArchivePrune, "List what is older than the newest N; --yes removes"),
];

const TIMINGS: &[CommandSpec] = &[
    command(
        "show",
        Command::TimingsShow,
        "Show how long runs took, and on which hardware (the default)",
    ),
    command("check", Command::TimingsCheck, "Find stages that nobody has declared (exit status 1)"),
];

const LOCKS: CommandSpec =
    command("locks", Command::Locks, "Show lock files, which of them are held, and by whom");

const COMPLETIONS: CommandSpec =
    command("completions", Command::Completions, "Print the completion script of a shell");

/// Settings that say where a suite writes: commands that read files begin there.
const LOCATION_KEYS: [&str; 5] = ["export_dir", "config", "set", "format", "algorithms"];

impl Command {
    /// The words that name the command.
    pub(in crate::cli) const fn path(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::List => "list",
            Self::Config => "config",
            Self::Status => "status",
            Self::Verify => "verify",
            Self::ArchiveList => "archive list",
            Self::ArchiveRestore => "archive restore",
            Self::ArchivePrune => "archive prune",
            Self::TimingsShow => "timings show",
            Self::TimingsCheck => "timings check",
            Self::Locks => "locks",
            Self::Completions => "completions",
        }
    }

    /// Whether the command reads the files of any suite, and computes no request.
    pub(in crate::cli) const fn reads_files(self) -> bool {
        matches!(self, Self::TimingsShow | Self::TimingsCheck | Self::Locks)
    }

    /// Whether algorithms' flags select what the command is about.
    pub(super) const fn takes_flags(self) -> bool {
        !self.reads_files() && !matches!(self, Self::Completions)
    }

    /// Whether a setting is an option of this command.
    pub(super) fn takes(self, setting: &Setting) -> bool {
        if setting.kind == Kind::Switch {
            return false;
        }
        if !setting.only_for.is_empty() {
            return setting.only_for.contains(&self.path());
        }
        self.takes_flags() || (self.reads_files() && LOCATION_KEYS.contains(&setting.key))
    }

    /// The word beside the options that the command needs.
    pub(super) const fn operand(self) -> Option<&'static str> {
        match self {
            Self::ArchiveRestore => Some("NAME"),
            Self::Completions => Some("SHELL"),
            _ => None,
        }
    }
}

/// The words that a program understands.
pub(in crate::cli) struct Grammar<'a> {
    pub(in crate::cli) name: &'a str,
    pub(in crate::cli) version: &'a str,
    /// What the program is, at the head of its help.
    pub(in crate::cli) about: Option<&'static str>,
    pub(in crate::cli) commands: &'static [CommandSpec],
    /// The command where none is named.
    pub(in crate::cli) default: Option<&'static CommandSpec>,
    /// The algorithms whose flags are options.
    pub(in crate::cli) specs: &'a [AlgorithmSpec],
    /// What the help says about a setting; none where the program does not have it.
    pub(in crate::cli) describe: fn(&'static Setting) -> Option<&'static str>,
}

impl Grammar<'_> {
    /// Whether an algorithm declares the flag of this option.
    pub(super) fn is_flag(&self, long: &str) -> bool {
        let mut flags = self.specs.iter().filter_map(|spec| spec.flag.as_deref());
        flags.any(|flag| is_option_of(flag, long))
    }
}

/// The setting of an option, `num-runs`.
pub(super) fn setting_of(long: &str) -> Option<&'static Setting> {
    settings().find(|setting| is_option_of(setting.key, long))
}

/// Whether `long` is the option of a key: the key with `-` for `_`.
fn is_option_of(key: &str, long: &str) -> bool {
    key.len() == long.len()
        && key
            .bytes()
            .zip(long.bytes())
            .all(|(of_key, of_long)| of_long == if of_key == b'_' { b'-' } else { of_key })
}
