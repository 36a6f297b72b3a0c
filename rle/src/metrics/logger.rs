//! The one interface of all backends, and the thread that feeds them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::hand_over::HandOver;
use super::run::{LogOptions, LoggedRun, RunOutcome};
use super::sink::{Batch, Began, MetricSink, Queue, Taken};

/// How long the end of a run waits for a writer whose disk hangs.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// Writes one run for one program. The writer thread calls it; nobody else does.
///
/// No error of a logger reaches the run: the first of each run is a warning, and points are
/// counted.
pub trait MetricLogger: Send {
    /// The name for messages: `tensorboard`.
    fn name(&self) -> &'static str;

    /// Where the files lie.
    fn directory(&self) -> PathBuf;

    /// Makes the files, before anything else is called.
    ///
    /// A resumed run keeps what was logged up to `kept_through`; everything after it is
    /// superseded. `None` is a run from the start.
    ///
    /// # Errors
    /// When that is impossible; nothing else is called then.
    fn start(&mut self, began: Began, kept_through: Option<i64>) -> io::Result<()>;

    /// Writes a batch so that a kill of the process does not lose it.
    ///
    /// # Errors
    /// When the system refuses the write, with the points that are lost by now. The next call
    /// tries again.
    fn write(&mut self, batch: &Batch<'_>) -> Result<(), Fault>;

    /// Writes the end; `None` is a run that has ended without saying how.
    ///
    /// # Errors
    /// As [`write`](Self::write), for the last time.
    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), Fault>;

    /// Points so far for which the format has no place.
    fn unfit(&self) -> u64 {
        0
    }

    /// How the vendor's tool sends the run, where there is one.
    fn hand_over(&self) -> Option<HandOver> {
        None
    }
}

/// What a failed write costs.
#[derive(Debug)]
pub struct Fault {
    /// Points that will never reach the file.
    pub lost: u64,
    /// The system's answer.
    pub source: io::Error,
}

impl From<io::Error> for Fault {
    fn from(source: io::Error) -> Self {
        Self { lost: 0, source }
    }
}

/// What became of a run's points.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LogReport {
    /// Points that found the queue full.
    pub dropped: u64,
    /// Points whose name is not accepted.
    pub refused: u64,
    /// What each backend did, in the order of the options.
    pub backends: Vec<BackendReport>,
}

impl LogReport {
    /// Points that at least one backend should hold and does not.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let in_backends = self.backends.iter().map(|backend| backend.lost).max().unwrap_or(0);
        self.dropped + self.refused + in_backends
    }
}

/// What became of the points that reached one backend.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackendReport {
    /// Its name.
    pub name: &'static str,
    /// Where its files lie.
    pub directory: PathBuf,
    /// Points that the system refused to write.
    pub lost: u64,
    /// Points for which the format has no place: of a step behind one already written to W&B.
    pub unfit: u64,
    /// The first error, if there was one.
    pub problem: Option<String>,
    /// How the vendor's tool sends the run.
    pub hand_over: Option<HandOver>,
}

/// The loggers of one run: owns the writer thread.
///
/// Dropping it ends the files as a crash would, so that nothing looks complete that is not.
#[derive(Debug)]
#[must_use = "a run that is not finished is shown as crashed"]
pub struct RunLogger {
    queue: Arc<Queue>,
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    names: Vec<&'static str>,
    outcome: mpsc::Sender<RunOutcome>,
    report: Receiver<LogReport>,
}

impl RunLogger {
    /// Begins to log a run. Nothing is opened on the calling thread.
    pub fn start(options: &LogOptions, run: &LoggedRun) -> Self {
        let loggers = super::loggers(options, run);
        Self::with_loggers(loggers, options.flush_interval, run.resume_step)
    }

    /// As [`RunLogger::start`], but a run that logs nothing leaves no files, unless there are some
    /// of an earlier attempt.
    pub(crate) fn start_when_logging(options: &LogOptions, run: &LoggedRun) -> Self {
        let loggers = super::loggers(options, run);
        Self::begin(loggers, options.flush_interval, run.resume_step, true)
    }

    /// As [`RunLogger::start`], with loggers of the caller's own.
    pub fn with_loggers(
        loggers: Vec<Box<dyn MetricLogger>>,
        flush_interval: Duration,
        resume_step: Option<i64>,
    ) -> Self {
        Self::begin(loggers, flush_interval, resume_step, false)
    }

    fn begin(
        loggers: Vec<Box<dyn MetricLogger>>,
        flush_interval: Duration,
        resume_step: Option<i64>,
        waits: bool,
    ) -> Self {
        let queue = Arc::new(Queue::new(!loggers.is_empty()));
        let writer = (!loggers.is_empty())
            .then(|| {
                let mut loggers = Loggers::new(loggers, queue.began, resume_step);
                loggers.waits |= waits;
                Writer::start(&queue, loggers, flush_interval)
            })
            .flatten();
        Self { queue, writer }
    }

    /// What training threads log to.
    #[must_use]
    pub fn sink(&self) -> MetricSink {
        MetricSink::new(Arc::clone(&self.queue))
    }

    /// Writes what is left and the end of the run. Later points are ignored.
    ///
    /// A writer whose disk hangs is waited for for 30 seconds; what it still holds is lost.
    pub fn finish(mut self, outcome: RunOutcome) -> LogReport {
        let writer = self.writer.take();
        if let Some(writer) = &writer {
            // Received before the writer finds the queue closed; if it has died, so has the news.
            let _ = writer.outcome.send(outcome);
        }
        self.queue.close();
        let mut report = writer.map_or_else(LogReport::default, |writer| writer.wait(&self.queue));
        (report.dropped, report.refused) = self.queue.lost();
        report
    }
}

impl Drop for RunLogger {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            let Writer { outcome, report, .. } = writer;
            drop(outcome);
            // The writer ends by itself; a disk that hangs must not hold up an unwinding run.
            let _ = report.recv_timeout(LAST_WAIT);
        }
    }
}

impl Writer {
    fn start(queue: &Arc<Queue>, loggers: Loggers, flush_interval: Duration) -> Option<Self> {
        let names = loggers.fed.iter().map(|fed| fed.logger.name()).collect();
        let (outcome, outcomes) = mpsc::channel();
        let (sender, report) = mpsc::channel();
        let queue_of_writer = Arc::clone(queue);
        // Warnings go where those of the calling thread go.
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let work = move || {
            let run = || loggers.run(&queue_of_writer, flush_interval, &outcomes);
            // The receiver may have stopped waiting.
            let _ = sender.send(tracing::dispatcher::with_default(&dispatch, run));
        };
        match thread::Builder::new().name("rle-metrics".to_owned()).spawn(work) {
            Ok(_) => Some(Self { names, outcome, report }),
            Err(error) => {
                tracing::warn!("metrics are not logged: cannot start a thread for it: {error}");
                queue.close();
                None
            }
        }
    }

    fn wait(self, queue: &Queue) -> LogReport {
        let problem = match self.report.recv_timeout(LAST_WAIT) {
            Ok(report) => return report,
            Err(RecvTimeoutError::Timeout) => {
                format!("it was still writing {} s after the end", LAST_WAIT.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => "its writer has panicked".to_owned(),
        };
        tracing::warn!("metrics are incomplete: {problem}");
        let report = |name| BackendReport {
            name,
            directory: PathBuf::new(),
            lost: queue.waiting(),
            unfit: 0,
            problem: Some(problem.clone()),
            hand_over: None,
        };
        LogReport { backends: self.names.into_iter().map(report).collect(), ..LogReport::default() }
    }
}

/// The writer thread's own.
struct Loggers {
    began: Began,
    resume_step: Option<i64>,
    started: bool,
    /// Whether the first point starts it.
    waits: bool,
    fed: Vec<Fed>,
}

/// A logger and what it has cost.
struct Fed {
    logger: Box<dyn MetricLogger>,
    works: bool,
    lost: u64,
    problem: Option<String>,
}

impl Loggers {
    fn new(loggers: Vec<Box<dyn MetricLogger>>, began: Began, resume_step: Option<i64>) -> Self {
        let fed = |logger| Fed { logger, works: true, lost: 0, problem: None };
        let fed = loggers.into_iter().map(fed).collect();
        Self { began, resume_step, started: false, waits: resume_step.is_some(), fed }
    }

    fn run(
        mut self,
        queue: &Queue,
        interval: Duration,
        outcomes: &Receiver<RunOutcome>,
    ) -> LogReport {
        if !self.waits {
            self.start(None);
        }
        let mut taken = Taken::default();
        while !taken.closed {
            queue.take(interval, &mut taken);
            if taken.points.is_empty() {
                queue.wrote(taken.pushed);
                continue;
            }
            self.start(taken.points.first().map(|point| point.step));
            let batch = Batch { names: &taken.names, points: &taken.points, began: self.began };
            self.fed.iter_mut().for_each(|fed| fed.write(&batch));
            queue.wrote(taken.pushed);
        }
        if self.resume_step.is_some() || self.fed.iter().any(Fed::has_files) {
            self.start(None);
        }
        if !self.started {
            self.fed.iter_mut().for_each(|fed| fed.works = false);
        }
        let outcome = outcomes.recv().ok();
        let seconds = self.began.at(self.began.elapsed_nanos());
        let backends =
            self.fed.into_iter().map(|fed| fed.finish(outcome.as_ref(), seconds)).collect();
        LogReport { backends, ..LogReport::default() }
    }

    /// A resumed run starts with its first point, which tells whether the checkpoint's step
    /// itself is done again.
    fn start(&mut self, first_step: Option<i64>) {
        if self.started {
            return;
        }
        self.started = true;
        let kept_through = self
            .resume_step
            .map(|step| if first_step == Some(step) { step.saturating_sub(1) } else { step });
        for fed in &mut self.fed {
            if let Err(error) = fed.logger.start(self.began, kept_through) {
                fed.works = false;
                fed.warn(&error);
            }
        }
    }
}

impl Fed {
    fn has_files(&self) -> bool {
        self.logger.directory().exists()
    }

    fn write(&mut self, batch: &Batch<'_>) {
        if !self.works {
            self.lost += batch.points.len() as u64;
            return;
        }
        if let Err(fault) = self.logger.write(batch) {
            self.take(&fault);
        }
    }

    fn take(&mut self, fault: &Fault) {
        self.lost += fault.lost;
        self.warn(&fault.source);
    }

    fn warn(&mut self, error: &io::Error) {
        if self.problem.is_some() {
            return;
        }
        let (name, directory) = (self.logger.name(), self.logger.directory());
        tracing::warn!(
            "metrics for {name} are incomplete: cannot write in {}: {error}; the run goes on",
            directory.display()
        );
        self.problem = Some(error.to_string());
    }

    fn finish(mut self, outcome: Option<&RunOutcome>, seconds: f64) -> BackendReport {
        if self.works
            && let Err(fault) = self.logger.finish(outcome, seconds)
        {
            self.take(&fault);
        }
        BackendReport {
            name: self.logger.name(),
            directory: self.logger.directory(),
            lost: self.lost,
            unfit: self.logger.unfit(),
            problem: self.problem,
            hand_over: if self.works { self.logger.hand_over() } else { None },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    type Shared = Arc<Mutex<Vec<String>>>;

    /// Notes what is asked of it.
    struct Notes {
        notes: Shared,
        fails: bool,
    }

    impl Notes {
        fn note(&self, text: String) {
            self.notes.lock().unwrap().push(text);
        }
    }

    impl MetricLogger for Notes {
        fn name(&self) -> &'static str {
            "notes"
        }

        fn directory(&self) -> PathBuf {
            "notes".into()
        }

        fn start(&mut self, _: Began, kept_through: Option<i64>) -> io::Result<()> {
            self.note(format!("start {kept_through:?}"));
            if self.fails { Err(io::Error::other("no room")) } else { Ok(()) }
        }

        fn write(&mut self, batch: &Batch<'_>) -> Result<(), Fault> {
            for point in batch.points {
                self.note(format!("{} {}", batch.names[point.name as usize], point.step));
            }
            Ok(())
        }

        fn finish(&mut self, outcome: Option<&RunOutcome>, _: f64) -> Result<(), Fault> {
            self.note(format!("{outcome:?}"));
            Ok(())
        }
    }

    fn logger(resume_step: Option<i64>, fails: bool) -> (Shared, RunLogger) {
        let notes = Shared::default();
        let logger = Box::new(Notes { notes: Arc::clone(&notes), fails });
        let interval = Duration::from_mins(1);
        (notes, RunLogger::with_loggers(vec![logger], interval, resume_step))
    }

    #[test]
    fn a_run_is_written_in_order_and_ended_with_its_outcome() {
        let (notes, logger) = logger(None, false);
        let sink = logger.sink();
        sink.log("loss", 1.0, 0);
        sink.log("return", 1.0, 1);
        let report = logger.finish(RunOutcome::Complete);
        assert_eq!(report.lost(), 0);
        let expected = ["start None", "loss 0", "return 1", "Some(Complete)"];
        assert_eq!(*notes.lock().unwrap(), expected);
        sink.log("late", 1.0, 2);
        assert_eq!(notes.lock().unwrap().len(), 4);
    }

    #[test]
    fn a_resumed_run_does_its_checkpoints_step_again_only_when_it_logs_it() {
        for (first, start) in
            [(100, "start Some(99)"), (101, "start Some(100)"), (7, "start Some(100)")]
        {
            let (notes, logger) = logger(Some(100), false);
            logger.sink().log("loss", 1.0, first);
            let _ = logger.finish(RunOutcome::Complete);
            assert_eq!(notes.lock().unwrap()[0], start);
        }
        let (notes, logger) = logger(Some(100), false);
        let _ = logger.finish(RunOutcome::Interrupted);
        assert_eq!(*notes.lock().unwrap(), ["start Some(100)", "Some(Interrupted)"]);
    }

    #[test]
    fn a_run_that_waits_for_points_and_logs_none_leaves_no_files() {
        let (notes, logger) = logger(None, false);
        drop(logger);
        assert_eq!(notes.lock().unwrap().len(), 2);
        let notes = Shared::default();
        let waiting = Box::new(Notes { notes: Arc::clone(&notes), fails: false });
        let logger = RunLogger::begin(vec![waiting], Duration::from_mins(1), None, true);
        let report = logger.finish(RunOutcome::Complete);
        assert_eq!((report.lost(), report.backends[0].problem.clone()), (0, None));
        assert_eq!(*notes.lock().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_dropped_run_ends_without_an_outcome() {
        let (notes, logger) = logger(None, false);
        logger.sink().log("loss", 1.0, 0);
        drop(logger);
        assert_eq!(notes.lock().unwrap().last().unwrap(), "None");
    }

    #[test]
    fn a_logger_that_cannot_start_is_asked_nothing_more_and_its_points_are_counted() {
        let (notes, logger) = logger(None, true);
        (0..5).for_each(|step| logger.sink().log("loss", 1.0, step));
        let report = logger.finish(RunOutcome::Complete);
        assert_eq!(*notes.lock().unwrap(), ["start None"]);
        assert_eq!((report.lost(), report.backends[0].lost), (5, 5));
        assert_eq!(report.backends[0].problem.as_deref(), Some("no room"));
    }

    #[test]
    fn without_loggers_last_values_are_kept_and_nothing_is_lost() {
        let logger = RunLogger::with_loggers(Vec::new(), Duration::from_secs(2), None);
        let sink = logger.sink();
        (0..200_000).for_each(|step| sink.log("loss", 0.5, step));
        assert_eq!(sink.last_values(), [("loss".to_owned(), 0.5)].into());
        assert_eq!(logger.finish(RunOutcome::Complete), LogReport::default());
    }
}
