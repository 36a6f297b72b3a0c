//! What was run: the code, the compiler, and the evidence of where the code came from.
//!
//! Code is identified by the contents of its files. What version control says about them is
//! evidence and never identity, so that committing what was run repeats nothing. Gathering it
//! never fails, unless a clean source is required: what could not be learnt is replaced by the
//! reason. Neither environment variables nor arguments are ever stored.
//!
//! - `format`: provenance as a record holds it.
//! - `mode`: how provenance is gathered, and what a caller may add.
//! - `inputs`: patterns of further files that count as source.
//! - `tree`: the source tree and its hash.
//! - `git`: what version control says about the source.
//! - `packages`: versions from `Cargo.lock`.
//! - `executable`: the provenance of one start, whose executable is hashed beside the first runs and
//!   compared with the sources' times.
//! - `changes`: the difference between two source trees, or between one and its commit.

mod changes;
mod executable;
mod format;
mod git;
mod inputs;
mod mode;
mod packages;
mod tree;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use crate::Error;
use crate::value::Value;

use executable::running_executable;
use git::{Evidence, Git, Sources};
use inputs::Inputs;
use tree::Tree;

pub(crate) use changes::explain_sources;
pub(crate) use executable::Capture;
#[cfg(test)]
pub(crate) use format::Executable;
pub(crate) use format::{Provenance, Runtime, Source};
pub use mode::ProvenanceMode;
pub(crate) use mode::check_metadata;

/// What to gather, and where to look.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureRequest {
    pub(crate) mode: ProvenanceMode,
    /// A directory of the program's source; where it does not exist, the current directory is used.
    pub(crate) source_dir: Option<PathBuf>,
    /// Never a part of the source, wherever it lies.
    pub(crate) export_dir: PathBuf,
    pub(crate) packages: Vec<String>,
    /// Patterns of files that count as source, relative to the workspace.
    pub(crate) inputs: Vec<String>,
    /// The caller's own facts.
    pub(crate) metadata: BTreeMap<String, Value>,
}

/// Gathers the provenance of this program, with warnings of what makes it doubtful. In the mode
/// `require_clean` a source that is not exactly a commit is an error.
pub(crate) fn capture(request: &CaptureRequest) -> Result<Capture, Error> {
    capture_with(&Git::default(), request)
}

fn capture_with(git: &Git, request: &CaptureRequest) -> Result<Capture, Error> {
    check_metadata(&request.metadata)?;
    let inputs = Inputs::new(&request.inputs)?;
    if request.mode == ProvenanceMode::Supplied {
        return supplied(request);
    }
    let dir = match &request.source_dir {
        Some(dir) if dir.is_dir() => dir.clone(),
        _ => env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    };
    let mut warnings = Vec::new();
    let tree = tree::read(&dir, &request.export_dir, &inputs);
    let source = match &tree {
        Ok(tree) => {
            let evidence = ask_git(git, tree, &inputs);
            if request.mode == ProvenanceMode::RequireClean {
                changes::check_clean(&evidence)?;
            }
            warnings.extend(unmatched_inputs(&inputs));
            warnings.extend(executable::stale_warning(&tree.root, &tree.sources));
            Source {
                tree_sha256: Some(tree.sha256.clone()),
                files: tree.files.clone(),
                reason: evidence.reason(),
                ..evidence.source
            }
        }
        Err(reason) if request.mode == ProvenanceMode::RequireClean => {
            return Err(changes::no_source(reason));
        }
        Err(reason) => Source { reason: Some(reason.clone()), ..Source::default() },
    };
    let root = tree.as_ref().ok().map(|tree| tree.root.as_path());
    let packages = packages::look_up(&request.packages, root);
    let reason = packages.reason.as_ref();
    warnings.extend(reason.map(|reason| format!("provenance_packages: {reason}")));
    // Where it is the identity, it has to be known at once.
    let executable = source.tree_sha256.is_none().then(running_executable);
    let provenance = Provenance {
        source: Some(source),
        runtime: Some(runtime()),
        packages: packages.versions,
        packages_reason: packages.reason,
        executable,
        metadata: request.metadata.clone(),
    };
    Capture::new(provenance, warnings)
}

fn supplied(request: &CaptureRequest) -> Result<Capture, Error> {
    let nothing = "the provenance is supplied but empty: no change of the program will be noticed; \
                   give it facts with --provenance KEY=VALUE";
    let metadata = request.metadata.clone();
    let warnings = metadata.is_empty().then(|| nothing.to_owned()).into_iter().collect();
    Capture::new(Provenance { metadata, ..Provenance::default() }, warnings)
}

fn ask_git(git: &Git, tree: &Tree, inputs: &Inputs) -> Evidence {
    let patterns: Vec<String> = tree::git_patterns().chain(inputs.for_git()).collect();
    git.evidence(Sources {
        root: &tree.root,
        files: &tree.files,
        export_dir: &tree.export_dir,
        patterns: &patterns,
    })
}

fn unmatched_inputs(inputs: &Inputs) -> Option<String> {
    let unmatched = inputs.unmatched();
    (!unmatched.is_empty())
        .then(|| format!("provenance_inputs: nothing matches `{}`", unmatched.join("`, `")))
}

fn runtime() -> Runtime {
    Runtime {
        rustc: env!("RLE_RUSTC").to_owned(),
        target: env!("RLE_TARGET").to_owned(),
        profile: env!("RLE_PROFILE").to_owned(),
        rle: env!("CARGO_PKG_VERSION").to_owned(),
        os: env::consts::OS.to_owned(),
        arch: env::consts::ARCH.to_owned(),
    }
}

#[cfg(test)]
mod tests;
