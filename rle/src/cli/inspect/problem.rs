//! A file that could not be read, and its path as text.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// A file or directory that could not be read; the others are shown all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileProblem {
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) problem: String,
}

impl FileProblem {
    pub(super) fn new(file: &Path, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), problem: problem.into() }
    }
}

/// A path as text; what is no Unicode in it shows as a replacement character.
pub(super) fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
