//! What the contexts of runs and of prepares have in common.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::Error;
use crate::run::Progress;
use crate::sync::Mutex;
use crate::value::Value;

/// What all runs of a suite share.
#[derive(Debug)]
pub(crate) struct SuiteFacts {
    pub(crate) env_name: String,
    pub(crate) env_config: Value,
    pub(crate) common_config: Value,
    /// Absolute.
    pub(crate) export_dir: PathBuf,
    pub(crate) num_runs: u32,
}

/// A duration given to `record_timing`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedTiming {
    pub(crate) stage: String,
    pub(crate) seconds: f64,
    pub(crate) label: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Common {
    pub(super) suite: Arc<SuiteFacts>,
    pub(super) required: BTreeMap<String, PathBuf>,
    pub(super) progress: Progress,
    pub(super) timings: Mutex<Vec<RecordedTiming>>,
}

impl Common {
    pub(crate) fn new(
        suite: Arc<SuiteFacts>,
        required: BTreeMap<String, PathBuf>,
        progress: Progress,
    ) -> Self {
        Self { suite, required, progress, timings: Mutex::default() }
    }

    pub(super) fn required(&self, label: &str) -> Result<PathBuf, Error> {
        self.required.get(label).cloned().ok_or_else(|| {
            let declared: Vec<_> = self.required.keys().map(|key| format!("`{key}`")).collect();
            let declared =
                if declared.is_empty() { "none".to_owned() } else { declared.join(", ") };
            Error::usage(format!(
                "no required artifact `{label}` is declared (declared: {declared}); add \
                 requires({label} = \"path\")"
            ))
        })
    }

    pub(super) fn record_timing(
        &self,
        stage: &str,
        seconds: f64,
        label: Option<&str>,
    ) -> Result<(), Error> {
        if stage.is_empty() {
            return Err(Error::usage("record_timing: the stage name is empty"));
        }
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(Error::usage(format!(
                "record_timing: stage `{stage}` took {seconds} s; a duration is finite and not negative"
            )));
        }
        let label = label.map(ToOwned::to_owned);
        self.timings.lock().push(RecordedTiming { stage: stage.to_owned(), seconds, label });
        Ok(())
    }
}

pub(super) fn typed<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, Error> {
    value.to::<T>().map_err(|error| Error::Value(error.under_key(what)))
}

/// The methods that both contexts have; their parts have a [`Common`].
macro_rules! common_methods {
    ($context:ident, $parts:ident) => {
        impl $context {
            pub(crate) fn from_parts(parts: $parts) -> Self {
                Self(Arc::new(parts))
            }

            /// The environment's name.
            #[must_use]
            pub fn env_name(&self) -> &str {
                &self.0.common.suite.env_name
            }

            /// The environment's configuration.
            #[must_use]
            pub fn env_config(&self) -> &Value {
                &self.0.common.suite.env_config
            }

            /// The environment's configuration as a type of the user's.
            ///
            /// # Errors
            /// When it does not fit, naming the key.
            pub fn env_config_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
                typed(self.env_config(), "env_config")
            }

            /// The configuration that all algorithms share.
            #[must_use]
            pub fn common_config(&self) -> &Value {
                &self.0.common.suite.common_config
            }

            /// The suite's export directory, absolute.
            #[must_use]
            pub fn export_dir(&self) -> &Path {
                &self.0.common.suite.export_dir
            }

            /// The path of a required artifact, by its label.
            ///
            /// # Errors
            /// When no artifact of that label is declared.
            pub fn required(&self, label: &str) -> Result<PathBuf, Error> {
                self.0.common.required(label)
            }

            /// How far it is.
            #[must_use]
            pub fn progress(&self) -> &Progress {
                &self.0.common.progress
            }

            /// Adds a duration in seconds to the timings, as an entry under a label of its own.
            ///
            /// # Errors
            /// When the stage has no name or the duration is negative or not finite.
            pub fn record_timing<'a>(
                &self,
                stage: impl AsRef<str>,
                seconds: f64,
                label: impl Into<Option<&'a str>>,
            ) -> Result<(), Error> {
                self.0.common.record_timing(stage.as_ref(), seconds, label.into())
            }

            pub(crate) fn recorded_timings(&self) -> Vec<RecordedTiming> {
                self.0.common.timings.lock().clone()
            }
        }
    };
}

pub(super) use common_methods;
