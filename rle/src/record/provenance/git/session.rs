//! Asks git, within a time limit; or says why there is no answer, and the remedy.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// One reason. None of them stops a start, unless it asks for a clean source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Missing {
    #[error("git is not installed, or not in PATH")]
    NotInstalled,
    #[error("not a git repository")]
    NoRepository,
    #[error("git refuses the repository, which belongs to another user (safe.directory)")]
    Refused,
    #[error("the git repository has no commit yet")]
    NoCommit,
    #[error("the checkout is detached: it is on no branch")]
    Detached,
    #[error("the clone is shallow: its history is cut off")]
    Shallow,
    #[error("the source is a submodule of another repository")]
    InSubmodule,
    #[error("the repository has submodules, which have revisions of their own")]
    HasSubmodules,
    #[error("the checkout is a linked worktree")]
    Worktree,
    #[error("{0}")]
    Other(String),
}

impl Missing {
    /// Git's words for a failure of `command`, as ours. They are asked for in English.
    pub(super) fn from_stderr(command: &str, errors: &[u8]) -> Self {
        let errors = String::from_utf8_lossy(errors);
        if errors.contains("dubious ownership") {
            Self::Refused
        } else if errors.contains("not a git repository") {
            Self::NoRepository
        } else if errors.contains("Needed a single revision") {
            Self::NoCommit
        } else {
            let line = errors.lines().next().unwrap_or_default();
            match line.strip_prefix("fatal: ").unwrap_or(line) {
                "" => Self::Other(format!("git {command} failed without a word")),
                line => Self::Other(format!("git {command} failed: {line}")),
            }
        }
    }

    /// What a person can do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::NotInstalled => "install git",
            Self::NoRepository => "put the sources under git, with a commit",
            Self::Refused => "name the directory in git's safe.directory",
            Self::NoCommit => "commit the sources",
            Self::Detached => "check out a branch",
            Self::Shallow => "git fetch --unshallow",
            Self::InSubmodule | Self::HasSubmodules | Self::Worktree => {
                "run from a plain clone without submodules"
            }
            Self::Other(_) => "repair what git complains about",
        }
    }
}

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
                Ok(None) => {
                    // It may have ended just now; and one that hangs in the system is not waited for.
                    let _ = child.kill();
                    let _ = child.try_wait();
                    return Err(self.too_slow());
                }
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
