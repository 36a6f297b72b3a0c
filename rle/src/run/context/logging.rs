//! What a trainer logs.

use super::RunContext;
use crate::metrics::{LogStep, LogValue, MetricSink};

impl RunContext {
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
