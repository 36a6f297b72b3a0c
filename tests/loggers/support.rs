//! What the tests of the loggers share: runs to log, and the Python programs that read them.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rle::Slug;
use rle::metrics::{Backend, LogOptions, LogReport, LoggedRun, RunLogger, RunOutcome};
use rle::value::Value;
use serde_json::Value as Json;

/// The Python that has the backends' own programs, or `None`, said visibly, where there is none.
pub(crate) fn python(package: &str) -> Option<PathBuf> {
    let python = env::var("RLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python).args(["-c", &format!("import {package}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python.into());
    }
    let required = env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "`{python}` cannot import {package}, and RLE_REQUIRE_PEERS is 1");
    eprintln!("skipped: `{python}` cannot import {package}");
    None
}

/// Runs a script of `fixtures/` and reads the JSON that it prints.
pub(crate) fn script<S: AsRef<std::ffi::OsStr>>(
    python: &Path,
    name: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Json {
    let output = Command::new(python)
        .arg(fixture(name))
        .args(arguments)
        .output()
        .expect("the python that has just run can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A server on loopback, killed when dropped.
pub(crate) struct Server {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(python: &Path, name: &str) -> Self {
        let mut child = Command::new(python)
            .arg(fixture(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the python that has just run can be started");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the server prints its port");
        Self { child, output, port }
    }

    /// Ends the server: what it was told.
    pub(crate) fn told(mut self) -> Json {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).expect("the server prints JSON")
    }

    /// A tool of the Python that talks to this server only.
    pub(crate) fn tool(&self, python: &Path, name: &str, home: &Path) -> Command {
        let mut command = Command::new(python.with_file_name(name));
        self.surround(&mut command, python, home);
        command
    }

    /// Variables for a program that starts such a tool.
    pub(crate) fn surround(&self, command: &mut Command, python: &Path, home: &Path) {
        let url = format!("http://127.0.0.1:{}", self.port);
        let path = env::var("PATH").unwrap_or_default();
        let tools = python.parent().expect("a python of a virtual environment");
        command
            .env("PATH", format!("{}:{path}", tools.display()))
            .envs([("WANDB_BASE_URL", &url), ("SWANLAB_API_HOST", &url)])
            .envs([("WANDB_API_KEY", "0".repeat(40)), ("SWANLAB_API_KEY", "0".repeat(21))])
            .env("HOME", home)
            .env("SWANLAB_SAVE_DIR", home)
            .env("WANDB_ERROR_REPORTING", "false")
            .current_dir(home)
            .stdin(Stdio::null());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run from the start, of one slot.
pub(crate) fn run(slug: &str, run_idx: u32) -> LoggedRun {
    let config = r#"{"lr":0.0003,"net":{"layers":[64,64],"act":"tanh","bias":true},"seed":1}"#;
    LoggedRun {
        project: "pursuit".to_owned(),
        name: "first".to_owned(),
        group: slug.to_uppercase(),
        slug: Slug::new(slug).unwrap(),
        run_idx,
        config: Value::parse_json(config.as_bytes()).unwrap(),
        tags: vec!["test".to_owned()],
        request: "a".repeat(64),
        resume_step: None,
    }
}

pub(crate) fn resumed(run: &LoggedRun, step: i64) -> LoggedRun {
    LoggedRun { resume_step: Some(step), ..run.clone() }
}

pub(crate) fn options(log_dir: &Path, backend: Backend) -> LogOptions {
    let mut options = LogOptions::new(log_dir);
    options.backends = vec![backend];
    options.flush_interval = Duration::from_millis(20);
    options
}

/// Logs `loss = attempt + step` for these steps, and ends; without an outcome as a crash does.
pub(crate) fn log_steps(
    options: &LogOptions,
    run: &LoggedRun,
    attempt: f64,
    steps: impl IntoIterator<Item = i32>,
    outcome: Option<RunOutcome>,
) -> LogReport {
    let logger = RunLogger::start(options, run);
    for step in steps {
        logger.sink().log("loss", attempt + f64::from(step), i64::from(step));
    }
    outcome.map_or_else(LogReport::default, |outcome| logger.finish(outcome))
}
