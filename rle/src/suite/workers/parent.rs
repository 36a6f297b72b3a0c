//! The parent's side: starts a worker for each slot, follows it, and tells how it ended.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::devices::Devices;
use super::protocol::{Handoff, Order, Report, WORKER_VARIABLE};
use crate::Error;
use crate::console::write_lines;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::suite::report::SlotOutcome;

/// How often a lane looks at the stop request and the clock.
const LOOK: Duration = Duration::from_millis(50);

/// How long a worker that ran out of its time may take to save.
const GRACE: Duration = Duration::from_secs(5);

/// A line of a worker's output that is longer is cut into pieces.
const LINE_BYTES: u64 = 64 * 1024;

/// How long the outputs of a worker that ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The last lines of a worker's stderr: what the system said before it died.
const LAST_LINES: usize = 5;

/// Processes that are running, so that all can be ended at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Living(Arc<Mutex<Vec<rustix::process::Pid>>>);

impl Living {
    /// Kills every worker with its children.
    pub(crate) fn kill_all(&self) {
        for pid in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // One that is gone already needs no killing.
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }

    fn add(&self, child: &Child) -> Option<rustix::process::Pid> {
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        Some(pid)
    }

    fn remove(&self, pid: Option<rustix::process::Pid>) {
        let mut living = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        living.retain(|living| Some(*living) != pid);
    }
}

/// What all workers of a start share.
pub(super) struct Launcher<'a> {
    pub(super) stop: &'a Stop,
    pub(super) devices: &'a Devices,
    pub(super) living: &'a Living,
    pub(super) timeout: Option<Duration>,
}

/// How a worker ended.
pub(super) enum Ended {
    /// It said what became of the slot.
    Said(SlotOutcome),
    /// It could not even begin: the whole start is at fault.
    Refused(String),
    /// It died or was killed: why, as far as the system tells it.
    Died { pid: u32, cause: String },
    /// It was told to end because its time was over.
    OutOfTime { pid: u32, cause: String },
}

impl Launcher<'_> {
    /// Runs a worker to its end.
    pub(super) fn run(&self, handoff: &Handoff, progress: &Progress) -> Result<Ended, Error> {
        let share = self.devices.take();
        let (ours, theirs) = UnixStream::pair()
            .map_err(|error| Error::usage(format!("cannot make a socket: {error}")))?;
        // The file that runs now, even where a rebuild has put another in its place.
        let mut command = Command::new("/proc/self/exe");
        if let Some(name) = env::args_os().next() {
            command.arg0(name);
        }
        command
            .args(env::args_os().skip(1))
            .env(WORKER_VARIABLE, &handoff.slot)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A terminal's ctrl-C reaches the parent alone, which passes it on once.
            .process_group(0);
        share.apply(&mut command, |variable| env::var_os(variable).is_some());
        let mut child = command
            .spawn()
            .map_err(|error| Error::usage(format!("cannot start a worker: {error}")))?;
        drop(command);
        let pid = self.living.add(&child);
        let outputs = Outputs::forward(&mut child, &handoff.slot);
        let outcome = self.follow(&mut child, &ours, handoff, progress);
        self.living.remove(pid);
        let last_lines = outputs.finish();
        outcome.map(|ended| match ended {
            Ended::Died { pid, cause } if !last_lines.is_empty() => {
                Ended::Died { pid, cause: format!("{cause}; it said last: {last_lines}") }
            }
            ended => ended,
        })
    }

    fn follow(
        &self,
        child: &mut Child,
        socket: &UnixStream,
        handoff: &Handoff,
        progress: &Progress,
    ) -> Result<Ended, Error> {
        let reports = listen(socket)?;
        let said = say(socket, handoff);
        let began = Instant::now();
        let (mut told_to_stop, mut out_of_time) = (false, None);
        let mut last = None;
        loop {
            match reports.recv_timeout(LOOK) {
                Ok(Report::Progress { position, total, message }) => {
                    if let Some(total) = total {
                        progress.set_total(total);
                    }
                    progress.set_position(position);
                    progress.set_message(message);
                }
                Ok(Report::Outcome(outcome)) => last = Some(Ended::Said(outcome)),
                Ok(Report::Refused(why)) => last = Some(Ended::Refused(why)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if out_of_time.is_none() && self.timeout.is_some_and(|limit| began.elapsed() > limit) {
                out_of_time = Some(Instant::now());
            }
            if (self.stop.is_requested() || out_of_time.is_some()) && !told_to_stop {
                told_to_stop = true;
                // A worker that is gone already needs no order.
                let _ = say(socket, &Order::Stop);
            }
            if out_of_time.is_some_and(|since| since.elapsed() > GRACE) {
                kill_group(child);
            }
        }
        if last.is_none() {
            end_descendants(child);
        }
        let status = child
            .wait()
            .map_err(|error| Error::usage(format!("cannot wait for a worker: {error}")))?;
        let unfinished = matches!(last, None | Some(Ended::Said(SlotOutcome::Interrupted)));
        if let (true, Some(_), Some(limit)) = (unfinished, out_of_time, self.timeout) {
            let limit = humantime::format_duration(limit);
            let cause = format!("did not end within --timeout {limit}");
            return Ok(Ended::OutOfTime { pid: child.id(), cause });
        }
        let cause = said.err().map_or_else(|| cause_text(status), |error| error.to_string());
        Ok(last.unwrap_or(Ended::Died { pid: child.id(), cause }))
    }
}

fn kill_group(child: &Child) {
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
}

/// What a worker that died had started would hold its devices and outputs for ever.
fn end_descendants(child: &Child) {
    // Not reaped yet: until then no other group can have its number.
    let worker = rustix::process::WaitId::Pid(rustix::process::Pid::from_child(child));
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    while matches!(rustix::process::waitid(worker.clone(), options), Err(rustix::io::Errno::INTR)) {
    }
    kill_group(child);
}

fn say(mut socket: &UnixStream, what: &impl serde::Serialize) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::usage(format!("cannot speak to a worker: {error}"));
    let mut line = serde_json::to_vec(what).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    socket.write_all(&line).map_err(failed)
}

/// Reads the worker's lines until it closes the socket, which its end does too.
fn listen(socket: &UnixStream) -> Result<Receiver<Report>, Error> {
    let socket = socket
        .try_clone()
        .map_err(|error| Error::usage(format!("cannot listen to a worker: {error}")))?;
    let (sender, reports) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(socket).lines() {
            let Ok(line) = line else { break };
            let Ok(report) = serde_json::from_str(&line) else { continue };
            if sender.send(report).is_err() {
                break;
            }
        }
    });
    Ok(reports)
}

/// Why a process ended without a word.
fn cause_text(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => "its process was killed (SIGKILL): out of memory, or by hand".to_owned(),
        (Some(6), _) => "its process aborted (SIGABRT)".to_owned(),
        (Some(11), _) => {
            "its process crashed (SIGSEGV): a stack overflow or a memory fault".to_owned()
        }
        (Some(signal), _) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            format!("its process was ended by {name} ({signal})")
        }
        (None, Some(code)) => format!("its process exited with status {code} and no result"),
        (None, None) => "its process ended without a result".to_owned(),
    }
}

/// Both output streams of a worker, passed on line by line.
struct Outputs {
    /// Disconnected when both streams are at their end.
    ended: Receiver<()>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
}

impl Outputs {
    fn forward(child: &mut Child, slot: &str) -> Self {
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let (open, ended) = mpsc::channel();
        if let Some(stream) = child.stdout.take() {
            let (prefix, open) = (format!("{slot} | "), open.clone());
            thread::spawn(move || {
                pass_on(stream, &prefix, |_| {});
                drop(open);
            });
        }
        if let Some(stream) = child.stderr.take() {
            let (prefix, kept) = (format!("{slot} | "), Arc::clone(&last_lines));
            thread::spawn(move || {
                pass_on(stream, &prefix, |line| {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push_back(line.trim().to_owned());
                    if kept.len() > LAST_LINES {
                        kept.pop_front();
                    }
                });
                drop(open);
            });
        }
        Self { ended, last_lines }
    }

    /// The last lines of stderr, in one. A process that the worker left behind may hold its
    /// streams open: what it says is still passed on, but not waited for.
    fn finish(self) -> String {
        let _ = self.ended.recv_timeout(LAST_WORDS);
        let lines = self.last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>().join(" / ")
    }
}

fn pass_on(stream: impl Read, prefix: &str, mut seen: impl FnMut(&str)) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let text = String::from_utf8_lossy(&line);
        seen(&text);
        write_lines(format!("{prefix}{text}\n").as_bytes());
    }
}
