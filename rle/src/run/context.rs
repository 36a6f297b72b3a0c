//! What a trainer or a prepare sees of its run.

mod logging;
mod test_run;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use serde::de::DeserializeOwned;

use crate::Error;
use crate::metrics::MetricSink;
use crate::names::SlotId;
use crate::profile;
use crate::run::artifacts;
use crate::run::checkpoint::Checkpoint;
use crate::run::progress::Progress;
use crate::run::result::RunResult;
use crate::run::seeds::Seeds;
use crate::run::stop::Stop;
use crate::sync::Mutex;
use crate::value::Value;

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

/// A duration handed over with `record_timing`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedTiming {
    pub(crate) stage: String,
    pub(crate) seconds: f64,
    pub(crate) label: Option<String>,
}

/// Durations recorded by hand during one run or prepare.
#[derive(Debug, Default)]
struct TimingSheet(Mutex<Vec<RecordedTiming>>);

impl TimingSheet {
    fn lock(&self) -> MutexGuard<'_, Vec<RecordedTiming>> {
        self.0.lock()
    }

    fn record(&self, stage: &str, seconds: f64, label: Option<&str>) -> Result<(), Error> {
        if stage.is_empty() {
            return Err(Error::usage("record_timing: the stage name is empty"));
        }
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(Error::usage(format!(
                "record_timing: stage `{stage}` took {seconds} s; a duration is finite and not negative"
            )));
        }
        let label = label.map(ToOwned::to_owned);
        self.lock().push(RecordedTiming { stage: stage.to_owned(), seconds, label });
        Ok(())
    }
}

#[derive(Debug)]
struct RunState {
    suite: Arc<SuiteFacts>,
    name: String,
    slot: SlotId,
    seeds: Seeds,
    config: Value,
    prepared: Option<Value>,
    required: BTreeMap<String, PathBuf>,
    progress: Progress,
    timings: TimingSheet,
    checkpoint: Checkpoint,
    logger: MetricSink,
    stop: Stop,
}

/// One seeded run as its algorithm sees it. Cheap to clone, shareable across threads.
#[derive(Clone, Debug)]
pub struct RunContext(Arc<RunState>);

/// What the runner knows when it starts a run.
pub(crate) struct RunParts {
    pub(crate) suite: Arc<SuiteFacts>,
    pub(crate) name: String,
    pub(crate) slot: SlotId,
    pub(crate) seeds: Seeds,
    pub(crate) config: Value,
    pub(crate) prepared: Option<Value>,
    pub(crate) required: BTreeMap<String, PathBuf>,
    pub(crate) progress: Progress,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) logger: MetricSink,
    pub(crate) stop: Stop,
}

impl RunContext {
    pub(crate) fn from_parts(parts: RunParts) -> Self {
        let RunParts {
            suite,
            name,
            slot,
            seeds,
            config,
            prepared,
            required,
            progress,
            checkpoint,
            logger,
            stop,
        } = parts;
        let timings = TimingSheet::default();
        Self(Arc::new(RunState {
            suite,
            name,
            slot,
            seeds,
            config,
            prepared,
            required,
            progress,
            timings,
            checkpoint,
            logger,
            stop,
        }))
    }

    /// A context for testing an algorithm without a runner; files go below `export_dir`.
    ///
    /// ```no_run
    /// # use rle::{RunContext, RunResult};
    /// # fn ippo(ctx: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) }
    /// let ctx = RunContext::for_test("target/test-run").run_idx(1).seed(7).build();
    /// let result = ippo(&ctx);
    /// ```
    pub fn for_test(export_dir: impl Into<PathBuf>) -> TestRun {
        TestRun::new(export_dir.into())
    }

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
        self.0.suite.num_runs
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
        self.0.seeds.stream(&self.0.suite.env_name, domain, &[])
    }

    /// The `index`th stream of a domain: for parallel environments.
    #[must_use]
    pub fn stream_at(&self, domain: &str, index: u64) -> u64 {
        let extra: [&[u8]; 2] = [b"index", &index.to_le_bytes()];
        self.0.seeds.stream(&self.0.suite.env_name, domain, &extra)
    }

    /// A seed for a stream of this algorithm alone ("policy", "exploration").
    #[must_use]
    pub fn algorithm_stream(&self, domain: &str) -> u64 {
        let extra: [&[u8]; 2] = [b"algorithm", self.slug().as_bytes()];
        self.0.seeds.stream(&self.0.suite.env_name, domain, &extra)
    }

    /// The environment's name.
    #[must_use]
    pub fn env_name(&self) -> &str {
        &self.0.suite.env_name
    }

    /// The environment's configuration.
    #[must_use]
    pub fn env_config(&self) -> &Value {
        &self.0.suite.env_config
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
        &self.0.suite.common_config
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

    /// The suite's export directory, absolute.
    #[must_use]
    pub fn export_dir(&self) -> &Path {
        &self.0.suite.export_dir
    }

    /// This algorithm's directory: `<export_dir>/<slug>`.
    #[must_use]
    pub fn algorithm_dir(&self) -> PathBuf {
        self.0.suite.export_dir.join(self.slug())
    }

    /// A path for an output of this run, below
    /// `<export_dir>/<slug>/artifacts/run_<run_idx>/`; parent directories are made.
    ///
    /// # Errors
    /// When the name is empty, absolute, holds `..`, or leaves that directory through a symlink.
    pub fn artifact_path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        artifacts::contained_path(
            &artifacts::run_directory(&self.0.suite.export_dir, &self.0.slot),
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

    /// The path of a required artifact, by its label.
    ///
    /// # Errors
    /// When the algorithm declares none of that label.
    pub fn required(&self, label: &str) -> Result<PathBuf, Error> {
        required(&self.0.required, label)
    }

    /// The progress of this run.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.0.progress
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

    /// Adds a duration in seconds to this run's timings, as an entry under a label of its own.
    ///
    /// # Errors
    /// When the stage has no name or the duration is negative or not finite.
    pub fn record_timing<'a>(
        &self,
        stage: impl AsRef<str>,
        seconds: f64,
        label: impl Into<Option<&'a str>>,
    ) -> Result<(), Error> {
        self.0.timings.record(stage.as_ref(), seconds, label.into())
    }

    pub(crate) fn recorded_timings(&self) -> Vec<RecordedTiming> {
        self.0.timings.lock().clone()
    }
}

#[derive(Debug)]
struct PrepareState {
    suite: Arc<SuiteFacts>,
    name: String,
    directory: PathBuf,
    config: Option<Value>,
    required: BTreeMap<String, PathBuf>,
    progress: Progress,
    timings: TimingSheet,
}

/// A prepare step as its function sees it. Cheap to clone, shareable across threads.
#[derive(Clone, Debug)]
pub struct PrepareContext(Arc<PrepareState>);

/// What the runner knows when it starts a prepare.
pub(crate) struct PrepareParts {
    pub(crate) suite: Arc<SuiteFacts>,
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    /// None where several algorithms share the prepare.
    pub(crate) config: Option<Value>,
    pub(crate) required: BTreeMap<String, PathBuf>,
    pub(crate) progress: Progress,
}

impl PrepareContext {
    pub(crate) fn from_parts(parts: PrepareParts) -> Self {
        let PrepareParts { suite, name, directory, config, required, progress } = parts;
        let timings = TimingSheet::default();
        Self(Arc::new(PrepareState { suite, name, directory, config, required, progress, timings }))
    }

    /// The environment's name.
    #[must_use]
    pub fn env_name(&self) -> &str {
        &self.0.suite.env_name
    }

    /// The environment's configuration.
    #[must_use]
    pub fn env_config(&self) -> &Value {
        &self.0.suite.env_config
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
        &self.0.suite.common_config
    }

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

    /// The suite's export directory, absolute.
    #[must_use]
    pub fn export_dir(&self) -> &Path {
        &self.0.suite.export_dir
    }

    /// A path for a file of this prepare; parent directories are made.
    ///
    /// # Errors
    /// When the name is empty, absolute, holds `..`, or leaves the directory through a symlink.
    pub fn artifact_path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        artifacts::contained_path(&self.0.directory, name.as_ref())
    }

    /// The path of a required artifact of one of its algorithms, by its label.
    ///
    /// # Errors
    /// When none declares that label.
    pub fn required(&self, label: &str) -> Result<PathBuf, Error> {
        required(&self.0.required, label)
    }

    /// The progress of this step.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.0.progress
    }

    /// Adds a duration in seconds to this prepare's timings, as an entry under a label of its own.
    ///
    /// # Errors
    /// When the stage has no name or the duration is negative or not finite.
    pub fn record_timing<'a>(
        &self,
        stage: impl AsRef<str>,
        seconds: f64,
        label: impl Into<Option<&'a str>>,
    ) -> Result<(), Error> {
        self.0.timings.record(stage.as_ref(), seconds, label.into())
    }

    pub(crate) fn recorded_timings(&self) -> Vec<RecordedTiming> {
        self.0.timings.lock().clone()
    }
}

fn typed<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, Error> {
    value.to::<T>().map_err(|error| Error::Value(error.under_key(what)))
}

fn required(paths: &BTreeMap<String, PathBuf>, label: &str) -> Result<PathBuf, Error> {
    paths.get(label).cloned().ok_or_else(|| {
        let declared: Vec<_> = paths.keys().map(|key| format!("`{key}`")).collect();
        let declared = if declared.is_empty() { "none".to_owned() } else { declared.join(", ") };
        Error::usage(format!(
            "no required artifact `{label}` is declared (declared: {declared}); add \
             requires({label} = \"path\")"
        ))
    })
}
