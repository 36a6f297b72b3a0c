//! How slots are run: how many at once, how often, for how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::suite::config::field::Field;
use crate::suite::config::setting::{NO_CHILD, Setting, boolean, value};
use crate::suite::config::{OnBusy, SuiteConfig};

/// How slots are run: how many at once, how often, for how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExecutionOptions {
    pub(crate) jobs: u32,
    pub(crate) gpus_per_run: u32,
    pub(crate) fail_fast: bool,
    pub(crate) retries: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stop_after: Option<Duration>,
    pub(crate) on_busy: OnBusy,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self {
            jobs: 1,
            gpus_per_run: 0,
            fail_fast: false,
            retries: 0,
            timeout: None,
            stop_after: None,
            on_busy: OnBusy::Skip,
        }
    }
}

pub(in crate::suite::config) const SETTINGS: &[Setting] = &[
    value("jobs", "N", "run N slots at once, each in a process of its own", |config| {
        Field::Count(&mut config.execution.jobs)
    })
    .inherited_by(NO_CHILD),
    value("gpus_per_run", "N", "GPUs that each of the runs at once has for itself", |config| {
        Field::Count(&mut config.execution.gpus_per_run)
    })
    .inherited_by(NO_CHILD),
    boolean("fail_fast", "begin no further slot after one failed", |config| {
        Field::Bool(&mut config.execution.fail_fast)
    })
    .inherited_by(NO_CHILD),
    value("retries", "N", "try a slot that failed so many times again", |config| {
        Field::Count(&mut config.execution.retries)
    })
    .inherited_by(NO_CHILD),
    value("timeout", "TIME", "end a run that takes longer: 90s, 2h 30m", |config| {
        Field::Time(&mut config.execution.timeout)
    })
    .inherited_by(NO_CHILD),
    value("stop_after", "TIME", "stop the whole start then, as at a signal", |config| {
        Field::Time(&mut config.execution.stop_after)
    })
    .inherited_by(NO_CHILD),
    value(
        "on_busy",
        "WHAT",
        "wait, skip or fail when another process holds a slot [default: skip]",
        |config| Field::OnBusy(&mut config.execution.on_busy),
    ),
];

impl SuiteConfig {
    /// Runs so many slots at once, each in a process of its own (1, in this process). Only a
    /// program made by `#[rle::main]` can.
    pub fn jobs(mut self, jobs: u32) -> Self {
        self.execution.jobs = jobs;
        self
    }

    /// How many GPUs each of the runs at once has for itself (0: all see all).
    pub fn gpus_per_run(mut self, gpus: u32) -> Self {
        self.execution.gpus_per_run = gpus;
        self
    }

    /// Whether no further slot is begun after one failed (the others go on).
    pub fn fail_fast(mut self, fail_fast: bool) -> Self {
        self.execution.fail_fast = fail_fast;
        self
    }

    /// How often a slot that failed is tried again in the same start (never).
    pub fn retries(mut self, retries: u32) -> Self {
        self.execution.retries = retries;
        self
    }

    /// How long a run may take. It is then asked to stop, through
    /// [`RunContext::should_stop`](crate::RunContext::should_stop). A program made by
    /// `#[rle::main]` runs it in a process of its own, which is killed 5 s later; [`Suite::run`](crate::Suite::run)
    /// can do no more than ask.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.execution.timeout = Some(timeout);
        self
    }

    /// After how long the whole start stops, as at a signal: runs save and end, none begins any
    /// more, and the next start goes on.
    pub fn stop_after(mut self, stop_after: Duration) -> Self {
        self.execution.stop_after = Some(stop_after);
        self
    }

    /// What to do about a slot that another process holds.
    pub fn on_busy(mut self, on_busy: OnBusy) -> Self {
        self.execution.on_busy = on_busy;
        self
    }
}
