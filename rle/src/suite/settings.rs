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
}

const fn setting(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, layered: true }
}

const fn option_only(
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, layered: false }
}

/// All options, in the order in which the help shows them.
pub(crate) const SETTINGS: [Setting; 18] = [
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
    option_only("help", Kind::Switch, "", "print help"),
    option_only("version", Kind::Switch, "", "print the version"),
];

/// Names of later options: a flag that took one today would change its meaning then.
const RESERVED: [&str; 11] = [
    "restart_completed_runs",
    "checkpoint_enabled",
    "resume_checkpoints",
    "jobs",
    "fail_fast",
    "retries",
    "timeout",
    "stop_after",
    "on_busy",
    "accept",
    "why",
];

/// Names that no flag may have.
pub(crate) fn reserved_flags() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.key).chain(RESERVED).collect()
}
