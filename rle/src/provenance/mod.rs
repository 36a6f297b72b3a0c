//! What was run: the code, the compiler, and the evidence of where the code came from.
//!
//! Code is identified by the contents of its files. What version control says about them is
//! evidence and never identity, so that committing what was run repeats nothing. Gathering it
//! never fails: what could not be learnt is replaced by the reason.

mod changes;
mod format;
mod git;
mod tree;

use std::env;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use changes::changed_files;
pub(crate) use format::{Executable, Provenance, Runtime, Source};

use crate::digest::{hash_file, hex};
use git::Git;

/// Where to look.
#[derive(Clone, Debug)]
pub(crate) struct CaptureRequest {
    /// A directory of the program's source: its manifest's, when it was built. The current
    /// directory serves where it does not exist (any more).
    pub(crate) source_dir: Option<PathBuf>,
    /// Never a part of the source, wherever it lies.
    pub(crate) export_dir: PathBuf,
}

/// Gathers the provenance of this program.
pub(crate) fn capture(request: &CaptureRequest) -> Provenance {
    capture_with(&Git::default(), request)
}

fn capture_with(git: &Git, request: &CaptureRequest) -> Provenance {
    let dir = match &request.source_dir {
        Some(dir) if dir.is_dir() => dir.clone(),
        _ => env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
    };
    let (source, executable) = match tree::read(&dir, &request.export_dir) {
        Ok(tree) => {
            let evidence = git.evidence(&tree.root, &tree.files, &tree.export_dir);
            let source = Source {
                tree_sha256: Some(tree.sha256),
                files: tree.files,
                vcs: evidence.vcs,
                revision: evidence.revision,
                dirty: evidence.dirty,
                reason: evidence.reason,
            };
            (source, Executable::default())
        }
        Err(reason) => (Source { reason: Some(reason), ..Source::default() }, running_executable()),
    };
    Provenance { source, runtime: runtime(), executable }
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

fn running_executable() -> Executable {
    // Linux keeps the running file reachable here, also when a new build has replaced its name.
    let own = Path::new("/proc/self/exe");
    let digest = File::open(own)
        .map(|_| own.to_owned())
        .or_else(|_: io::Error| env::current_exe())
        .and_then(|path| hash_file(&path));
    match digest {
        Ok(digest) => Executable { sha256: Some(hex(&digest.sha256)), reason: None },
        Err(error) => Executable { sha256: None, reason: Some(error.to_string()) },
    }
}

#[cfg(test)]
mod tests;
