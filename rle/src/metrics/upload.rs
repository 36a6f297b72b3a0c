//! Uploads a run by the vendor's own tool, or names the command for it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The vendor's command that uploads a run from its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    program: &'static str,
    arguments: Vec<OsString>,
    requested: bool,
    log: PathBuf,
}

/// How an upload ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum UploadOutcome {
    /// The tool has succeeded.
    Sent,
    /// The tool has failed; its output is in the file.
    Failed {
        /// How it ended: `exit status: 1`.
        status: String,
        /// What it printed.
        log: PathBuf,
    },
    /// The tool is still running, and continues by itself.
    StillSending {
        /// What it prints.
        log: PathBuf,
    },
    /// The tool is not installed, or could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
}

impl Upload {
    /// An upload by a program on `PATH`, `requested` if the run's mode asks for it. The output of
    /// the program goes to `<program>-sync.log` in `directory`.
    pub fn new(
        program: &'static str,
        arguments: impl IntoIterator<Item = OsString>,
        requested: bool,
        directory: &Path,
    ) -> Self {
        let log = directory.join(format!("{program}-sync.log"));
        Self { program, arguments: arguments.into_iter().collect(), requested, log }
    }

    /// Whether the run's mode asks for it (`online`, `cloud`), not merely allows it.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// The command to type in a shell.
    #[must_use]
    pub fn command_line(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| quoted(argument));
        std::iter::once(self.program.to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
    }

    /// Starts the tool and waits at most so long for it; after that it continues by itself.
    ///
    /// It gets no input, so that it cannot wait for a password, and its output goes to a file
    /// beside the run.
    pub fn start(&self, patience: Duration) -> UploadOutcome {
        match self.spawn() {
            Ok(child) => self.wait(child, patience),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                UploadOutcome::NotStarted { reason: format!("`{}` is not installed", self.program) }
            }
            Err(error) => UploadOutcome::NotStarted {
                reason: format!("cannot start `{}`: {error}", self.program),
            },
        }
    }

    fn spawn(&self) -> io::Result<Child> {
        let log = File::create(&self.log)?;
        let mut command = Command::new(self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        let spawned = command.spawn();
        if spawned.is_err() {
            // The file is empty.
            let _ = fs::remove_file(&self.log);
        }
        spawned
    }

    fn wait(&self, mut child: Child, patience: Duration) -> UploadOutcome {
        let (sender, ended) = mpsc::channel();
        // Reaps the tool also when nobody waits any more.
        let reaper = thread::Builder::new().name("rle-sync".to_owned()).spawn(move || {
            let _ = sender.send(child.wait());
        });
        let still_sending = || UploadOutcome::StillSending { log: self.log.clone() };
        if reaper.is_err() {
            return still_sending();
        }
        let failed = |status| UploadOutcome::Failed { status, log: self.log.clone() };
        match ended.recv_timeout(patience) {
            Ok(Ok(status)) if status.success() => UploadOutcome::Sent,
            Ok(Ok(status)) => failed(status.to_string()),
            Ok(Err(error)) => failed(error.to_string()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => still_sending(),
        }
    }
}

/// An argument as a POSIX shell has to read it.
fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=+,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, dir: &Path) -> Upload {
        Upload::new("sh", ["-c".into(), script.into()], true, dir)
    }

    #[test]
    fn a_command_line_can_be_typed_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let arguments = ["sync", "--id", "ab_1", "/logs/my run's"].map(OsString::from);
        let upload = Upload::new("printf", arguments, false, dir.path());
        let line = upload.command_line();
        assert_eq!(line, r"printf sync --id ab_1 '/logs/my run'\''s'");
        let words = line.replace("printf", "printf '%s\\n'");
        let output = Command::new("sh").args(["-c", &words]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "sync\n--id\nab_1\n/logs/my run's\n");
    }

    #[test]
    fn a_tool_that_ends_is_waited_for_and_its_output_kept() {
        let dir = tempfile::tempdir().unwrap();
        let patience = Duration::from_mins(1);
        assert!(matches!(shell("exit 0", dir.path()).start(patience), UploadOutcome::Sent));
        match shell("echo no key >&2; exit 4", dir.path()).start(patience) {
            UploadOutcome::Failed { status, log } => {
                assert_eq!(status, "exit status: 4");
                assert_eq!(fs::read_to_string(log).unwrap(), "no key\n");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tool_that_takes_long_goes_on_by_itself() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("gate");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let script = format!("cat '{0}'; echo done > '{0}.2'", fifo.display());
        let outcome = shell(&script, dir.path()).start(Duration::from_millis(10));
        assert!(matches!(outcome, UploadOutcome::StillSending { .. }), "{outcome:?}");
        let answer = dir.path().join("gate.2");
        assert!(Command::new("mkfifo").arg(&answer).status().unwrap().success());
        fs::write(&fifo, "go").unwrap();
        assert_eq!(fs::read_to_string(answer).unwrap(), "done\n");
    }

    #[test]
    fn a_tool_that_is_not_installed_is_said_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let upload = Upload::new("rle-no-such-tool", [], true, dir.path());
        match upload.start(Duration::ZERO) {
            UploadOutcome::NotStarted { reason } => {
                assert_eq!(reason, "`rle-no-such-tool` is not installed");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
