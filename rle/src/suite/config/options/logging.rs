//! What is logged, and where: no part of any request's identity.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::{Backend, LogMode};
use crate::suite::config::SuiteConfig;
use crate::suite::config::field::Field;
use crate::suite::config::log::LogModeSetting;
use crate::suite::config::setting::{ALL_CHILDREN, Setting, value};

/// What is logged, and where: no part of any request's identity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LogOptions {
    pub(crate) level: Option<String>,
    /// None at all is TensorBoard, where this program has it.
    pub(crate) backends: Option<Vec<Backend>>,
    pub(crate) project: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) mode: Option<LogModeSetting>,
    pub(crate) tags: Vec<String>,
    pub(crate) flush_interval: Option<Duration>,
}

pub(in crate::suite::config) const SETTINGS: &[Setting] = &[
    value(
        "log_backend",
        "LIST",
        "log metrics for tensorboard, wandb, swanlab or none [default: tensorboard]",
        |config| Field::Backends(&mut config.log.backends),
    )
    .in_log("backend"),
    value("log_dir", "DIR", "where metrics are logged [default: EXPORT_DIR/_logs]", |config| {
        Field::OptionalDirectory(&mut config.log.dir)
    })
    .in_log("log_dir"),
    value("log_level", "LEVEL", "what the console shows, from off to trace", |config| {
        Field::Level(&mut config.log.level)
    })
    .in_log("level")
    .inherited_by(ALL_CHILDREN),
    value(
        "log_mode",
        "MODE",
        "wandb: online, offline, shared or disabled; swanlab: cloud, local, offline or disabled",
        |config| Field::LogMode(&mut config.log.mode),
    )
    .in_log("mode"),
    value("log_project", "NAME", "project [default: the environment's name]", |config| {
        Field::Name(&mut config.log.project)
    })
    .in_log("project"),
    value(
        "log_name",
        "NAME",
        "experiment in the project [default: the last component of the export directory]",
        |config| Field::Name(&mut config.log.name),
    )
    .in_log("name"),
    value("log_tags", "LIST", "tags of every run, where the backend has them", |config| {
        Field::List(&mut config.log.tags)
    })
    .in_log("tags"),
    value("log_flush_interval", "TIME", "what a kill may lose [default: 2s]", |config| {
        Field::Time(&mut config.log.flush_interval)
    })
    .in_log("flush_interval"),
];

impl SuiteConfig {
    /// For which programs metrics are logged ([`Backend::TensorBoard`]); an empty list is none. None
    /// of what is set about logging is part of a run's identity.
    ///
    /// ```
    /// use rle::metrics::Backend;
    ///
    /// let suite = rle::SuiteConfig::new("pursuit")
    ///     .log_backends([Backend::TensorBoard, Backend::Wandb])
    ///     .log_project("shields");
    /// # let _ = suite;
    /// ```
    pub fn log_backends(mut self, backends: impl IntoIterator<Item = Backend>) -> Self {
        let backends = self.log.backends.insert(backends.into_iter().collect());
        backends.sort_unstable();
        backends.dedup();
        self
    }

    /// The project that runs belong to (the environment's name).
    pub fn log_project(mut self, project: impl Into<String>) -> Self {
        self.log.project = Some(project.into());
        self
    }

    /// The experiment within the project (the export directory's last component).
    pub fn log_name(mut self, name: impl Into<String>) -> Self {
        self.log.name = Some(name.into());
        self
    }

    /// Where metrics are logged (`_logs` in the export directory); a relative path counts from the
    /// current directory.
    pub fn log_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.log.dir = Some(path.into());
        self
    }

    /// What W&B and SwanLab do beyond files (nothing: [`LogMode::Offline`]).
    pub fn log_mode(mut self, mode: LogMode) -> Self {
        self.log.mode = Some(LogModeSetting::Mode(mode));
        self
    }

    /// Tags of every run, where the backend has them.
    pub fn log_tags<I, S>(mut self, tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.log.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// How much of the metrics a killed process may lose (2 s).
    pub fn log_flush_interval(mut self, interval: Duration) -> Self {
        self.log.flush_interval = Some(interval);
        self
    }

    /// What the generated program's console shows: `error`, `warn`, `info` (the default), `debug`,
    /// `trace` or `off`, unless `RLE_LOG` or `RUST_LOG` say more.
    pub fn log_level(mut self, level: impl Into<String>) -> Self {
        self.log.level = Some(level.into());
        self
    }
}
