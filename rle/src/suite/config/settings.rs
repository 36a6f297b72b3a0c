//! All options: one table for the command line, the environment, configuration files, `--set`,
//! `config` and the children of a start.

use crate::Error;
#[cfg(feature = "cli")]
use crate::near_match;
use crate::suite::config::SuiteConfig;
use crate::suite::config::options::{
    execution, invocation, logging, provenance, records, selection,
};
use crate::suite::config::raw::Given;

pub(crate) use crate::suite::config::setting::{Child, Kind, Setting};

/// Options with the heading under which the help of a command that is about a start shows them.
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    pub(crate) settings: &'static [Setting],
}

/// All options.
pub(crate) const SECTIONS: [Section; 9] = [
    Section { heading: "Selection", settings: selection::SETTINGS },
    Section { heading: "Output", settings: invocation::OUTPUT },
    Section { heading: "Records and checkpoints", settings: records::SETTINGS },
    Section { heading: "Execution", settings: execution::SETTINGS },
    Section { heading: "Provenance", settings: provenance::SETTINGS },
    Section { heading: "Logging", settings: logging::SETTINGS },
    Section { heading: "Configuration", settings: invocation::CONFIGURATION },
    Section { heading: "", settings: invocation::OF_COMMANDS },
    Section { heading: "", settings: invocation::SWITCHES },
];

/// All options, one after the other.
pub(crate) fn settings() -> impl Iterator<Item = &'static Setting> + Clone {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// Names that no flag may have.
pub(crate) fn reserved_flags() -> Vec<&'static str> {
    settings().map(|setting| setting.key).chain([LOG_SECTION]).collect()
}

/// The section of the settings that are about logging.
pub(crate) const LOG_SECTION: &str = "log";

/// Sets a value of the suite; none where the suite has no such setting.
pub(crate) fn assign(
    config: &mut SuiteConfig,
    key: &str,
    given: &Given<'_>,
) -> Option<Result<(), Error>> {
    let setting = settings().find(|setting| setting.key == key)?;
    setting.field.map(|field| field(config).assign(given))
}

/// The settings that the section `[log]` holds, by their keys there.
#[cfg(feature = "cli")]
fn log_keys() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    settings().filter_map(|setting| Some((setting.log_key?, setting.key)))
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
