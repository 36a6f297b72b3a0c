//! The options of the suite: one list for the command line, the environment, configuration
//! files and `--set`.

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

/// One option.
#[derive(Clone, Copy, Debug)]
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
}

const fn setting(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, layered: true, only_for: &[] }
}

const fn option_only(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, layered: false, only_for: &[] }
}

const fn command_option(
    commands: &'static [&'static str],
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, layered: false, only_for: commands }
}

/// The commands that look at files of any program.
pub(crate) const LOOKING: &[&str] = &["timings show", "timings check", "locks"];

/// All options, in the order in which the help shows them.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("num_runs", Kind::Value, "N", "size of the run window"),
    setting(
        "run_numbers",
        Kind::Value,
        "LIST",
        "only these zero-based runs of the window: 1 or 0,2",
    ),
    setting("base_seed", Kind::Value, "N", "learner seed of run i is base seed + i"),
    setting("export_dir", Kind::Value, "DIR", "where everything is written"),
    setting(
        "algorithms",
        Kind::Value,
        "LIST",
        "exactly these algorithms, by name or slug; ignores the flags",
    ),
    setting("just_vis", Kind::Bool, "BOOL", "select no algorithm: only look at what exists"),
    setting(
        "resume_completed_runs",
        Kind::Bool,
        "BOOL",
        "reuse matching complete records [default: true]",
    ),
    setting(
        "rerun",
        Kind::Repeated,
        "SLOT",
        "compute a slot such as ippo:1 again whatever its record says",
    ),
    setting(
        "restart_completed_runs",
        Kind::Bool,
        "BOOL",
        "archive an algorithm's set when all of it is complete, and start afresh",
    ),
    setting("checkpoint_enabled", Kind::Bool, "BOOL", "let runs save checkpoints"),
    setting(
        "resume_checkpoints",
        Kind::Bool,
        "BOOL",
        "let unfinished runs go on from their checkpoints [default: true]",
    ),
    setting(
        "accept",
        Kind::Repeated,
        "PATH",
        "reuse records across differences in this field, such as provenance.source",
    ),
    setting("jobs", Kind::Value, "N", "run N slots at once, each in a process of its own"),
    setting("gpus_per_run", Kind::Value, "N", "GPUs that each of the runs at once has for itself"),
    setting("fail_fast", Kind::Bool, "BOOL", "begin no further slot after one failed"),
    setting("retries", Kind::Value, "N", "try a slot that failed so many times again"),
    setting("timeout", Kind::Value, "TIME", "end a run that takes longer: 90s, 2h 30m"),
    setting("stop_after", Kind::Value, "TIME", "stop the whole start then, as at a signal"),
    setting(
        "on_busy",
        Kind::Value,
        "WHAT",
        "wait, skip or fail when another process holds a slot [default: skip]",
    ),
    setting(
        "provenance_mode",
        Kind::Value,
        "MODE",
        "capture, require_clean or supplied [default: capture]",
    ),
    setting(
        "provenance",
        Kind::Repeated,
        "KEY=VALUE",
        "a fact of your own about the program, part of every run's identity",
    ),
    setting(
        "provenance_packages",
        Kind::Value,
        "LIST",
        "packages whose locked versions are part of every run's identity",
    ),
    setting(
        "provenance_inputs",
        Kind::Value,
        "LIST",
        "patterns of files that count as source, such as data/*.json",
    ),
    setting(
        "log_backend",
        Kind::Value,
        "LIST",
        "log metrics for tensorboard, wandb, swanlab or none [default: tensorboard]",
    ),
    setting("log_dir", Kind::Value, "DIR", "where metrics are logged [default: EXPORT_DIR/_logs]"),
    setting("log_level", Kind::Value, "LEVEL", "what the console shows, from off to trace"),
    setting(
        "log_mode",
        Kind::Value,
        "MODE",
        "wandb: online, offline, shared or disabled; swanlab: cloud, local, offline or disabled",
    ),
    setting("log_project", Kind::Value, "NAME", "project [default: the environment's name]"),
    setting(
        "log_name",
        Kind::Value,
        "NAME",
        "experiment in the project [default: the last component of the export directory]",
    ),
    setting("log_tags", Kind::Value, "LIST", "tags of every run, where the backend has them"),
    setting("log_flush_interval", Kind::Value, "TIME", "what a kill may lose [default: 2s]"),
    option_only("config", Kind::Value, "FILE", "TOML file over the suite's own values"),
    option_only(
        "set",
        Kind::Repeated,
        "PATH=VALUE",
        "set one value: algorithm_configs.ippo.lr=1e-3",
    ),
    option_only("dry_run", Kind::Bool, "BOOL", "print the plan and why, touch nothing"),
    option_only(
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
    option_only("help", Kind::Switch, "", "print help"),
    option_only("version", Kind::Switch, "", "print the version"),
];

/// Names that no flag may have.
pub(crate) fn reserved_flags() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.key).chain([LOG_SECTION]).collect()
}

/// The section of the settings that are about logging.
pub(crate) const LOG_SECTION: &str = "log";

/// The settings that the section holds, by their keys there.
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "read by the command line"))]
pub(crate) const LOG_KEYS: [(&str, &str); 8] = [
    ("level", "log_level"),
    ("backend", "log_backend"),
    ("project", "log_project"),
    ("name", "log_name"),
    ("log_dir", "log_dir"),
    ("mode", "log_mode"),
    ("tags", "log_tags"),
    ("flush_interval", "log_flush_interval"),
];

#[cfg(test)]
mod tests;
