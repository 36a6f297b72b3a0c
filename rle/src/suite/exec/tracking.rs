//! Outputs that a run asks to be tracked: there, its own, hashed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::names::SlotId;
use crate::record::{self, TrackedPath};
use crate::run::artifacts;

/// What a record says about the outputs of a run.
pub(in crate::suite) fn track(
    export_dir: &Path,
    slot: &SlotId,
    paths: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<String, TrackedPath>, String> {
    let missing: Vec<String> = paths
        .iter()
        .filter(|(_, path)| !path.exists())
        .map(|(label, path)| format!("`{label}` ({})", path.display()))
        .collect();
    if !missing.is_empty() {
        return Err(format!("tracked outputs are missing: {}", missing.join(", ")));
    }
    let mut tracked = BTreeMap::new();
    for (label, path) in paths {
        let stored =
            artifacts::relative_to_export(export_dir, path).map_err(|error| error.to_string())?;
        if artifacts::is_shared(export_dir, &stored) {
            return Err(format!(
                "output `{label}` ({}) holds what belongs to the framework or to several runs; \
                 track only what this run wrote, such as ctx.artifact_path(..)",
                path.display()
            ));
        }
        let identity = artifacts::hash_path(path).map_err(|error| error.to_string())?;
        let place = TrackedPath {
            path: stored,
            kind: identity.kind,
            bytes: identity.bytes,
            sha256: identity.sha256,
        };
        tracked.insert(label.clone(), place);
    }
    refuse_shared_paths(export_dir, slot, &tracked)?;
    Ok(tracked)
}

/// A path below this run's own directory is this slot's; any other may be another's too.
fn refuse_shared_paths(
    export_dir: &Path,
    slot: &SlotId,
    tracked: &BTreeMap<String, TrackedPath>,
) -> Result<(), String> {
    let own = artifacts::run_directory(export_dir, slot);
    let foreign: Vec<(&String, PathBuf)> = tracked
        .iter()
        .map(|(label, place)| (label, artifacts::resolve_stored(export_dir, &place.path)))
        .filter(|(_, path)| !path.starts_with(&own))
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let own_record = record::record_path(export_dir, slot);
    let records = record::record_paths(export_dir).map_err(|error| error.to_string())?;
    for path in records.iter().filter(|path| **path != own_record) {
        let Some(other) = record::read_head(path) else { continue };
        for theirs in other.artifact_paths.values() {
            let theirs = artifacts::resolve_stored(export_dir, &theirs.path);
            if let Some((label, shared)) = foreign
                .iter()
                .find(|(_, path)| path.starts_with(&theirs) || theirs.starts_with(path))
            {
                return Err(format!(
                    "output `{label}` ({}) is tracked by slot {}:{} too; give each run its own \
                     path, such as ctx.artifact_path(..)",
                    shared.display(),
                    other.algorithm.slug,
                    other.run_idx
                ));
            }
        }
    }
    Ok(())
}
