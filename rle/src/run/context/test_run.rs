//! A run's context without a runner, for unit tests of algorithms.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Common, RunContext, RunParts, SuiteFacts};
use crate::metrics::MetricSink;
use crate::run::{Checkpoint, Latest, Progress, Seeds, Stop, checkpoint};
use crate::value::Value;
use crate::{SlotId, Slug};

/// In place of a request's hash: all contexts for tests are of one request.
const TEST_REQUEST: &str = "test";

impl RunContext {
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
}

/// Builds a [`RunContext`] for a unit test: see [`RunContext::for_test`].
#[derive(Debug)]
#[must_use]
pub struct TestRun {
    suite: SuiteFacts,
    name: String,
    run_idx: u32,
    base_seed: u64,
    config: Value,
    prepared: Option<Value>,
    required: BTreeMap<String, PathBuf>,
    checkpoints: bool,
    stopping: bool,
}

impl TestRun {
    fn new(export_dir: PathBuf) -> Self {
        Self {
            suite: SuiteFacts {
                env_name: "test".to_owned(),
                env_config: Value::object(),
                common_config: Value::object(),
                export_dir,
                num_runs: 1,
            },
            name: "test".to_owned(),
            run_idx: 0,
            base_seed: 0,
            config: Value::object(),
            prepared: None,
            required: BTreeMap::new(),
            checkpoints: false,
            stopping: false,
        }
    }

    /// The environment's name (`test`).
    pub fn env_name(mut self, name: impl Into<String>) -> Self {
        self.suite.env_name = name.into();
        self
    }

    /// The environment's configuration (empty).
    ///
    /// # Panics
    /// When it has no JSON form.
    pub fn env_config(mut self, config: impl serde::Serialize) -> Self {
        self.suite.env_config = valid_in_test(Value::from_serialize(&config));
        self
    }

    /// One key of the shared configuration.
    ///
    /// # Panics
    /// When the value has no JSON form.
    pub fn common(mut self, key: impl Into<String>, value: impl serde::Serialize) -> Self {
        self.suite.common_config.insert(key, valid_in_test(Value::from_serialize(&value)));
        self
    }

    /// The algorithm's label (`test`); its slug follows from it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The algorithm's configuration as [`RunContext::config`] gives it (empty).
    ///
    /// # Panics
    /// When it has no JSON form.
    pub fn config(mut self, config: impl serde::Serialize) -> Self {
        self.config = valid_in_test(Value::from_serialize(&config));
        self
    }

    /// Size of the run window (large enough for the run index).
    pub fn num_runs(mut self, num_runs: u32) -> Self {
        self.suite.num_runs = num_runs;
        self
    }

    /// The run index (0).
    pub fn run_idx(mut self, run_idx: u32) -> Self {
        self.run_idx = run_idx;
        self
    }

    /// The base seed (0); the learner seed is base seed + run index.
    pub fn seed(mut self, base_seed: u64) -> Self {
        self.base_seed = base_seed;
        self
    }

    /// What the prepare would have returned.
    ///
    /// # Panics
    /// When it has no JSON form.
    pub fn prepared(mut self, value: impl serde::Serialize) -> Self {
        self.prepared = Some(valid_in_test(Value::from_serialize(&value)));
        self
    }

    /// A required artifact.
    pub fn required(mut self, label: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.required.insert(label.into(), path.into());
        self
    }

    /// Whether checkpoints are saved below the export directory (they are not), and offered to
    /// the next context of the same directory.
    pub fn checkpoints(mut self, checkpoints: bool) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// Whether [`should_stop`](RunContext::should_stop) is true from the start (it is not).
    pub fn stopping(mut self, stopping: bool) -> Self {
        self.stopping = stopping;
        self
    }

    /// The context.
    ///
    /// # Panics
    /// When the label gives no slug, or the seed overflows.
    #[must_use]
    pub fn build(self) -> RunContext {
        let Self { mut suite, name, run_idx, .. } = self;
        let slug = valid_in_test(Slug::new(Slug::text_from_label(&name)));
        let seeds = valid_in_test(Seeds::of_run(self.base_seed, run_idx, None));
        suite.export_dir = std::path::absolute(&suite.export_dir).unwrap_or(suite.export_dir);
        suite.num_runs = suite.num_runs.max(run_idx.saturating_add(1));
        let slot = SlotId::new(slug, run_idx);
        let latest = match checkpoint::find(&suite.export_dir, &slot, TEST_REQUEST) {
            Ok(checkpoint::Found::Latest { latest, .. }) if self.checkpoints => Some(latest),
            _ => None,
        };
        let logger = MetricSink::without_loggers();
        if let Some(logged) = latest.as_ref().and_then(Latest::logged) {
            logger.resume_from(logged);
        }
        let checkpoint = Checkpoint::new(checkpoint::Setup {
            export_dir: suite.export_dir.clone(),
            slot: slot.clone(),
            request_hash: TEST_REQUEST.to_owned(),
            enabled: self.checkpoints,
            attempt: 1,
            latest,
            seconds_before: 0.0,
            stop_at_save: None,
        });
        checkpoint.log_with(logger.clone());
        let stop = Stop::default();
        if self.stopping {
            let _ = stop.poll();
            stop.request("the test asks for it");
        }
        RunContext::from_parts(RunParts {
            common: Common::new(Arc::new(suite), self.required, Progress::default()),
            name,
            slot,
            seeds,
            config: self.config,
            prepared: self.prepared,
            checkpoint,
            logger,
            stop,
        })
    }
}

fn valid_in_test<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("RunContext::for_test: {error}"))
}
