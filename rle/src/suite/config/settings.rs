//! The options of the suite: one list for the command line, the environment, configuration
//! files, `--set`, `config` and the children of a start.

use crate::Error;
#[cfg(feature = "cli")]
use crate::near_match;
use crate::suite::config::field::Field;
use crate::suite::config::raw::Given;
use crate::suite::config::suite_config::SuiteConfig;

/// How an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` without a value.
    Bool,
    /// No value: clap's own.
    Switch,
    /// Exactly one value.
    Value,
    /// One value each time it is given.
    Repeated,
}

/// The children of a start that have a configuration of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only a program has children"))]
pub(crate) enum Child {
    /// A process that runs one slot.
    Worker,
    /// A run that `verify --interruption` makes in a scratch directory.
    Trial,
}

/// One option.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "read by the command line"))]
pub(crate) struct Setting {
    /// As a key: `num_runs`. The option is `--num-runs`, the variable `RLE_NUM_RUNS`.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) value_name: &'static str,
    pub(crate) help: &'static str,
    /// Whether configuration files, variables and `--set` may give it too.
    pub(crate) layered: bool,
    /// The commands that know it: `locks`, or with its first word, `timings show`. Empty: all that
    /// are about a start.
    pub(crate) only_for: &'static [&'static str],
    /// Where the suite keeps it; none where it is about one call of the program.
    pub(crate) field: Option<fn(&mut SuiteConfig) -> Field<'_>>,
    /// Its key in the section `[log]`.
    pub(crate) log_key: Option<&'static str>,
    /// The children that have the suite's value (a worker, where nothing is said); the others have
    /// the default.
    pub(crate) inherited_by: &'static [Child],
}

impl Setting {
    const fn inherited_by(mut self, children: &'static [Child]) -> Self {
        self.inherited_by = children;
        self
    }

    const fn in_log(mut self, key: &'static str) -> Self {
        self.log_key = Some(key);
        self
    }
}

const NO_CHILD: &[Child] = &[];
const ALL_CHILDREN: &[Child] = &[Child::Worker, Child::Trial];

const fn setting(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
    field: fn(&mut SuiteConfig) -> Field<'_>,
) -> Setting {
    Setting {
        layered: true,
        field: Some(field),
        inherited_by: &[Child::Worker],
        ..command_option(&[], key, kind, value_name, help)
    }
}

const fn command_option(
    only_for: &'static [&'static str],
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting {
        key,
        kind,
        value_name,
        help,
        layered: false,
        only_for,
        field: None,
        log_key: None,
        inherited_by: &[],
    }
}

/// The commands that look at files of any program.
pub(crate) const LOOKING: &[&str] = &["timings show", "timings check", "locks"];

/// All options, in the order in which the help shows them.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("num_runs", Kind::Value, "N", "size of the run window", |config| {
        Field::Count(&mut config.num_runs)
    })
    .inherited_by(ALL_CHILDREN),
    setting(
        "run_numbers",
        Kind::Value,
        "LIST",
        "only these zero-based runs of the window: 1 or 0,2",
        |config| Field::RunNumbers(&mut config.run_numbers),
    ),
    setting("base_seed", Kind::Value, "N", "learner seed of run i is base seed + i", |config| {
        Field::Seed(&mut config.base_seed)
    })
    .inherited_by(ALL_CHILDREN),
    setting("export_dir", Kind::Value, "DIR", "where everything is written", |config| {
        Field::Directory(&mut config.export_dir)
    }),
    setting(
        "algorithms",
        Kind::Value,
        "LIST",
        "exactly these algorithms, by name or slug; ignores the flags",
        |config| Field::Algorithms(&mut config.algorithms),
    ),
    setting(
        "just_vis",
        Kind::Bool,
        "BOOL",
        "select no algorithm: only look at what exists",
        |config| Field::Bool(&mut config.just_vis),
    ),
    setting(
        "resume_completed_runs",
        Kind::Bool,
        "BOOL",
        "reuse matching complete records [default: true]",
        |config| Field::Bool(&mut config.resume_completed_runs),
    ),
    setting(
        "rerun",
        Kind::Repeated,
        "SLOT",
        "compute a slot such as ippo:1 again whatever its record says",
        |config| Field::Slots(&mut config.rerun),
    ),
    setting(
        "restart_completed_runs",
        Kind::Bool,
        "BOOL",
        "archive an algorithm's set when all of it is complete, and start afresh",
        |config| Field::Bool(&mut config.restart_completed_runs),
    )
    .inherited_by(NO_CHILD),
    setting("checkpoint_enabled", Kind::Bool, "BOOL", "let runs save checkpoints", |config| {
        Field::Bool(&mut config.checkpoint_enabled)
    }),
    setting(
        "resume_checkpoints",
        Kind::Bool,
        "BOOL",
        "let unfinished runs go on from their checkpoints [default: true]",
        |config| Field::Bool(&mut config.resume_checkpoints),
    ),
    setting(
        "accept",
        Kind::Repeated,
        "PATH",
        "reuse records across differences in this field, such as provenance.source",
        |config| Field::RequestPaths(&mut config.accept),
    ),
    setting(
        "jobs",
        Kind::Value,
        "N",
        "run N slots at once, each in a process of its own",
        |config| Field::Count(&mut config.jobs),
    )
    .inherited_by(NO_CHILD),
    setting(
        "gpus_per_run",
        Kind::Value,
        "N",
        "GPUs that each of the runs at once has for itself",
        |config| Field::Count(&mut config.gpus_per_run),
    )
    .inherited_by(NO_CHILD),
    setting("fail_fast", Kind::Bool, "BOOL", "begin no further slot after one failed", |config| {
        Field::Bool(&mut config.fail_fast)
    })
    .inherited_by(NO_CHILD),
    setting("retries", Kind::Value, "N", "try a slot that failed so many times again", |config| {
        Field::Count(&mut config.retries)
    })
    .inherited_by(NO_CHILD),
    setting("timeout", Kind::Value, "TIME", "end a run that takes longer: 90s, 2h 30m", |config| {
        Field::Time(&mut config.timeout)
    })
    .inherited_by(NO_CHILD),
    setting(
        "stop_after",
        Kind::Value,
        "TIME",
        "stop the whole start then, as at a signal",
        |config| Field::Time(&mut config.stop_after),
    )
    .inherited_by(NO_CHILD),
    setting(
        "on_busy",
        Kind::Value,
        "WHAT",
        "wait, skip or fail when another process holds a slot [default: skip]",
        |config| Field::OnBusy(&mut config.on_busy),
    ),
    setting(
        "provenance_mode",
        Kind::Value,
        "MODE",
        "capture, require_clean or supplied [default: capture]",
        |config| Field::ProvenanceMode(&mut config.provenance_mode),
    )
    .inherited_by(ALL_CHILDREN),
    setting(
        "provenance",
        Kind::Repeated,
        "KEY=VALUE",
        "a fact of your own about the program, part of every run's identity",
        |config| Field::Facts(&mut config.provenance_metadata),
    )
    .inherited_by(ALL_CHILDREN),
    setting(
        "provenance_packages",
        Kind::Value,
        "LIST",
        "packages whose locked versions are part of every run's identity",
        |config| Field::List(&mut config.provenance_packages),
    )
    .inherited_by(ALL_CHILDREN),
    setting(
        "provenance_inputs",
        Kind::Value,
        "LIST",
        "patterns of files that count as source, such as data/*.json",
        |config| Field::List(&mut config.provenance_inputs),
    )
    .inherited_by(ALL_CHILDREN),
    setting(
        "log_backend",
        Kind::Value,
        "LIST",
        "log metrics for tensorboard, wandb, swanlab or none [default: tensorboard]",
        |config| Field::Backends(&mut config.log.backends),
    )
    .in_log("backend"),
    setting(
        "log_dir",
        Kind::Value,
        "DIR",
        "where metrics are logged [default: EXPORT_DIR/_logs]",
        |config| Field::OptionalDirectory(&mut config.log.dir),
    )
    .in_log("log_dir"),
    setting(
        "log_level",
        Kind::Value,
        "LEVEL",
        "what the console shows, from off to trace",
        |config| Field::Level(&mut config.log.level),
    )
    .in_log("level")
    .inherited_by(ALL_CHILDREN),
    setting(
        "log_mode",
        Kind::Value,
        "MODE",
        "wandb: online, offline, shared or disabled; swanlab: cloud, local, offline or disabled",
        |config| Field::LogMode(&mut config.log.mode),
    )
    .in_log("mode"),
    setting(
        "log_project",
        Kind::Value,
        "NAME",
        "project [default: the environment's name]",
        |config| Field::Name(&mut config.log.project),
    )
    .in_log("project"),
    setting(
        "log_name",
        Kind::Value,
        "NAME",
        "experiment in the project [default: the last component of the export directory]",
        |config| Field::Name(&mut config.log.name),
    )
    .in_log("name"),
    setting(
        "log_tags",
        Kind::Value,
        "LIST",
        "tags of every run, where the backend has them",
        |config| Field::List(&mut config.log.tags),
    )
    .in_log("tags"),
    setting(
        "log_flush_interval",
        Kind::Value,
        "TIME",
        "what a kill may lose [default: 2s]",
        |config| Field::Time(&mut config.log.flush_interval),
    )
    .in_log("flush_interval"),
    command_option(&[], "config", Kind::Value, "FILE", "TOML file over the suite's own values"),
    command_option(
        &[],
        "set",
        Kind::Repeated,
        "PATH=VALUE",
        "set one value: algorithm_configs.ippo.lr=1e-3",
    ),
    command_option(&[], "dry_run", Kind::Bool, "BOOL", "print the plan and why, touch nothing"),
    command_option(
        &[],
        "format",
        Kind::Value,
        "FORMAT",
        "text or json, for everything that prints a table",
    ),
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
        LOOKING,
        "export_root",
        Kind::Value,
        "DIR",
        "the directory of the groups [default: the one of this program's export directory]",
    ),
    command_option(
        LOOKING,
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
    command_option(&[], "help", Kind::Switch, "", "print help"),
    command_option(&[], "version", Kind::Switch, "", "print the version"),
];

/// Names that no flag may have.
pub(crate) fn reserved_flags() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.key).chain([LOG_SECTION]).collect()
}

/// The section of the settings that are about logging.
pub(crate) const LOG_SECTION: &str = "log";

/// Sets a value of the suite; none where the suite has no such setting.
pub(crate) fn assign(
    config: &mut SuiteConfig,
    key: &str,
    given: &Given<'_>,
) -> Option<Result<(), Error>> {
    let setting = SETTINGS.iter().find(|setting| setting.layered && setting.key == key)?;
    setting.field.map(|field| field(config).assign(given))
}

/// The settings that the section `[log]` holds, by their keys there.
#[cfg(feature = "cli")]
fn log_keys() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    SETTINGS.iter().filter_map(|setting| Some((setting.log_key?, setting.key)))
}

/// The setting of a key of the section `[log]`.
///
/// # Errors
/// When there is none, with the near match.
#[cfg(feature = "cli")]
pub(crate) fn log_setting(key: &str) -> Result<&'static str, Error> {
    let found = log_keys().find(|(known, _)| *known == key);
    found.map(|(_, setting)| setting).ok_or_else(|| {
        let known: Vec<&str> = log_keys().map(|(known, _)| known).collect();
        let hint = near_match::hint(key, known.iter().copied());
        Error::usage(format!("`log` has no key `{key}`{hint} (keys: {})", known.join(", ")))
    })
}

#[cfg(test)]
mod tests;
