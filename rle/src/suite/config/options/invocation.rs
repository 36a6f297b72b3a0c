//! Where a start writes, and what is asked of one call of the program.

use crate::suite::config::field::Field;
use crate::suite::config::setting::{Kind, Setting, command_option, value};

/// The commands that read files of any program.
const INSPECT: &[&str] = &["timings show", "timings check", "locks"];

pub(in crate::suite::config) const OUTPUT: &[Setting] = &[
    value("export_dir", "DIR", "where everything is written", |config| {
        Field::Directory(&mut config.export_dir)
    }),
    command_option(&[], "dry_run", Kind::Bool, "BOOL", "print the plan and why, touch nothing"),
    command_option(
        &[],
        "format",
        Kind::Value,
        "FORMAT",
        "text or json, for everything that is printed; `config` has toml too",
    ),
];

pub(in crate::suite::config) const CONFIGURATION: &[Setting] = &[
    command_option(&[], "config", Kind::Value, "FILE", "TOML file over the suite's own values"),
    command_option(
        &[],
        "set",
        Kind::Repeated,
        "PATH=VALUE",
        "set one value: algorithm_configs.ippo.lr=1e-3",
    ),
];

/// Options of single commands.
pub(in crate::suite::config) const OF_COMMANDS: &[Setting] = &[
    command_option(
        &["status"],
        "why",
        Kind::Value,
        "SLOT",
        "every difference of one slot, in full",
    ),
    command_option(
        &["verify"],
        "interruption",
        Kind::Bool,
        "BOOL",
        "prove that runs that stop and resume equal unbroken ones",
    ),
    command_option(
        &["archive prune"],
        "keep",
        Kind::Value,
        "N",
        "how many of each set or slot stay",
    ),
    command_option(&["archive prune"], "yes", Kind::Bool, "BOOL", "remove, not only list"),
    command_option(
        INSPECT,
        "export_root",
        Kind::Value,
        "DIR",
        "the directory of the groups [default: the one of this program's export directory]",
    ),
    command_option(
        INSPECT,
        "groups",
        Kind::Value,
        "LIST",
        "all, or these groups by their paths below the root [default: this program's own]",
    ),
    command_option(
        &["timings show"],
        "latest_runs",
        Kind::Value,
        "N",
        "only the N runs of the highest indices",
    ),
    command_option(
        &["timings show"],
        "include_other_stages",
        Kind::Bool,
        "BOOL",
        "every stage beside the whole run, with its share of it",
    ),
    command_option(
        &["timings show"],
        "pool",
        Kind::Bool,
        "BOOL",
        "one mean over runs on different hardware",
    ),
    command_option(
        &["timings check"],
        "allow",
        Kind::Repeated,
        "LIST",
        "stages that need no declaration",
    ),
    command_option(
        &["locks"],
        "pattern",
        Kind::Value,
        "GLOB",
        "names of lock files [default: *.lock]",
    ),
    command_option(&["locks"], "only_locked", Kind::Bool, "BOOL", "only locks that are not free"),
];

/// Options that print something and end.
pub(in crate::suite::config) const SWITCHES: &[Setting] = &[
    command_option(&[], "help", Kind::Switch, "", "print help"),
    command_option(&[], "version", Kind::Switch, "", "print the version"),
];
