//! Keeps a trainer's failure to its own slot: errors with their chain, panics with a backtrace.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::algorithm::TrainerError;

/// Why a trainer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// For the record and the summary: the error and its causes, or the panic's message.
    pub(crate) message: String,
    /// For the log file alone: a backtrace.
    pub(crate) detail: Option<String>,
}

#[derive(Debug)]
struct PanicReport {
    location: String,
    backtrace: String,
}

type Reports = Arc<Mutex<HashMap<ThreadId, PanicReport>>>;
type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync + 'static>;

/// While it lives, panics are reported to the log instead of being printed over the progress.
pub(crate) struct Isolation {
    reports: Reports,
    previous: Arc<Mutex<Option<Hook>>>,
}

impl Isolation {
    pub(crate) fn begin() -> Self {
        let reports = Reports::default();
        let previous = Arc::new(Mutex::new(Some(panic::take_hook())));
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
            let report = PanicReport { location, backtrace };
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(thread::current().id(), report);
        }));
        Self { reports, previous }
    }

    /// Calls a trainer on this thread; an error or a panic is a [`Failure`].
    pub(crate) fn call<T>(
        &self,
        trainer: impl FnOnce() -> Result<T, TrainerError>,
    ) -> Result<T, Failure> {
        match panic::catch_unwind(AssertUnwindSafe(trainer)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure { message: chain_text(error.as_ref()), detail: None }),
            Err(payload) => {
                let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
                let report = reports.remove(&thread::current().id());
                let text = payload_text(payload.as_ref());
                Err(match report {
                    Some(PanicReport { location, backtrace }) => Failure {
                        message: format!("panicked at {location}: {text}"),
                        detail: Some(backtrace),
                    },
                    None => Failure { message: format!("panicked: {text}"), detail: None },
                })
            }
        }
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        let mut previous = self.previous.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = previous.take() {
            panic::set_hook(hook);
        }
    }
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

/// An error and its causes, each on a line of its own.
fn chain_text(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        write!(text, "\n  caused by: {cause}").expect("writing to a string does not fail");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_chain_and_a_panic_its_place() {
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
    }
}
