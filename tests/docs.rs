//! Runs the `console` blocks of the documentation and holds their output against what is written.
//!
//! Each page is one session that begins in an empty directory. Times, hashes and measured numbers
//! are made alike first; a line `..` stands for any lines; `^C` after a command interrupts it.
//! `RLE_DOCS_WRITE=1` puts the real output in place of one that differs; `RLE_DOCS_PAGE=inspecting` runs
//! only the pages whose path holds that.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Stands before a block whose program is not one of the examples.
const NOT_RUN: &str = "<!-- not run -->";

/// Between the outputs of two commands.
const MARK: &str = "\u{1}next";

/// What the pages call the directory of the session; the first page's is the repository.
const PROJECT: &str = "/path/to/project";
const REPOSITORY: &str = "/path/to/rle";

/// How many seconds after a run's start a page interrupts it, by try: it may meet a slow machine
/// or a fast one.
const INTERRUPTED_AFTER: [&str; 8] =
    ["0.10", "0.15", "0.05", "0.20", "0.02", "0.30", "0.08", "0.12"];

/// In place of `cargo run`: the example, which is built already.
const CARGO: &str = r#"#!/bin/bash
[ "$1" = run ] || exit 0
program=cartpole
while [ $# -gt 0 ]; do
  case $1 in
    --bin) program=$2; shift ;;
    --) shift; break ;;
  esac
  shift
done
exec "$program" "$@"
"#;

/// Something of a page, in its order.
#[derive(Debug)]
enum Step {
    File { name: String, text: String },
    Command { line: usize, text: String, output: Vec<String> },
}

#[test]
fn what_the_documentation_shows_is_what_the_examples_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned();
    let programs = [build_examples(&root), build_timing_only(&root)];
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/formats"] {
        let entries = fs::read_dir(root.join(folder)).expect("the folder of the pages");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|kind| kind == "md")));
    }
    if let Ok(part) = std::env::var("RLE_DOCS_PAGE") {
        pages.retain(|page| page.to_string_lossy().contains(&part));
    }
    pages.sort();
    let faults: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> =
            pages.iter().map(|page| scope.spawn(|| check(page, &root, &programs))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a page's thread")).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// As `cargo build` makes them, whatever the profile of this test: a faster program ends before the
/// clock interrupts it.
fn build_examples(root: &Path) -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_lab")).parent().expect("a profile's directory");
    let target = own.parent().expect("a target directory");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "rle-examples", "-p", "rle", "--target-dir"]);
    assert!(
        command.arg(target).current_dir(root).status().expect("cargo can be started").success()
    );
    target.join("debug")
}

/// The example that is no part of the workspace, since its `rle` has no features.
fn build_timing_only(root: &Path) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timing_only");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--locked", "--target-dir"]).arg(&target);
    command.current_dir(root.join("examples/timing_only"));
    assert!(command.status().expect("cargo can be started").success());
    target.join("debug")
}

/// The differences of a page.
fn check(page: &Path, root: &Path, programs: &[PathBuf]) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page");
    let steps = steps(&text);
    let mut differing = Vec::new();
    for after in INTERRUPTED_AFTER {
        let outputs = run(&steps, page.ends_with("README.md"), root, programs, after);
        let commands = steps.iter().filter(|step| matches!(step, Step::Command { .. }));
        assert_eq!(commands.clone().count(), outputs.len(), "{}: {outputs:?}", page.display());
        differing = commands.zip(outputs).filter(|(step, found)| !is_like(step, found)).collect();
        if differing.is_empty() {
            return Vec::new();
        }
    }
    if std::env::var_os("RLE_DOCS_WRITE").is_some() {
        fs::write(page, rewritten(&text, &differing)).expect("a page that can be written");
        return Vec::new();
    }
    differing.iter().map(|(step, found)| told(page, step, found)).collect()
}

fn told(page: &Path, step: &Step, found: &[String]) -> String {
    let Step::Command { line, text, output } = step else { return String::new() };
    format!(
        "{}:{line}: $ {text}\n--- written\n{}\n--- printed\n{}\n",
        page.display(),
        output.join("\n"),
        found.join("\n")
    )
}

/// The page with the real output of these commands.
fn rewritten(text: &str, differing: &[(&Step, Vec<String>)]) -> String {
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    for (step, found) in differing.iter().rev() {
        let Step::Command { line, output, .. } = step else { continue };
        let kept = usize::from(output.first().is_some_and(|first| first == "^C"));
        lines.splice(line + kept..line + output.len(), found.iter().cloned());
    }
    lines.join("\n") + "\n"
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    let mut before = "";
    while let Some((_, line)) = lines.next() {
        let skipped = before == NOT_RUN;
        before = line;
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        match kind {
            "console" if !skipped => commands(&block, &mut steps),
            "toml" => steps.extend(file(&block)),
            _ => {}
        }
    }
    steps
}

fn commands(block: &[(usize, &str)], steps: &mut Vec<Step>) {
    for (index, line) in block {
        if let Some(text) = line.strip_prefix("$ ") {
            let (line, text) = (index + 1, text.to_owned());
            steps.push(Step::Command { line, text, output: Vec::new() });
        } else if let Some(Step::Command { output, .. }) = steps.last_mut() {
            output.push((*line).to_owned());
        }
    }
}

/// A block whose first line is `# NAME.toml`.
fn file(block: &[(usize, &str)]) -> Option<Step> {
    let name = block.first()?.1.strip_prefix("# ")?;
    name.strip_suffix(".toml")?;
    let lines: Vec<&str> = block.iter().map(|(_, line)| *line).collect();
    let text = lines.join("\n") + "\n";
    Some(Step::File { name: name.to_owned(), text })
}

/// The output of each command.
fn run(
    steps: &[Step],
    first_page: bool,
    root: &Path,
    programs: &[PathBuf],
    interrupted_after: &str,
) -> Vec<Vec<String>> {
    let session = tempfile::tempdir().expect("a temporary directory");
    let session_path = fs::canonicalize(session.path()).expect("a path");
    let project = session_path.join("project");
    let tools = session_path.join("tools");
    fs::create_dir(&project).expect("a directory");
    fs::create_dir(&tools).expect("a directory");
    fs::write(tools.join("cargo"), CARGO).expect("a script");
    fs::set_permissions(tools.join("cargo"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut script = String::from("status=0\n");
    for step in steps {
        match step {
            Step::File { name, text } => {
                writeln!(script, "cat > {name} <<'END_OF_FILE'\n{text}END_OF_FILE").expect("text");
            }
            Step::Command { text, output, .. } => {
                let interrupted = output.first().is_some_and(|first| first == "^C");
                // With job control, for else the shell has its children ignore the signal.
                let command = if interrupted {
                    format!(
                        "set -m\n{text} > interrupted 2>&1 &\nset +m\n\
                         while kill -0 $! && ! grep -q ' started$' interrupted; do sleep 0.01; done\n\
                         sleep {interrupted_after}; kill -INT $!; wait $!; status=$?\n\
                         cat interrupted; rm interrupted; (exit $status)"
                    )
                } else {
                    text.clone()
                };
                // A command may ask for the status of the one before.
                writeln!(script, "(exit $status)\n{command}\nstatus=$?\necho '{MARK}'")
                    .expect("text");
            }
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(&project).env_clear();
    let programs = programs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    command.env("PATH", format!("{}:{}:{path}", tools.display(), programs.join(":")));
    command.env("LC_ALL", "C").env("HOME", &session_path).stdin(Stdio::null());
    if !first_page {
        command.env("RLE_LOG", "warn");
    }
    let output = command.output().expect("bash");
    let text = String::from_utf8_lossy(&output.stdout);
    let home = if first_page { REPOSITORY } else { PROJECT };
    let text = text
        .replace(project.to_str().expect("a UTF-8 path"), home)
        .replace(root.to_str().expect("a UTF-8 path"), REPOSITORY);
    let mut outputs: Vec<Vec<String>> = text
        .split(&format!("{MARK}\n"))
        .map(|output| output.lines().map(ToOwned::to_owned).collect())
        .collect();
    outputs.pop();
    outputs
}

fn is_like(step: &Step, found: &[String]) -> bool {
    let Step::Command { output, .. } = step else { return true };
    let written: Vec<String> = output.iter().filter(|line| *line != "^C").cloned().collect();
    matches(&all_alike(&written), &all_alike(found))
}

/// The lines without what differs from start to start. In a table of times every decimal number is
/// measured; one of hardware is the machine's own.
fn all_alike(lines: &[String]) -> Vec<String> {
    let decimal = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let (mut times, mut hardware) = (false, false);
    let mut made_alike = Vec::new();
    for line in lines {
        let made = alike(line);
        made_alike.push(if hardware && !line.is_empty() {
            "HARDWARE".to_owned()
        } else if times {
            let words = made.split(' ').map(|word| if decimal(word) { "MEASURED" } else { word });
            words.collect::<Vec<_>>().join(" ")
        } else {
            made
        });
        times = line.contains("± 2 sd") || times && !line.is_empty();
        hardware = line.starts_with("hardware  memory") || hardware && !line.is_empty();
    }
    made_alike
}

fn matches(written: &[String], found: &[String]) -> bool {
    match written.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line == ".." => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        Some((line, rest)) => found
            .split_first()
            .is_some_and(|(first, others)| first == line && matches(rest, others)),
    }
}

/// A line without what differs from start to start, and from build to build.
fn alike(line: &str) -> String {
    const MEASURED: [&str; 12] = [
        "\"seconds\":",
        "\"total_seconds\":",
        "\"pid\":",
        "\"host\":",
        "\"rustc\":",
        "\"target\":",
        "\"profile\":",
        "\"rle\":",
        "\"bytes\":",
        "\"sequence\":",
        "\"metadata\":",
        "\"resumed_from\":",
    ];
    /// How far a run comes before the clock stops it, and the numbers of processes.
    const BEFORE_COUNTS: [&str; 4] = ["checkpoint", "after", "generation", "pid"];
    if let Some(key) = MEASURED.iter().find(|key| line.trim_start().starts_with(**key)) {
        let comma = if line.ends_with(',') { "," } else { "" };
        return if line.ends_with(" null") || line.ends_with(" null,") {
            line.trim_start().to_owned()
        } else {
            format!("{key} ..{comma}")
        };
    }
    let mut made_alike = String::new();
    let (mut word, mut last) = (String::new(), String::new());
    for letter in line.chars().chain([' ']) {
        if letter.is_ascii_alphanumeric() || ".:+-".contains(letter) {
            word.push(letter);
            continue;
        }
        if BEFORE_COUNTS.contains(&last.as_str()) && word.parse::<f64>().is_ok() {
            made_alike.push_str("COUNT");
        } else {
            made_alike.push_str(&alike_word(&word));
        }
        made_alike.push(letter);
        last = std::mem::take(&mut word);
    }
    // Columns are as wide as their widest cell.
    let words = made_alike.split_whitespace().filter(|word| word.chars().any(|c| c != '-'));
    words.collect::<Vec<_>>().join(" ")
}

fn alike_word(word: &str) -> String {
    let first_digit = word.starts_with(|first: char| first.is_ascii_digit());
    let is_time = |word: &str| {
        word.len() > 8
            && word.strip_suffix('Z').is_some_and(|word| {
                word.chars().all(|letter| letter.is_ascii_digit() || "T.:-".contains(letter))
            })
    };
    let is_duration = |word: &str| {
        word.strip_suffix('s').is_some_and(|word| word.parse::<f64>().is_ok() && word.contains('.'))
    };
    if word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_digit()) {
        // Sizes of files hold times as well.
        "SIZE".to_owned()
    } else if first_digit && is_time(word) {
        "TIME".to_owned()
    } else if first_digit && is_duration(word) {
        "DURATION".to_owned()
    } else {
        let is_hash = |part: &&str| {
            part.len() >= 12
                && part.bytes().all(|byte| byte.is_ascii_hexdigit())
                && part.bytes().any(|byte| byte.is_ascii_digit())
        };
        let parts = word.split('.').map(|part| if is_hash(&part) { "HASH" } else { part });
        parts.collect::<Vec<_>>().join(".")
    }
}

#[test]
fn a_changed_word_is_seen_and_a_changed_time_is_not() {
    let written = ["slot    outcome   time", "ippo:0  complete  0.0s", ".."];
    let like = |found: &[&str]| {
        let output = written.map(ToOwned::to_owned).into();
        let step = Step::Command { line: 1, text: String::new(), output };
        is_like(&step, &found.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    };
    assert!(like(&["slot      outcome   time", "ippo:0    complete  12.3s", "more", "and more"]));
    assert!(!like(&["slot    outcome   time", "ippo:0  done      0.0s"]));
    assert!(!like(&["slot    outcome   time"]));
    let table = |seconds, stage, memory| {
        let rows = [
            "stage  seconds  ± 2 sd".to_owned(),
            format!("{stage} {seconds}"),
            String::new(),
            "hardware  memory".to_owned(),
            format!("1  {memory}"),
            String::new(),
            "lr 0.1".to_owned(),
        ];
        all_alike(&rows).join("|")
    };
    assert_eq!(table("1.5  0.25", "x_run", "64 GiB"), table("12.5  0.001", "x_run", "no limit"));
    assert_ne!(table("1.5", "x_run", "1 GiB"), table("1.5", "y_run", "1 GiB"));
    assert!(table("1.5", "x_run", "1 GiB").ends_with("|lr 0.1"));
    assert_eq!(alike("20261129T141703Z at 14:17:03Z"), "TIME at TIME");
    assert_eq!(alike("lr: 0.0003 -> 0.001"), "lr: 0.0003 -> 0.001");
    assert_eq!(alike("  \"seconds\": 1.2e-5,"), "\"seconds\": ..,");
}
