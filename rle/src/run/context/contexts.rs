//! What a trainer sees of its run, and a prepare of its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::common::{Common, RecordedTiming, common_methods, typed};
use crate::metrics::{LogStep, LogValue, MetricSink};
use crate::run::{Checkpoint, Progress, RunResult, Seeds, Stop, artifacts};
use crate::value::Value;
use crate::{Error, SlotId, profile};

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
