//! Provenance as a record holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// All that is known of the program that ran. Fields of later versions are ignored when read.
///
/// Without a source it was supplied: then the metadata is all there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Provenance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runtime: Option<Runtime>,
    /// Version by name, of the packages that the suite names; none where it was not found.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) packages: BTreeMap<String, Option<String>>,
    /// Why a version is missing, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packages_reason: Option<String>,
    /// None while it is being hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executable: Option<Executable>,
    /// The caller's own facts.
    pub(crate) metadata: BTreeMap<String, Value>,
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
    /// Hash of the difference between that commit and the sources; none where it is clean.
    pub(crate) diff_sha256: Option<String>,
    /// The branch that is checked out; none where the checkout is detached.
    pub(crate) branch: Option<String>,
    /// Where the branch comes from, without credentials; none where there is no remote.
    pub(crate) remote: Option<String>,
    /// Why a value above is missing or says less than it seems to, in words.
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

/// The running executable.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceIdentity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<RuntimeIdentity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    packages: BTreeMap<String, Option<String>>,
    /// Only where there is no source tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    executable: Option<ExecutableIdentity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, Value>,
}

/// See [`Source`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct SourceIdentity {
    tree_sha256: Option<String>,
}

/// See [`Runtime`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct RuntimeIdentity {
    rustc: String,
    target: String,
    profile: String,
}

/// See [`Executable`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct ExecutableIdentity {
    sha256: Option<String>,
}

impl Provenance {
    /// What of it decides whether a result may be reused.
    pub(crate) fn identity(&self) -> Identity {
        let source = self.source.as_ref();
        let executable = source.filter(|source| source.tree_sha256.is_none()).map(|_| {
            let executable = self.executable.as_ref();
            ExecutableIdentity { sha256: executable.and_then(|found| found.sha256.clone()) }
        });
        Identity {
            source: source.map(|source| SourceIdentity { tree_sha256: source.tree_sha256.clone() }),
            runtime: self.runtime.as_ref().map(|runtime| RuntimeIdentity {
                rustc: runtime.rustc.clone(),
                target: runtime.target.clone(),
                profile: runtime.profile.clone(),
            }),
            packages: self.packages.clone(),
            executable,
            metadata: self.metadata.clone(),
        }
    }
}
