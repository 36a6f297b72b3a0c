//! The worker's side: one slot in a process of its own.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, thread};

use super::debugger;
use super::protocol::{Order, Report, Task, WORKER_VARIABLE, send};
use crate::Error;
use crate::algorithm::AlgorithmSpec;
use crate::console::{self, SuiteConsole};
use crate::run::{Listener, Progress, ProgressSnapshot, Stop};
use crate::suite::SlotOutcome;
use crate::suite::exec::SlotRunner;
use crate::suite::plan::Plan;
use crate::sync::Mutex;

const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// How long a worker whose parent is gone may take to save.
const ORPHAN_GRACE: Duration = Duration::from_secs(30);

/// Runs the slot that the parent sends, and returns the exit status.
pub(crate) fn main(specs: &[AlgorithmSpec]) -> Result<u8, Error> {
    let socket = take_socket()
        .map_err(|error| Error::usage(format!("a worker without a parent: {error}")))?;
    let mut lines = BufReader::new(clone(&socket)?);
    let mut first = String::new();
    lines
        .read_line(&mut first)
        .map_err(|error| Error::usage(format!("a worker without a parent: {error}")))?;
    let task: Task = serde_json::from_str(&first)
        .map_err(|error| Error::usage(format!("a worker without a task: {error}")))?;
    let stop = Stop::default();
    obey(lines, stop.clone());
    match run(&socket, task, specs, &stop) {
        Ok(outcome) => {
            let status = u8::from(matches!(outcome, SlotOutcome::Failed { .. }));
            // The parent may be gone.
            let _ = send(&socket, &Report::Outcome(outcome));
            Ok(status)
        }
        Err(error) => {
            let _ = send(&socket, &Report::Refused(error.to_string()));
            Ok(2)
        }
    }
}

/// Whether this process is a worker, and not a program that a worker's run has started: that
/// one inherits the variable but not the socket.
pub(crate) fn is_worker() -> bool {
    let is_socket = || {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        File::from(input).metadata().map(|metadata| metadata.file_type().is_socket())
    };
    env::var_os(WORKER_VARIABLE).is_some() && is_socket().unwrap_or(false)
}

/// The socket was standard input; trainers find an empty one there.
fn take_socket() -> io::Result<UnixStream> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(UnixStream::from(socket))
}

fn clone(socket: &UnixStream) -> Result<UnixStream, Error> {
    socket.try_clone().map_err(|error| Error::usage(format!("a worker's socket: {error}")))
}

/// Carries out the parent's orders; a parent that is gone is an order to stop.
fn obey(lines: BufReader<UnixStream>, stop: Stop) {
    thread::spawn(move || {
        for line in lines.lines() {
            let Ok(line) = line else { break };
            if serde_json::from_str::<Order>(&line).is_ok_and(|order| order == Order::Stop) {
                stop.request("the suite is stopping");
            }
        }
        stop.request("the process that started this worker is gone");
        thread::sleep(ORPHAN_GRACE);
        stop.end_now();
    });
}

fn run(
    socket: &UnixStream,
    task: Task,
    specs: &[AlgorithmSpec],
    stop: &Stop,
) -> Result<SlotOutcome, Error> {
    let mut config = task.config;
    config.captured = Some(task.provenance);
    console::set_level(config.log.level.as_deref());
    let plan = Plan::new(config, specs)?;
    let slot = plan.slots.iter().find(|slot| slot.id.to_string() == task.slot);
    let slot =
        slot.ok_or_else(|| Error::usage(format!("the worker's plan has no slot {}", task.slot)))?;
    if slot.identity.hash() != task.request_hash {
        return Err(Error::usage(format!(
            "the worker's request for {} differs from its parent's: a default value of its \
             configuration is not the same in every process",
            task.slot
        )));
    }
    // Sent by hand to this process alone, signals have the effect they have in one process.
    let _listener = Listener::begin(stop, None, || {});
    debugger::wait(&slot.id, stop);
    let reporter = Reporter::begin(socket)?;
    let console = SuiteConsole::for_worker(reporter.watch());
    let runner = SlotRunner::new(&plan, &console, stop);
    let outcome = runner.run(slot);
    reporter.end();
    for unsent in runner.end() {
        let _ = send(socket, &Report::Unsent(unsent));
    }
    Ok(outcome)
}

type Watched = Arc<Mutex<Option<Progress>>>;

/// Sends the progress of what runs now.
struct Reporter {
    watched: Watched,
    closing: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Reporter {
    fn begin(socket: &UnixStream) -> Result<Self, Error> {
        let socket = clone(socket)?;
        let watched = Watched::default();
        let closing = Arc::new(AtomicBool::new(false));
        let (seen, closed) = (Arc::clone(&watched), Arc::clone(&closing));
        let thread = thread::spawn(move || {
            let mut sent = None;
            while !closed.load(Ordering::Relaxed) {
                let progress = seen.lock().clone();
                if let Some(snapshot) = progress.map(|progress| progress.snapshot())
                    && sent.as_ref() != Some(&snapshot)
                {
                    let ProgressSnapshot { position, origin, total, ref message } = snapshot;
                    let message = message.to_string();
                    let _ = send(&socket, &Report::Progress { position, origin, total, message });
                    sent = Some(snapshot);
                }
                thread::park_timeout(REPORT_INTERVAL);
            }
        });
        Ok(Self { watched, closing, thread })
    }

    /// What a console calls with the progress of a run that begins.
    fn watch(&self) -> impl Fn(&Progress) + Send + Sync + 'static {
        let watched = Arc::clone(&self.watched);
        move |progress| {
            *watched.lock() = Some(progress.clone());
        }
    }

    fn end(self) {
        self.closing.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}
