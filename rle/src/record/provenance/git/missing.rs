//! Why something is not known, or not fit to be repeated from: in words, with the way out.

use std::fmt;

/// One reason. None of them stops a start, unless it asks for a clean source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    NotInstalled,
    NoRepository,
    Refused,
    NoCommit,
    Detached,
    Shallow,
    /// The source lies in a submodule of another repository.
    InSubmodule,
    HasSubmodules,
    Worktree,
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

    /// What is the matter, and what a person can do about it.
    fn reason_and_remedy(&self) -> (&str, &'static str) {
        let plain_clone = "run from a plain clone without submodules";
        match self {
            Self::NotInstalled => ("git is not installed, or not in PATH", "install git"),
            Self::NoRepository => {
                ("not a git repository", "put the sources under git, with a commit")
            }
            Self::Refused => (
                "git refuses the repository, which belongs to another user (safe.directory)",
                "name the directory in git's safe.directory",
            ),
            Self::NoCommit => ("the git repository has no commit yet", "commit the sources"),
            Self::Detached => {
                ("the checkout is detached: it is on no branch", "check out a branch")
            }
            Self::Shallow => {
                ("the clone is shallow: its history is cut off", "git fetch --unshallow")
            }
            Self::InSubmodule => ("the source is a submodule of another repository", plain_clone),
            Self::HasSubmodules => {
                ("the repository has submodules, which have revisions of their own", plain_clone)
            }
            Self::Worktree => ("the checkout is a linked worktree", plain_clone),
            Self::Other(reason) => (reason, "repair what git complains about"),
        }
    }

    pub(crate) fn remedy(&self) -> &'static str {
        self.reason_and_remedy().1
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.reason_and_remedy().0)
    }
}
