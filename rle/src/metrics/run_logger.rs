//! The handle of one run's metrics: starts the writer thread and waits for it at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::factory;
use super::logger::{BackendReport, LogReport, MetricLogger};
use super::run::{LogOptions, LoggedRun, RunOutcome};
use super::sink::{MetricSink, Queue};
use super::writer::Writer;

/// How long the end of a run waits for a writer whose disk hangs.
const WRITER_TIMEOUT: Duration = Duration::from_secs(30);

/// Logs the metrics of one run; owns the writer thread.
///
/// Dropped without [`finish`](Self::finish), it leaves the files as a crash would.
#[derive(Debug)]
#[must_use = "a run that is not finished is shown as crashed"]
pub struct RunLogger {
    queue: Arc<Queue>,
    writer: Option<WriterThread>,
}

#[derive(Debug)]
struct WriterThread {
    names: Vec<&'static str>,
    outcome: mpsc::Sender<RunOutcome>,
    report: Receiver<LogReport>,
}

impl RunLogger {
    /// Begins to log a run. Nothing is opened on the calling thread.
    pub fn start(options: &LogOptions, run: &LoggedRun) -> Self {
        let loggers = factory::loggers(options, run);
        Self::with_loggers(loggers, options.flush_interval, run.resume_step)
    }

    /// As [`RunLogger::start`], but a run that logs nothing leaves no files, unless there are some
    /// of an earlier attempt.
    pub(crate) fn start_when_logging(options: &LogOptions, run: &LoggedRun) -> Self {
        let loggers = factory::loggers(options, run);
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
        waits_for_point: bool,
    ) -> Self {
        let has_loggers = !loggers.is_empty();
        let queue = Arc::new(Queue::new(has_loggers));
        let writer = Writer::new(loggers, queue.clock, resume_step, waits_for_point);
        let thread = has_loggers.then(|| WriterThread::spawn(&queue, writer, flush_interval));
        Self { queue, writer: thread.flatten() }
    }

    /// What training threads log to.
    #[must_use]
    pub fn sink(&self) -> MetricSink {
        MetricSink::new(Arc::clone(&self.queue))
    }

    /// Writes what is left and the end of the run. Later points are ignored.
    ///
    /// Waits at most 30 seconds for a writer whose disk hangs; what it still holds is lost.
    pub fn finish(mut self, outcome: RunOutcome) -> LogReport {
        let writer = self.writer.take();
        if let Some(writer) = &writer {
            // Sent before the queue is closed, so that it is there when the writer asks for it. A
            // writer that has panicked does not receive it.
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
            let WriterThread { outcome, report, .. } = writer;
            drop(outcome);
            // The writer ends by itself; a disk that hangs must not hold up an unwinding run.
            let _ = report.recv_timeout(WRITER_TIMEOUT);
        }
    }
}

impl WriterThread {
    fn spawn(queue: &Arc<Queue>, writer: Writer, flush_interval: Duration) -> Option<Self> {
        let names = writer.names();
        let (outcome, outcomes) = mpsc::channel();
        let (sender, report) = mpsc::channel();
        let queue_of_writer = Arc::clone(queue);
        // Warnings go where those of the calling thread go.
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let work = move || {
            let run = || writer.run(&queue_of_writer, flush_interval, &outcomes);
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
        let problem = match self.report.recv_timeout(WRITER_TIMEOUT) {
            Ok(report) => return report,
            Err(RecvTimeoutError::Timeout) => {
                format!("it was still writing {} s after the end", WRITER_TIMEOUT.as_secs())
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
            upload: None,
        };
        LogReport { backends: self.names.into_iter().map(report).collect(), ..LogReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::{Batch, RunClock, WriteError};
    use std::io;

    type Shared = Arc<Mutex<Vec<String>>>;

    /// Records its calls.
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

        fn start(&mut self, _: RunClock, kept_through: Option<i64>) -> io::Result<()> {
            self.note(format!("start {kept_through:?}"));
            if self.fails { Err(io::Error::other("no room")) } else { Ok(()) }
        }

        fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
            for point in batch.points {
                self.note(format!("{} {}", batch.names[point.name as usize], point.step));
            }
            Ok(())
        }

        fn finish(&mut self, outcome: Option<&RunOutcome>, _: f64) -> Result<(), WriteError> {
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
