//! Starts in the background: met at the steps where they hold, signalled, waited for.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::support::{Ended, Lab, read_json, text};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(40);

/// Where runs report that they hold.
pub(crate) struct Gate {
    pub(crate) socket: String,
    arrivals: Receiver<Held>,
    waiting: Vec<Held>,
}

/// A run that holds until this is dropped.
pub(crate) struct Held {
    pub(crate) place: String,
    pub(crate) pid: Pid,
    peer: BufReader<UnixStream>,
}

impl Gate {
    pub(crate) fn new(lab: &Lab) -> Self {
        let (socket, listener) = lab.listen();
        let (sender, arrivals) = mpsc::channel();
        thread::spawn(move || while sender.send(Held::accept(&listener)).is_ok() {});
        Self { socket, arrivals, waiting: Vec::new() }
    }

    /// Waits for the run that holds at `place`: `steady:0@3`.
    #[track_caller]
    pub(crate) fn at(&mut self, place: &str) -> Held {
        loop {
            if let Some(at) = self.waiting.iter().position(|held| held.place == place) {
                return self.waiting.remove(at);
            }
            let arrived = self.arrivals.recv_timeout(PATIENCE);
            self.waiting.push(arrived.unwrap_or_else(|_| panic!("nothing holds at {place}")));
        }
    }
}

impl Held {
    fn accept(listener: &UnixListener) -> Self {
        let mut peer = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        peer.read_line(&mut line).unwrap();
        let (place, pid) = line.trim().split_once(' ').unwrap();
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        Self { place: place.to_owned(), pid, peer }
    }

    /// Waits until the process is gone or has left this step.
    #[track_caller]
    pub(crate) fn gone(mut self) {
        self.peer.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        let outcome = self.peer.read_to_end(&mut rest);
        assert!(outcome.is_ok(), "{} is still there: {outcome:?}", self.place);
    }
}

/// A start in the background.
pub(crate) struct Running {
    child: Child,
    pid: Pid,
    lines: Receiver<String>,
    stderr: String,
    stdout: JoinHandle<String>,
}

impl Running {
    pub(crate) fn new(
        lab: &Lab,
        words: &[&str],
        gate: &Gate,
        hold: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = lab.command(words);
        command.envs(variables.iter().copied());
        Self::of(&mut command, gate, hold)
    }

    /// In a process group of its own, as a terminal's foreground job is.
    pub(crate) fn of(command: &mut Command, gate: &Gate, hold: &str) -> Self {
        let mut child = command
            .env("LAB_HOLD", hold)
            .env("LAB_SOCKET", &gate.socket)
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let pid = Pid::from_child(&child);
        Self { child, pid, lines, stderr: String::new(), stdout }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid, signal).unwrap();
    }

    /// Waits until a line on stderr says this, and gives that line.
    #[track_caller]
    pub(crate) fn says(&mut self, part: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
            if line.contains(part) {
                return line;
            }
        }
        panic!("never said `{part}`: {}", self.stderr);
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> (ExitStatus, Ended) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.stderr.push_str(&line);
                    self.stderr.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = kill_process_group(self.pid, Signal::KILL);
                    panic!("it does not end: {}", self.stderr);
                }
            }
        }
        let status = self.child.wait().unwrap();
        let ended = Ended {
            status: status.code().unwrap_or(-1),
            stdout: self.stdout.join().unwrap(),
            stderr: self.stderr,
        };
        (status, ended)
    }

    #[track_caller]
    pub(crate) fn ends(self, status: i32) -> Ended {
        self.finish().1.ends(status)
    }

    /// Demands that a signal ended it.
    #[track_caller]
    pub(crate) fn dies_of(self, signal: Signal) {
        let (status, ended) = self.finish();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{ended:?}");
    }
}

/// What of a record is a function of its request.
pub(crate) fn science(record: &Value) -> Value {
    json!({
        "status": record["status"],
        "request": record["request"],
        "metrics": record["metrics"],
        "episode_history": record["episode_history"],
        "artifact_paths": record["artifact_paths"],
        "summary": record["summary"],
    })
}

/// A record in an export directory of the lab.
pub(crate) fn record_in(lab: &Lab, directory: &str, stem: &str) -> Value {
    read_json(&lab.work().join(directory).join(format!("runs/{stem}.json")))
}

pub(crate) fn outcomes(record: &Value) -> Vec<String> {
    let attempts = record["attempts"].as_array().expect("a list of attempts");
    attempts.iter().map(|attempt| text(&attempt["outcome"])).collect()
}

/// A start that is held and then stopped, as `hold` says, with its checkpoints.
#[track_caller]
pub(crate) fn interrupted(lab: &Lab, words: &[&str], hold: &str) {
    let mut gate = Gate::new(lab);
    let running = Running::new(lab, words, &gate, hold, &[]);
    let run = gate.at(hold);
    running.signal(Signal::TERM);
    run.gone();
    running.ends(3);
}
