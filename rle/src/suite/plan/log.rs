//! What a start logs, and where: resolved and checked with its plan.

use crate::Error;
use crate::metrics::LogOptions;
use crate::run::SuiteFacts;
use crate::suite::config::{SuiteConfig, log};

/// What a start logs, resolved.
#[derive(Clone, Debug)]
pub(crate) struct LogPlan {
    pub(in crate::suite) options: LogOptions,
    pub(in crate::suite) project: String,
    pub(in crate::suite) name: String,
    pub(in crate::suite) tags: Vec<String>,
}

impl LogPlan {
    /// Resolves and checks what is set.
    pub(in crate::suite) fn of(config: &SuiteConfig, facts: &SuiteFacts) -> Result<Self, Error> {
        let settings = &config.log;
        settings.level.as_deref().map(log::parse_level).transpose()?;
        let mut options = LogOptions::new(match &settings.dir {
            None => facts.export_dir.join("_logs"),
            Some(dir) => {
                std::path::absolute(dir).map_err(Error::cannot("resolve the log directory", dir))?
            }
        });
        options.backends = match &settings.backends {
            Some(backends) => backends.clone(),
            None if cfg!(feature = "loggers") => options.backends,
            None => Vec::new(),
        };
        log::check_built(&options.backends)?;
        if let Some(mode) = &settings.mode {
            options.mode = mode.resolve(&options.backends)?;
        }
        options.flush_interval = settings.flush_interval.unwrap_or(options.flush_interval);
        let last = facts.export_dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            options,
            project: settings.project.clone().unwrap_or_else(|| facts.env_name.clone()),
            name: settings.name.clone().unwrap_or_else(|| last.into_owned()),
            tags: settings.tags.clone(),
        })
    }

    /// The directory of this start's metrics as records name it, where there are any.
    pub(in crate::suite) fn recorded_dir(&self, facts: &SuiteFacts) -> Option<String> {
        let directory = self.options.experiment_dir(&self.project, &self.name)?;
        let stored = directory.strip_prefix(&facts.export_dir).unwrap_or(&directory);
        Some(stored.to_string_lossy().into_owned())
    }
}
