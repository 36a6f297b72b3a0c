//! The parent's side: one worker from its start to its end.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::devices::Devices;
use super::output::Outputs;
use super::protocol::{Order, Report, Task, WORKER_VARIABLE, send};
use crate::Error;
use crate::machine::host;
use crate::record::RecordHead;
use crate::run::{Progress, ProgressSnapshot, Stop};
use crate::suite::SlotOutcome;
use crate::suite::exec::Unsent;
use crate::suite::exec::attempt::now_text;
use crate::sync::Mutex;

/// How often a stop request and the clock are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a worker that ran out of its time may take to save.
const GRACE: Duration = Duration::from_secs(5);

/// Processes that are running, so that all can be ended at once.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveWorkers(Arc<Mutex<Vec<Pid>>>);

impl LiveWorkers {
    /// Kills every worker with its children.
    pub(super) fn kill_all(&self) {
        self.0.lock().drain(..).for_each(kill_group);
    }

    fn add(&self, child: &Child) -> Pid {
        let pid = Pid::from_child(child);
        self.0.lock().push(pid);
        pid
    }

    fn remove(&self, pid: Pid) {
        self.0.lock().retain(|live| *live != pid);
    }
}

/// What all workers of a start share.
pub(super) struct Launcher<'a> {
    pub(super) stop: &'a Stop,
    pub(super) devices: &'a Devices,
    pub(super) live: &'a LiveWorkers,
    pub(super) timeout: Option<Duration>,
    /// Runs whose metrics were not sent.
    pub(super) unsent: Mutex<Vec<Unsent>>,
}

pub(super) enum WorkerEnd {
    /// It reported what became of the slot.
    Reported(SlotOutcome),
    /// It could not even begin: the whole start is at fault.
    Refused(String),
    /// It died or was killed.
    Died(Death),
}

/// The end of a worker that reported no outcome.
pub(super) struct Death {
    pid: u32,
    /// When it was started, as records write it.
    started_at: String,
    /// Why, as far as the system tells it.
    pub(super) cause: String,
    /// It was stopped because its time was over.
    pub(super) out_of_time: bool,
}

impl Death {
    /// Whether a record was last written by this worker: process ids come again.
    pub(super) fn is_of(&self, head: &RecordHead) -> bool {
        head.attempts.last().is_some_and(|attempt| {
            attempt.pid == self.pid
                && attempt.host == host::name()
                && attempt.started_at >= self.started_at
        })
    }
}

impl Launcher<'_> {
    pub(super) fn run(&self, task: &Task, progress: &Progress) -> Result<WorkerEnd, Error> {
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
            .env(WORKER_VARIABLE, &task.slot)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A terminal's ctrl-C reaches the parent alone, which passes it on once.
            .process_group(0);
        share.apply(&mut command, |variable| env::var_os(variable).is_some());
        let started_at = now_text();
        let mut child = command
            .spawn()
            .map_err(|error| Error::usage(format!("cannot start a worker: {error}")))?;
        drop(command);
        let pid = self.live.add(&child);
        let outputs = Outputs::forward(&mut child, &task.slot);
        let ended = self.follow(&mut child, &ours, task, progress);
        // Tells a worker that is still running that it shall stop.
        drop(ours);
        self.live.remove(pid);
        let last_lines = outputs.join();
        let (last, status, out_of_time) = ended?;
        let cause = match (out_of_time, self.timeout) {
            (true, Some(limit)) => {
                format!("did not end within --timeout {}", humantime::format_duration(limit))
            }
            _ => cause_text(status),
        };
        match last {
            // One that was stopped because its time was over has no result.
            Some(WorkerEnd::Reported(SlotOutcome::Interrupted)) if out_of_time => {}
            Some(end) => return Ok(end),
            None => {}
        }
        let last_words = if last_lines.is_empty() || out_of_time {
            String::new()
        } else {
            format!("; it said last: {last_lines}")
        };
        let cause = format!("{cause}{last_words}");
        Ok(WorkerEnd::Died(Death { pid: child.id(), started_at, cause, out_of_time }))
    }

    /// Waits for the worker's end: its last report, its exit status, and whether its time was over.
    fn follow(
        &self,
        child: &mut Child,
        socket: &UnixStream,
        task: &Task,
        progress: &Progress,
    ) -> Result<(Option<WorkerEnd>, ExitStatus, bool), Error> {
        let reports = listen(socket)?;
        // A worker that does not read must not block its parent for longer than it may run.
        let _ = socket.set_write_timeout(self.timeout);
        if let Err(error) = send(socket, task) {
            tracing::warn!("{}: cannot send to a worker: {error}", task.slot);
        }
        let began = Instant::now();
        let (mut told_to_stop, mut out_of_time) = (false, None);
        let mut last = None;
        loop {
            match reports.recv_timeout(POLL_INTERVAL) {
                Ok(Report::Progress { position, origin, total, message }) => {
                    let message = message.into();
                    progress.follow(&ProgressSnapshot { position, origin, total, message });
                }
                Ok(Report::Unsent(unsent)) => {
                    self.unsent.lock().push(unsent);
                }
                Ok(Report::Outcome(outcome)) => last = Some(WorkerEnd::Reported(outcome)),
                Ok(Report::Refused(why)) => last = Some(WorkerEnd::Refused(why)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if out_of_time.is_none() && self.timeout.is_some_and(|limit| began.elapsed() > limit) {
                out_of_time = Some(Instant::now());
            }
            if (self.stop.is_requested() || out_of_time.is_some()) && !told_to_stop {
                told_to_stop = true;
                // A worker that is gone already needs no order.
                let _ = send(socket, &Order::Stop);
            }
            if out_of_time.is_some_and(|since| since.elapsed() > GRACE) {
                kill_group(Pid::from_child(child));
            }
        }
        if last.is_none() {
            end_descendants(child);
        }
        let status = child
            .wait()
            .map_err(|error| Error::usage(format!("cannot wait for a worker: {error}")))?;
        Ok((last, status, out_of_time.is_some()))
    }
}

fn kill_group(pid: Pid) {
    // One that is gone already needs no killing.
    let _ = kill_process_group(pid, Signal::KILL);
}

/// Ends what a worker that died had started, which would keep its devices and outputs.
fn end_descendants(child: &Child) {
    let pid = Pid::from_child(child);
    // Not reaped yet: until then no other group can have its number.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
    kill_group(pid);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Attempt, AttemptOutcome, sample};

    #[test]
    fn a_process_id_that_came_again_is_not_the_worker() {
        let death = Death {
            pid: 7,
            started_at: "2026-11-29T13:18:00.000000Z".to_owned(),
            cause: "killed".to_owned(),
            out_of_time: false,
        };
        let is_of = |pid, host: &str, started_at: &str| {
            let mut head = sample::complete();
            head.attempts = vec![Attempt {
                number: 1,
                host: host.to_owned(),
                pid,
                job: None,
                scheduler: None,
                hardware_id: None,
                started_at: started_at.to_owned(),
                finished_at: None,
                outcome: AttemptOutcome::Running,
                resumed_from: None,
                seconds: None,
                log_loss: None,
            }];
            death.is_of(&head)
        };
        let here = host::name();
        assert!(is_of(7, &here, "2026-11-29T13:18:00.000001Z"));
        assert!(!is_of(7, &here, "2026-11-29T13:17:59.999999Z"));
        assert!(!is_of(8, &here, "2026-11-29T13:18:00.000001Z"));
        assert!(!is_of(7, "elsewhere", "2026-11-29T13:18:00.000001Z"));
        assert!(!death.is_of(&sample::complete()));
    }
}
