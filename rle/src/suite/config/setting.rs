//! One option of the suite or of a command: what the command line, variables, configuration files
//! and children need to know of it.

use crate::suite::config::SuiteConfig;
use crate::suite::config::field::Field;

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

pub(super) const NO_CHILD: &[Child] = &[];
pub(super) const ALL_CHILDREN: &[Child] = &[Child::Worker, Child::Trial];

/// One option.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "read by the command line"))]
pub(crate) struct Setting {
    /// As a key: `num_runs`. The option is `--num-runs`, the variable `RLE_NUM_RUNS`.
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) value_name: &'static str,
    pub(crate) help: &'static str,
    /// The commands that take it, as `timings show`. Empty: all that are about a start.
    pub(crate) only_for: &'static [&'static str],
    /// Where the suite keeps it: then configuration files, variables and `--set` may give it too.
    /// None where it is about one call of the program.
    pub(crate) field: Option<fn(&mut SuiteConfig) -> Field<'_>>,
    /// Its key in the section `[log]`.
    pub(crate) log_key: Option<&'static str>,
    /// The children that have the suite's value (a worker, where nothing is said); the others have
    /// the default.
    pub(crate) inherited_by: &'static [Child],
}

impl Setting {
    pub(super) const fn inherited_by(mut self, children: &'static [Child]) -> Self {
        self.inherited_by = children;
        self
    }

    pub(super) const fn in_log(mut self, key: &'static str) -> Self {
        self.log_key = Some(key);
        self
    }
}

/// An option of the suite that is true or false.
pub(super) const fn boolean(
    key: &'static str,
    help: &'static str,
    field: fn(&mut SuiteConfig) -> Field<'_>,
) -> Setting {
    Setting { kind: Kind::Bool, ..value(key, "BOOL", help, field) }
}

/// An option of the suite to which each use adds.
pub(super) const fn repeated(
    key: &'static str,
    value_name: &'static str,
    help: &'static str,
    field: fn(&mut SuiteConfig) -> Field<'_>,
) -> Setting {
    Setting { kind: Kind::Repeated, ..value(key, value_name, help, field) }
}

/// An option of the suite with one value.
pub(super) const fn value(
    key: &'static str,
    value_name: &'static str,
    help: &'static str,
    field: fn(&mut SuiteConfig) -> Field<'_>,
) -> Setting {
    Setting {
        field: Some(field),
        inherited_by: &[Child::Worker],
        ..command_option(&[], key, Kind::Value, value_name, help)
    }
}

/// An option that is about one call of the program.
pub(super) const fn command_option(
    only_for: &'static [&'static str],
    key: &'static str,
    kind: Kind,
    value_name: &'static str,
    help: &'static str,
) -> Setting {
    Setting { key, kind, value_name, help, only_for, field: None, log_key: None, inherited_by: &[] }
}
