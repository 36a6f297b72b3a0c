//! Confines a trainer's failure to its slot: errors with their chain, panics with a backtrace.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use crate::algorithm::TrainerError;
use crate::error::chain_text;
use crate::sync::Mutex;

/// The latest panics of a call that are kept.
const KEPT_REPORTS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// For the record and the summary: the error and its causes, or the panic's message.
    pub(crate) message: String,
    /// For the log file alone: a backtrace.
    pub(crate) detail: Option<String>,
}

#[derive(Debug)]
struct PanicReport {
    thread: ThreadId,
    message: String,
    location: String,
    backtrace: String,
}

type Reports = Arc<Mutex<Vec<PanicReport>>>;
type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync + 'static>;

/// While it lives, panics are reported to the log instead of being printed over the progress.
pub(crate) struct Isolation {
    reports: Reports,
    previous: Option<Hook>,
}

impl Isolation {
    pub(crate) fn begin() -> Self {
        let reports = Reports::default();
        let previous = Some(panic::take_hook());
        let seen = Arc::clone(&reports);
        panic::set_hook(Box::new(move |info| {
            let location = info.location().map_or_else(
                || "an unknown place".to_owned(),
                |at| format!("{}:{}:{}", at.file(), at.line(), at.column()),
            );
            let message = payload_text(info.payload());
            let name = thread::current().name().map_or("unnamed".to_owned(), ToOwned::to_owned);
            tracing::error!("thread `{name}` panicked at {location}: {message}");
            let backtrace = Backtrace::force_capture();
            let backtrace = match backtrace.status() {
                BacktraceStatus::Captured => backtrace.to_string(),
                _ => "no backtrace could be taken".to_owned(),
            };
            let thread = thread::current().id();
            let mut seen = seen.lock();
            if seen.len() == KEPT_REPORTS {
                seen.remove(0);
            }
            seen.push(PanicReport { thread, message, location, backtrace });
        }));
        Self { reports, previous }
    }

    /// Calls a trainer on this thread; an error or a panic is a [`Failure`].
    pub(crate) fn call<T>(
        &self,
        trainer: impl FnOnce() -> Result<T, TrainerError>,
    ) -> Result<T, Failure> {
        self.reports.lock().clear();
        match panic::catch_unwind(AssertUnwindSafe(trainer)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure {
                message: chain_text(error.as_ref(), "\n  caused by: "),
                detail: None,
            }),
            Err(payload) => {
                let text = payload_text(payload.as_ref());
                let report = self.take_report(&text);
                Err(match report {
                    Some(PanicReport { location, backtrace, .. }) => Failure {
                        message: format!("panicked at {location}: {text}"),
                        detail: Some(backtrace),
                    },
                    None => Failure { message: format!("panicked: {text}"), detail: None },
                })
            }
        }
    }

    /// The report of the panic that ended this thread's call. A thread pool passes on the panic of its
    /// own thread without another report: then the message tells which it is.
    fn take_report(&self, message: &str) -> Option<PanicReport> {
        let mut reports = self.reports.lock();
        let here = thread::current().id();
        let of_this = |report: &PanicReport| report.message == message;
        let at = reports
            .iter()
            .rposition(|report| report.thread == here && of_this(report))
            .or_else(|| reports.iter().rposition(of_this))?;
        Some(reports.swap_remove(at))
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        if let Some(hook) = self.previous.take() {
            panic::set_hook(hook);
        }
    }
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_chain_and_a_panic_its_place() {
        // The hook is the process's: no suite of another test may set its own meanwhile.
        let _guard = crate::suite::exec::SuiteGuard::acquire().unwrap();
        let isolation = Isolation::begin();
        let inner = std::io::Error::other("disk on fire");
        let error = anyhow::Error::new(inner).context("saving the policy");
        let failure = isolation.call::<()>(|| Err(error.into())).unwrap_err();
        assert_eq!(failure.message, "saving the policy\n  caused by: disk on fire");
        let failure = isolation.call::<()>(|| panic!("no {}", "luck")).unwrap_err();
        assert!(failure.message.contains("isolate.rs:"), "{}", failure.message);
        assert!(failure.message.ends_with(": no luck"), "{}", failure.message);
        assert!(failure.detail.unwrap().contains("isolate"));
        assert_eq!(isolation.call(|| Ok(3)), Ok(3));
        let handed_on = || -> Result<(), TrainerError> {
            let payload = thread::spawn(|| panic!("in a pool")).join().unwrap_err();
            panic::resume_unwind(payload)
        };
        let failure = isolation.call(handed_on).unwrap_err();
        assert!(failure.message.contains("isolate.rs:"), "{}", failure.message);
        assert!(failure.detail.is_some());
    }
}
