//! Provenance as a record holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// All that is known of the program that ran. Without a source it was supplied, and holds metadata
/// only.
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
    /// SHA-256 of each file, or why it could not be read, by its path in the workspace.
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
    pub(crate) target: String,
    /// `debug` or `release`: what cargo's profile of the build derives from.
    pub(crate) profile: String,
    pub(crate) rle: String,
    pub(crate) os: String,
    pub(crate) arch: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Executable {
    pub(crate) sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Provenance {
    /// The part that a request's hash covers, under the same keys, so that a difference is named by
    /// the same path.
    pub(crate) fn identity(&self) -> Value {
        let mut identity = Value::object();
        if let Some(source) = &self.source {
            if source.tree_sha256.is_none() {
                // Without a source tree the executable tells one program from another.
                let executable = self.executable.as_ref();
                let sha256 = executable.and_then(|executable| executable.sha256.clone());
                identity.insert("executable", Value::from_iter([("sha256", sha256)]));
            }
            let tree = Value::from_iter([("tree_sha256", source.tree_sha256.clone())]);
            identity.insert("source", tree);
        }
        if let Some(Runtime { rustc, target, profile, .. }) = &self.runtime {
            let fields = [("rustc", rustc), ("target", target), ("profile", profile)];
            let runtime: Value =
                fields.map(|(key, value)| (key, value.clone())).into_iter().collect();
            identity.insert("runtime", runtime);
        }
        if !self.packages.is_empty() {
            identity.insert("packages", Value::from_iter(self.packages.clone()));
        }
        if !self.metadata.is_empty() {
            identity.insert("metadata", self.metadata.clone());
        }
        identity
    }
}
