//! Provenance as a record holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All that is known of the program that ran. Fields of later versions are ignored when read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Provenance {
    pub(crate) source: Source,
    pub(crate) runtime: Runtime,
    pub(crate) executable: Executable,
}

/// The source tree, and what version control says about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Source {
    /// SHA-256 over paths and contents; none where no tree was found.
    pub(crate) tree_sha256: Option<String>,
    /// SHA-256 of each file, or why it could not be read, by its path relative to the
    /// workspace, with `/` between the parts.
    pub(crate) files: BTreeMap<String, String>,
    /// `git`, or none.
    pub(crate) vcs: Option<String>,
    /// The full name of the commit that is checked out.
    pub(crate) revision: Option<String>,
    /// Whether tracked files differ from that commit, or source files are not tracked.
    pub(crate) dirty: Option<bool>,
    /// Why a value above is missing, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// What the program was built by and runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Runtime {
    /// As `rustc -V` says it, with the compiler's commit.
    pub(crate) rustc: String,
    /// The target triple.
    pub(crate) target: String,
    /// `debug` or `release`: what cargo's profile of the build derives from.
    pub(crate) profile: String,
    /// The version of this crate.
    pub(crate) rle: String,
    pub(crate) os: String,
    pub(crate) arch: String,
}

/// The running executable; hashed only where there is no source tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Executable {
    pub(crate) sha256: Option<String>,
    /// Why it could not be hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// The part of the provenance that a request's hash covers; its keys are those of
/// [`Provenance`], so that a difference is named by the same path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Identity {
    pub(crate) source: SourceIdentity,
    pub(crate) runtime: RuntimeIdentity,
    /// Only where there is no source tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executable: Option<ExecutableIdentity>,
}

/// See [`Source`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SourceIdentity {
    pub(crate) tree_sha256: Option<String>,
}

/// See [`Runtime`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RuntimeIdentity {
    pub(crate) rustc: String,
    pub(crate) target: String,
    pub(crate) profile: String,
}

/// See [`Executable`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExecutableIdentity {
    pub(crate) sha256: Option<String>,
}

impl Provenance {
    /// What of it decides whether a result may be reused.
    pub(crate) fn identity(&self) -> Identity {
        let runtime = &self.runtime;
        let executable = self
            .source
            .tree_sha256
            .is_none()
            .then(|| ExecutableIdentity { sha256: self.executable.sha256.clone() });
        Identity {
            source: SourceIdentity { tree_sha256: self.source.tree_sha256.clone() },
            runtime: RuntimeIdentity {
                rustc: runtime.rustc.clone(),
                target: runtime.target.clone(),
                profile: runtime.profile.clone(),
            },
            executable,
        }
    }
}
