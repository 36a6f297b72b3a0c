//! The error type of the public functions: each message says what is wrong, where, and what to do.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

use crate::value::ValueError;

/// What can go wrong outside a trainer: in the request, the registry, the files.
///
/// ```
/// fn action(error: &rle::Error) -> &'static str {
///     match error {
///         rle::Error::Newer { .. } => "update this program",
///         rle::Error::MissingArtifacts(_) => "make the artifacts first",
///         rle::Error::Locked { .. } => "try again later",
///         _ => "report it",
///     }
/// }
/// # assert_eq!(action(&rle::Error::MissingArtifacts(String::new())), "make the artifacts first");
/// ```
///
/// A fault inside an algorithm is never an `Error` of this kind: it belongs to its slot's
/// record and to the summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option, a configuration key or a value that is not accepted.
    #[error("{0}")]
    Usage(String),
    /// The registered algorithms, prepares and flags do not fit together.
    #[error("{0}")]
    Registry(String),
    /// A value that has no exact form in JSON, with the key it stands under.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A file that exists but is not what it has to be.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A record or checkpoint that a newer version of this program wrote: it is left as it is.
    #[error("{}: {problem}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Which versions are meant, and what to do.
        problem: String,
    },
    /// Required artifacts that do not exist: the message names each.
    #[error("{0}")]
    MissingArtifacts(String),
    /// The system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb phrase: `write`, `create the directory`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A lock that another process still held when the wait ended.
    #[error(
        "{} is locked by another process (waited {waited_seconds} s{})",
        path.display(),
        holder.as_ref().map(|text| format!("; holder: {text}")).unwrap_or_default()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long it was tried.
        waited_seconds: f64,
        /// What is known of its holder: a diagnostic that nothing has checked.
        holder: Option<String>,
    },
}

impl Error {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    pub(crate) fn file(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::File { path: path.into(), problem: problem.into() }
    }

    /// A file whose schema, that of a `kind` of files, is newer than the `known` one.
    pub(crate) fn newer(path: &Path, kind: &str, version: u64, known: u32) -> Self {
        let problem = format!(
            "was written by a newer version of this program ({kind} schema {version}, this one \
             reads up to {known}); use that version, or another --export-dir"
        );
        Self::Newer { path: path.to_owned(), problem }
    }

    /// Makes an error of the system's answer to an operation on `path`: for `map_err`.
    pub(crate) fn cannot(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::io(action, path, source)
    }

    /// The result of an operation on `path`; none where there is nothing of that name.
    pub(crate) fn unless_missing<T>(
        action: &'static str,
        path: &Path,
        result: io::Result<T>,
    ) -> Result<Option<T>, Self> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            result => result.map(Some).map_err(Self::cannot(action, path)),
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// An error and its causes with `link` between them. A cause that the text before it ends with
/// already is not said twice.
pub(crate) fn chain_text(error: &(dyn StdError + 'static), link: &str) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(link);
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("saving")]
    struct Saving(#[source] Error);

    #[test]
    fn a_chain_says_each_cause_once() {
        let io = io::Error::other("disk on fire");
        let error = Error::io("write", Path::new("policy"), io);
        assert_eq!(chain_text(&error, ": "), "cannot write policy: disk on fire");
        let text = chain_text(&Saving(error), " < ");
        assert_eq!(text, "saving < cannot write policy: disk on fire");
    }
}
