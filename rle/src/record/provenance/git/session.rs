//! Asks git, within a time limit.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::missing::Missing;

/// The time limit of all questions together: a file system that hangs must not stop a run.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(1);

/// Variables of git's own children, which may name another repository.
const FOREIGN: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// How to start git.
pub(crate) struct Git {
    pub(crate) program: OsString,
    /// Added to the inherited environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) patience: Duration,
}

impl Default for Git {
    fn default() -> Self {
        Self { program: "git".into(), env: Vec::new(), patience: PATIENCE }
    }
}

pub(super) struct Session<'a> {
    pub(super) git: &'a Git,
    pub(super) root: &'a Path,
    pub(super) deadline: Instant,
}

impl Session<'_> {
    /// The answer of one git command, or why there is none.
    pub(super) fn ask<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, Missing> {
        let name = arguments.first().map(|name| name.as_ref().to_string_lossy());
        let name = name.unwrap_or_default();
        let mut child = self.spawn(arguments).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Missing::NotInstalled,
            _ => Missing::Other(format!("git cannot be started: {error}")),
        })?;
        // In threads: a full pipe would stop git, and a closed one is not the end of the process.
        let (output, errors) =
            (read_in_thread(child.stdout.take()), read_in_thread(child.stderr.take()));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < self.deadline => thread::sleep(POLL),
                Ok(None) => return Err(self.give_up(&mut child)),
                Err(error) => {
                    return Err(Missing::Other(format!(
                        "git {name} cannot be waited for: {error}"
                    )));
                }
            }
        };
        let left = || self.deadline.saturating_duration_since(Instant::now()).max(POLL);
        if status.success() {
            return output.recv_timeout(left()).map_err(|_| self.too_slow());
        }
        Err(Missing::from_stderr(&name, &errors.recv_timeout(left()).unwrap_or_default()))
    }

    fn spawn<S: AsRef<OsStr>>(&self, arguments: &[S]) -> io::Result<Child> {
        let mut command = Command::new(&self.git.program);
        command.arg("-C").arg(self.root);
        // A configured monitor is a program of its own, which may start a daemon.
        command.args(["-c", "core.fsmonitor=false"]).args(arguments);
        for variable in FOREIGN {
            command.env_remove(variable);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.envs(self.git.env.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    fn give_up(&self, child: &mut Child) -> Missing {
        // It may have ended just now; and one that hangs in the system is not waited for.
        let _ = child.kill();
        let _ = child.try_wait();
        self.too_slow()
    }

    fn too_slow(&self) -> Missing {
        Missing::Other(format!("git did not answer within {:?}", self.git.patience))
    }
}

fn read_in_thread(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before a fault is all there is; the exit status tells whether it counts.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // No one listens any more after the deadline.
        let _ = sender.send(bytes);
    });
    receiver
}

pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

pub(super) fn path_of_line(line: &[u8]) -> PathBuf {
    path_of(line.strip_suffix(b"\n").unwrap_or(line))
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}
