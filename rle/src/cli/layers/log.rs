//! The settings about logging: `[log]` in a file, `--log-..` as options.

use super::Raw;
use super::read::{duration, non_empty, words};
use crate::Error;
use crate::near_match;
use crate::suite::config::settings::LOG_KEYS;
use crate::suite::exec::logging::{self, LogSettings};

/// Whether a setting is one of these.
pub(super) fn is_setting(key: &str) -> bool {
    LOG_KEYS.iter().any(|(_, setting)| *setting == key)
}

/// The setting of a key of the section.
///
/// # Errors
/// When there is none, with the near match.
pub(in crate::cli) fn setting(key: &str) -> Result<&'static str, Error> {
    let found = LOG_KEYS.iter().find(|(known, _)| *known == key);
    found.map(|(_, setting)| *setting).ok_or_else(|| {
        let known = LOG_KEYS.map(|(known, _)| known);
        let hint = near_match::hint(key, known);
        Error::usage(format!("`log` has no key `{key}`{hint} (keys: {})", known.join(", ")))
    })
}

/// Assigns one.
pub(super) fn assign(
    log: &mut LogSettings,
    key: &str,
    raw: &Raw,
    origin: &str,
) -> Result<(), Error> {
    let explain = |error: Error| Error::usage(format!("{origin}: {error}"));
    match key {
        "log_backend" => {
            let words = words(raw, origin)?;
            logging::backends(&words).map_err(explain)?;
            log.backends = Some(words);
        }
        "log_level" => {
            let level = non_empty(raw, origin, "a level")?;
            log.level = Some(logging::level(&level).map_err(explain)?.to_owned());
        }
        "log_dir" => log.dir = Some(non_empty(raw, origin, "a path")?.into()),
        "log_mode" => log.mode = Some(non_empty(raw, origin, "a mode")?),
        "log_project" => log.project = Some(non_empty(raw, origin, "a name")?),
        "log_name" => log.name = Some(non_empty(raw, origin, "a name")?),
        "log_tags" => log.tags = words(raw, origin)?,
        "log_flush_interval" => log.flush_interval = Some(duration(raw, origin)?),
        _ => {}
    }
    Ok(())
}
