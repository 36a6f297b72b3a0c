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

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotInstalled => "git is not installed, or not in PATH",
            Self::NoRepository => "not a git repository",
            Self::Refused => {
                "git refuses the repository, which belongs to another user (safe.directory)"
            }
            Self::NoCommit => "the git repository has no commit yet",
            Self::Detached => "the checkout is detached: it is on no branch",
            Self::Shallow => "the clone is shallow: its history is cut off",
            Self::InSubmodule => "the source is a submodule of another repository",
            Self::HasSubmodules => {
                "the repository has submodules, which have revisions of their own"
            }
            Self::Worktree => "the checkout is a linked worktree",
            Self::Other(reason) => reason,
        })
    }
}
