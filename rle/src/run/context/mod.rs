//! What a trainer sees of its run, and a prepare of its work.
//!
//! Never decides what runs, and writes no record.
//!
//! - `test_run`: a run's context without a runner, for unit tests of algorithms.

mod test_run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::metrics::{LogStep, LogValue, MetricSink};
use crate::run::{Checkpoint, Progress, RunResult, Seeds, Stop, artifacts};
use crate::sync::Mutex;
use crate::value::Value;
use crate::{Error, SlotId, profile};

pub use test_run::TestRun;

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
    suite: Arc<SuiteFacts>,
    required: BTreeMap<String, PathBuf>,
    progress: Progress,
    timings: Mutex<Vec<RecordedTiming>>,
}

impl Common {
    pub(crate) fn new(
        suite: Arc<SuiteFacts>,
        required: BTreeMap<String, PathBuf>,
        progress: Progress,
    ) -> Self {
        Self { suite, required, progress, timings: Mutex::default() }
    }

    fn required(&self, label: &str) -> Result<PathBuf, Error> {
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

    fn record_timing(&self, stage: &str, seconds: f64, label: Option<&str>) -> Result<(), Error> {
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

fn typed<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, Error> {
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

/// One seeded run as its algorithm sees it. Cheap to clone, shareable across threads.
#[derive(Clone, Debug)]
pub struct RunContext(Arc<RunParts>);

/// What the runner knows when it starts a run.
#[derive(Debug)]
pub(crate) struct RunParts {
    pub(crate) common: Common,
    pub(crate) name: String,
    pub(crate) slot: SlotId,
    pub(crate) seeds: Seeds,
    pub(crate) config: Value,
    pub(crate) prepared: Option<Value>,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) logger: MetricSink,
    pub(crate) stop: Stop,
}

common_methods!(RunContext, RunParts);

impl RunContext {
    /// The algorithm's display label.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The algorithm's slug.
    #[must_use]
    pub fn slug(&self) -> &str {
        self.0.slot.slug().as_str()
    }

    /// Zero-based index of this run.
    #[must_use]
    pub fn run_idx(&self) -> u32 {
        self.0.slot.run_idx()
    }

    /// Size of the suite's run window.
    #[must_use]
    pub fn num_runs(&self) -> u32 {
        self.0.common.suite.num_runs
    }

    /// The learner seed: base seed + run index.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.0.seeds.learner()
    }

    /// All named seeds of this run; `learner` is always among them.
    #[must_use]
    pub fn seeds(&self) -> &BTreeMap<String, u64> {
        self.0.seeds.by_domain()
    }

    /// A seed for the random stream `domain` ("env", "evaluation"), the same for every
    /// algorithm, so that algorithms are compared on the same environments.
    ///
    /// 64 bits of SHA-256 over the length-prefixed fields `rle-stream-v1`, environment name,
    /// root seed (8 bytes, little-endian) and domain; the root is the seed that the suite maps
    /// to that domain, else the learner's.
    #[must_use]
    pub fn stream(&self, domain: &str) -> u64 {
        self.0.seeds.stream(&self.0.common.suite.env_name, domain, &[])
    }

    /// The `index`th stream of a domain: for parallel environments.
    #[must_use]
    pub fn stream_at(&self, domain: &str, index: u64) -> u64 {
        let extra: [&[u8]; 2] = [b"index", &index.to_le_bytes()];
        self.0.seeds.stream(&self.0.common.suite.env_name, domain, &extra)
    }

    /// A seed for a stream of this algorithm alone ("policy", "exploration").
    #[must_use]
    pub fn algorithm_stream(&self, domain: &str) -> u64 {
        let extra: [&[u8]; 2] = [b"algorithm", self.slug().as_bytes()];
        self.0.seeds.stream(&self.0.common.suite.env_name, domain, &extra)
    }

    /// The algorithm's resolved configuration, defaults filled in.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.0.config
    }

    /// The algorithm's resolved configuration as a type of the user's.
    ///
    /// # Errors
    /// When it does not fit, naming the key.
    pub fn config_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        typed(self.config(), "config")
    }

    /// This algorithm's directory: `<export_dir>/<slug>`.
    #[must_use]
    pub fn algorithm_dir(&self) -> PathBuf {
        self.0.common.suite.export_dir.join(self.slug())
    }

    /// A path for an output of this run, below
    /// `<export_dir>/<slug>/artifacts/run_<run_idx>/`; parent directories are made.
    ///
    /// # Errors
    /// When the name is empty, absolute, holds `..`, or leaves that directory through a symlink.
    pub fn artifact_path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        artifacts::contained_path(
            &artifacts::run_directory(&self.0.common.suite.export_dir, &self.0.slot),
            name.as_ref(),
        )
    }

    /// What this algorithm's prepare returned.
    ///
    /// # Errors
    /// When it has none, or the value does not fit the type.
    pub fn prepared<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let value = self.0.prepared.as_ref().ok_or_else(|| {
            Error::usage(format!(
                "algorithm `{}` has no prepare; declare one with #[rle::prepare(..)]",
                self.0.name
            ))
        })?;
        typed(value, "prepared")
    }

    /// This run's checkpoints.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.0.checkpoint
    }

    /// Whether the run shall stop: a signal came, or the time of `--stop-after` or `--timeout`
    /// is over. Cheap; ask it often, then save a checkpoint and return
    /// [`interrupted`](Self::interrupted).
    ///
    /// An algorithm that never asks is ended with the process by the first signal.
    #[must_use]
    pub fn should_stop(&self) -> bool {
        self.0.stop.poll()
    }

    /// The result of a run that stopped on request: `return Ok(ctx.interrupted())`. Its record
    /// says `interrupted`, and the next start goes on from its checkpoint.
    pub fn interrupted(&self) -> RunResult {
        RunResult { interrupted: true, ..RunResult::default() }
    }

    /// Marks the end of an epoch: with `RLE_DEBUG` the summary of its timed stages is logged, as
    /// [`profile::print_summary`](crate::profile::print_summary) does, and begins anew. Without it
    /// nothing happens.
    pub fn epoch_end(&self) {
        if profile::is_debug() {
            profile::print_summary(true);
        }
    }

    /// Logs a value: to the backends that the suite asks for, TensorBoard unless it says otherwise.
    /// The last value of each name is a metric of the record too, unless the algorithm returns one
    /// of that name; what begins `time_profile/` never is.
    ///
    /// Logging takes a fraction of a microsecond, never fails, and never fails a run. Steps are best
    /// counted in one unit throughout a run, such as environment steps.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let ctx = rle::RunContext::for_test(dir.path()).build();
    /// for step in 0..100_u64 {
    ///     ctx.log("train/loss", 1.0 / (step + 1) as f64, step);
    /// }
    /// ctx.log_many(&[("eval/return", 195.5), ("eval/length", 200.0)], 100_u64);
    /// assert_eq!(ctx.logger().last_values()["train/loss"], 0.01);
    /// # anyhow::Ok(())
    /// ```
    pub fn log(&self, name: impl AsRef<str>, value: impl LogValue, step: impl LogStep) {
        self.0.logger.log(name.as_ref(), value.as_logged(), step.as_step());
    }

    /// Logs several values of one step.
    pub fn log_many<N: AsRef<str>>(&self, values: &[(N, impl LogValue)], step: impl LogStep) {
        let values: Vec<(&str, f64)> =
            values.iter().map(|(name, value)| (name.as_ref(), value.as_logged())).collect();
        self.0.logger.log_many(&values, step.as_step());
    }

    /// What this run's metrics are logged to, for code that has no context.
    #[must_use]
    pub fn logger(&self) -> &MetricSink {
        &self.0.logger
    }
}

/// A prepare step as its function sees it. Cheap to clone, shareable across threads.
#[derive(Clone, Debug)]
pub struct PrepareContext(Arc<PrepareParts>);

/// What the runner knows when it starts a prepare.
#[derive(Debug)]
pub(crate) struct PrepareParts {
    pub(crate) common: Common,
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    /// None where several algorithms share the prepare.
    pub(crate) config: Option<Value>,
}

common_methods!(PrepareContext, PrepareParts);

impl PrepareContext {
    /// The resolved configuration of the one algorithm that this prepare serves.
    ///
    /// # Errors
    /// When several algorithms share the prepare, or the value does not fit the type.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let value = self.0.config.as_ref().ok_or_else(|| {
            Error::usage(format!(
                "prepare `{}` serves several algorithms and so has no configuration of one; use \
                 common_config, or a prepare for each",
                self.0.name
            ))
        })?;
        typed(value, "config")
    }

    /// A path for a file of this prepare; parent directories are made.
    ///
    /// # Errors
    /// When the name is empty, absolute, holds `..`, or leaves the directory through a symlink.
    pub fn artifact_path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        artifacts::contained_path(&self.0.directory, name.as_ref())
    }
}
