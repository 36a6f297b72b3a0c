//! The words that one program understands.

use super::command::CommandSpec;
use crate::algorithm::AlgorithmSpec;
use crate::suite::config::settings::{Setting, settings};

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
