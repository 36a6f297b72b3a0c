//! The help of the program and of its commands, and the completion of a shell.

use std::process::{Command, Stdio};

use crate::support::Lab;

#[test]
fn the_programs_own_help_is_short_and_names_every_command() {
    let lab = Lab::new();
    let help = lab.run(&["--help"]).ok();
    assert_eq!(help.stderr, "");
    for command in ["run", "list", "status", "verify", "archive", "timings", "locks", "completions"]
    {
        let line = format!("  {command} ");
        assert!(help.stdout.lines().any(|text| text.starts_with(&line)), "{}", help.stdout);
    }
    for word in ["--num-runs", "--set", "--dry-run", "key=value", "lab run --help"] {
        assert!(help.stdout.contains(word), "no {word} in {}", help.stdout);
    }
    assert!(!help.stdout.contains("--log-tags"), "{}", help.stdout);
    assert!(help.stdout.lines().count() < 50, "{}", help.stdout);
    assert_eq!(lab.run(&["--num-runs", "3", "-h"]).ok().stdout, help.stdout);
}

#[test]
fn a_commands_help_has_its_options_and_no_others() {
    let lab = Lab::new();
    let help = |words: &[&str], has: &[&str], lacks: &[&str]| {
        let text = lab.run(words).ok().stdout;
        for word in has {
            assert!(text.contains(word), "no {word} in {text}");
        }
        for word in lacks {
            assert!(!text.contains(word), "{word} in {text}");
        }
    };
    let suite = ["--num-runs", "--run-alpha", "--run-greedy", "--log-tags", "zero-based", "--set"];
    help(&["run", "--help"], &suite, &["--why", "--keep", "--latest-runs"]);
    help(&["--help", "status"], &["--why", "--num-runs", "--run-alpha"], &["--keep", "--pool"]);
    help(&["status", "-h"], &["--why"], &["--keep"]);
    help(&["archive", "--help"], &["list", "restore", "prune"], &["--num-runs"]);
    help(&["archive", "prune", "--help"], &["--keep <N>", "--yes"], &["--why"]);
    help(&["archive", "restore", "--help"], &["lab archive restore NAME"], &["--keep"]);
    help(&["timings", "--help"], &["show", "check"], &["--num-runs"]);
    help(&["timings", "show", "-h"], &["--latest-runs", "--export-root"], &["--allow", "--jobs"]);
    help(&["locks", "--help"], &["--pattern", "--groups"], &["--run-alpha", "--pool"]);
    help(&["completions", "--help"], &["bash, zsh, fish"], &["--num-runs"]);
    assert!(lab.run(&["status", "--version"]).ok().stdout.starts_with("lab "));
}

#[test]
fn what_completions_need_is_said() {
    let lab = Lab::new();
    lab.refuses(&["completions"], &["SHELL", "lab completions"]);
    lab.refuses(&["completions", "tcsh"], &["'tcsh'", "bash, zsh, fish"]);
}

#[test]
fn bash_completes_commands_options_and_flags() {
    let lab = Lab::new();
    let script = lab.write("work/lab.bash", &lab.run(&["completions", "bash"]).ok().stdout);
    let completed = |line: &str| {
        let program = format!(
            "set -u; source \"$1\"; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _lab lab \"${{COMP_WORDS[COMP_CWORD]}}\" lab; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &program, "bash"])
            .arg(&script)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(completed("lab --num-r"), "--num-runs");
    assert_eq!(completed("lab status --run-al"), "--run-alpha");
    assert_eq!(completed("lab status --wh"), "--why");
    assert_eq!(completed("lab run --wh"), "");
    assert_eq!(completed("lab archive pr"), "prune");
    assert_eq!(completed("lab timings show --latest"), "--latest-runs");
    assert_eq!(completed("lab stat"), "status");
}

#[test]
fn other_shells_accept_their_scripts() {
    let lab = Lab::new();
    for (shell, flags) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = lab.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("num-runs") && script.contains("run-alpha"), "{script}");
        let path = lab.write("work/script", &script);
        // Not every machine has all of them.
        if let Ok(output) = Command::new(shell).arg(flags).arg(&path).output() {
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
}
