//! What git says about the source: evidence, in time, or the reason why there is none.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long all questions together may take: a repository on a file system that hangs must not
/// stop a run.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(1);

/// Set by git for its own children; they would name another repository than the source's.
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
pub(super) struct Git {
    pub(super) program: OsString,
    /// Added to the inherited environment.
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) patience: Duration,
}

impl Default for Git {
    fn default() -> Self {
        Self { program: "git".into(), env: Vec::new(), patience: PATIENCE }
    }
}

/// What was learnt; `reason` tells why the rest was not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) vcs: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) dirty: Option<bool>,
    pub(super) reason: Option<String>,
}

impl Git {
    /// Asks about the repository that `root` lies in. `sources` are the files that make a tree
    /// dirty when they are not tracked; `export_dir` never makes it dirty.
    pub(super) fn evidence(
        &self,
        root: &Path,
        sources: &BTreeMap<String, String>,
        export_dir: &Path,
    ) -> Evidence {
        let session = Session { git: self, root, deadline: Instant::now() + self.patience };
        let mut evidence = Evidence::default();
        let top = match session.ask(&["rev-parse", "--show-toplevel"]) {
            Ok(top) => path_of_line(&top),
            Err(reason) => return Evidence { reason: Some(reason), ..evidence },
        };
        evidence.vcs = Some("git".to_owned());
        let mut reasons = Vec::new();
        match session.ask(&["rev-parse", "--verify", "HEAD^{commit}"]) {
            Ok(revision) => {
                evidence.revision = Some(String::from_utf8_lossy(&revision).trim().to_owned());
            }
            Err(reason) => reasons.push(reason),
        }
        match session.is_dirty(&top, sources, export_dir) {
            Ok(dirty) => evidence.dirty = Some(dirty),
            Err(reason) => reasons.push(reason),
        }
        reasons.dedup();
        evidence.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        evidence
    }
}

struct Session<'a> {
    git: &'a Git,
    root: &'a Path,
    deadline: Instant,
}

impl Session<'_> {
    fn is_dirty(
        &self,
        top: &Path,
        sources: &BTreeMap<String, String>,
        export_dir: &Path,
    ) -> Result<bool, String> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"];
        let tracked = self.ask(&status)?;
        // Each entry is two letters, a space, and the path from the top of the repository.
        let mut changed = entries(&tracked).filter_map(|entry| entry.get(3..));
        if changed.any(|path| !top.join(path_of(path)).starts_with(export_dir)) {
            return Ok(true);
        }
        let others = self.ask(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        Ok(entries(&others).any(|path| sources.contains_key(&*String::from_utf8_lossy(path))))
    }

    /// The answer of one git command, or why there is none.
    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let name = arguments[0];
        let mut child = self.spawn(arguments).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "git is not installed, or not in PATH".to_owned(),
            _ => format!("git cannot be started: {error}"),
        })?;
        // In threads: a full pipe would stop git, and a closed one is not the end of the process.
        let (output, errors) =
            (read_in_thread(child.stdout.take()), read_in_thread(child.stderr.take()));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < self.deadline => thread::sleep(POLL),
                Ok(None) => return Err(self.give_up(&mut child)),
                Err(error) => return Err(format!("git {name} cannot be waited for: {error}")),
            }
        };
        let left = || self.deadline.saturating_duration_since(Instant::now()).max(POLL);
        if status.success() {
            return output.recv_timeout(left()).map_err(|_| self.too_slow());
        }
        Err(reason_of(name, &errors.recv_timeout(left()).unwrap_or_default()))
    }

    fn spawn(&self, arguments: &[&str]) -> io::Result<Child> {
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

    fn give_up(&self, child: &mut Child) -> String {
        // It may have ended just now; and one that hangs in the system is not waited for.
        let _ = child.kill();
        let _ = child.try_wait();
        self.too_slow()
    }

    fn too_slow(&self) -> String {
        format!("git did not answer within {:?}", self.git.patience)
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

/// Git's words, as ours. They are asked for in English.
fn reason_of(command: &str, errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    if errors.contains("dubious ownership") {
        "git refuses the repository, which belongs to another user (safe.directory)".to_owned()
    } else if errors.contains("not a git repository") {
        "not a git repository".to_owned()
    } else if errors.contains("Needed a single revision") {
        "the git repository has no commit yet".to_owned()
    } else {
        let line = errors.lines().next().unwrap_or_default();
        format!("git {command} failed: {}", line.strip_prefix("fatal: ").unwrap_or(line))
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

fn path_of_line(line: &[u8]) -> PathBuf {
    path_of(line.strip_suffix(b"\n").unwrap_or(line))
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
pub(super) mod tests;
