//! What a run's loggers report at its end.

use std::path::PathBuf;

use super::upload::Upload;

/// How many points of a run were written and lost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LogReport {
    /// Points that found the queue full.
    pub dropped: u64,
    /// Points whose name is not accepted.
    pub refused: u64,
    /// A report for each backend, in the order of the options.
    pub backends: Vec<BackendReport>,
}

impl LogReport {
    /// Points that are missing from at least one backend.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let in_backends = self.backends.iter().map(|backend| backend.lost).max().unwrap_or(0);
        self.dropped + self.refused + in_backends
    }
}

/// How many points one backend wrote and lost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackendReport {
    /// Its name.
    pub name: &'static str,
    /// Where its files are.
    pub directory: PathBuf,
    /// Points that the system refused to write.
    pub lost: u64,
    /// Points that the format cannot hold: for W&B, those of a step before one already written.
    pub unfit: u64,
    /// The first error, if there was one.
    pub problem: Option<String>,
    /// How the vendor's own tool uploads the run.
    pub upload: Option<Upload>,
}
