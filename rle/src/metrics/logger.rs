//! The interface of all backends, and what they report at the end of a run.

use std::io;
use std::path::PathBuf;

use super::run::RunOutcome;
use super::sink::{Batch, RunClock};
use super::upload::Upload;

/// Writes the metrics of one run for one backend. Only the writer thread calls it.
///
/// No error of a logger fails the run: the first error of a run is a warning, and lost points are
/// counted.
pub trait MetricLogger: Send {
    /// The name in messages: `tensorboard`.
    fn name(&self) -> &'static str;

    /// Where the files are.
    fn directory(&self) -> PathBuf;

    /// Creates the files, before any other call.
    ///
    /// A resumed run keeps what was logged up to the step `kept_through`; everything after it is
    /// superseded. `None` is a run from the start.
    ///
    /// # Errors
    /// When the files cannot be created; the logger is not called again then.
    fn start(&mut self, clock: RunClock, kept_through: Option<i64>) -> io::Result<()>;

    /// Writes a batch so that a kill of the process does not lose it.
    ///
    /// # Errors
    /// When the system refuses the write, with the number of points that are lost. The next call
    /// tries again.
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError>;

    /// Writes the end of the run; `None` is a run that crashed.
    ///
    /// # Errors
    /// As [`write`](Self::write); there is no further call.
    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), WriteError>;

    /// Points so far that the format cannot hold.
    fn unfit(&self) -> u64 {
        0
    }

    /// How the vendor's own tool uploads the run, where there is one.
    fn upload(&self) -> Option<Upload> {
        None
    }
}

/// A failed write and the points that it lost.
#[derive(Debug)]
pub struct WriteError {
    /// Points that never reach the file.
    pub lost: u64,
    /// The system's error.
    pub source: io::Error,
}

impl From<io::Error> for WriteError {
    fn from(source: io::Error) -> Self {
        Self { lost: 0, source }
    }
}

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
