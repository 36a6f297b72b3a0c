//! Puts an archive back where it came from.

use std::fs;
use std::path::Path;

use super::entries::{Entry, Origin, Tracked, read_origin, records};
use super::transaction::{Step, carry_out, relative};
use crate::fs::failpoint;
use crate::record::{read_head, read_whole, runs_dir};
use crate::run::artifacts;
use crate::{Error, timings};

/// Where records are written anew before they are moved back.
const RESTORED: &str = "restored";

/// Puts an entry back where it came from. The caller holds the locks of its slots. Where something
/// is in the way, it is named and nothing is moved.
pub(crate) fn restore(export_dir: &Path, entry: &Entry) -> Result<(), Error> {
    let origin = read_origin(&entry.path)?;
    refuse_live(export_dir, entry, &origin)?;
    let steps = steps_back(export_dir, entry, &origin).inspect_err(|_| {
        if failpoint().is_ok() {
            // It holds copies only, and the next restore writes them again.
            let _ = fs::remove_dir_all(entry.path.join(RESTORED));
        }
    })?;
    carry_out(export_dir, &entry.path, steps)
}

fn steps_back(export_dir: &Path, entry: &Entry, origin: &Origin) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    // Backwards: what lay inside something else goes back when that is there.
    for moved in origin.moved.iter().rev() {
        let from = relative(export_dir, &entry.path.join(&moved.to));
        steps.push(Step::Move { from, to: moved.from.clone() });
    }
    for record in records(&entry.path)? {
        steps.push(restored_record(export_dir, entry, origin, &record)?);
    }
    if entry.path.join(timings::TIMINGS_FILE).exists() {
        let slug = entry.slots.first().and_then(|slot| slot.rsplit_once(':'));
        if let Some((slug, _)) = slug {
            let (slug, from) = (slug.to_owned(), timings::TIMINGS_FILE.to_owned());
            steps.push(Step::RestoreTimings { slug, from });
        }
    }
    steps.push(Step::Discard);
    Ok(steps)
}

/// Refuses to restore where something is in the way: in a place that the archive goes back to, or
/// outside the export directory, an output that is not as the record has it.
fn refuse_live(export_dir: &Path, entry: &Entry, origin: &Origin) -> Result<(), Error> {
    let refused =
        |why: &str| Err(Error::usage(format!("archive `{}` is not restored: {why}", entry.name)));
    let records = records(&entry.path)?;
    let places = records.iter().map(|record| runs_dir(export_dir).join(file_name(record)));
    let mut targets = origin.moved.iter().map(|moved| export_dir.join(&moved.from)).chain(places);
    let live = targets.find(|path| {
        if path.is_dir() { !artifacts::is_empty_dir(path) } else { path.symlink_metadata().is_ok() }
    });
    if let Some(path) = live {
        return refused(&format!("{} is in use; move it away or remove it first", path.display()));
    }
    for record in &records {
        let Some(head) = read_head(record) else { continue };
        for Tracked { label, path, .. } in origin.tracked_in(&file_name(record)) {
            let outside = Path::new(path);
            let Some(known) = head.artifact_paths.get(label) else { continue };
            if outside.is_absolute()
                && outside.symlink_metadata().is_ok()
                && artifacts::hash_path(outside).map_or(true, |found| found.sha256 != known.sha256)
            {
                return refused(&format!(
                    "{path} holds something else now; move it away first, so that the archived \
                     copy can take its place"
                ));
            }
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes the record as it was, and the step that puts it in place.
fn restored_record(
    export_dir: &Path,
    entry: &Entry,
    origin: &Origin,
    record: &Path,
) -> Result<Step, Error> {
    failpoint()?;
    let name = file_name(record);
    let to = relative(export_dir, &runs_dir(export_dir).join(&name));
    let Ok(mut whole) = read_whole(record) else {
        return Ok(Step::Move { from: relative(export_dir, record), to });
    };
    for tracked in origin.tracked_in(&name) {
        let Some(place) = whole.head.artifact_paths.get_mut(&tracked.label) else { continue };
        let outside = Path::new(&tracked.path);
        let archived = artifacts::resolve_stored(export_dir, &place.path);
        // An output that was missing when it was archived is missing still.
        let is_lost = archived.symlink_metadata().is_ok() && outside.symlink_metadata().is_err();
        if outside.is_absolute() && is_lost {
            failpoint()?;
            artifacts::copy_tree(&archived, outside)?;
        }
        place.path.clone_from(&tracked.path);
    }
    if let Some(log_dir) = origin.log_dirs.get(&name) {
        whole.head.log_dir = Some(log_dir.clone());
    }
    failpoint()?;
    let restored = entry.path.join(RESTORED);
    fs::create_dir_all(&restored).map_err(Error::cannot("create the directory", &restored))?;
    let copy = restored.join(&name);
    whole.write(&copy)?;
    Ok(Step::Move { from: relative(export_dir, &copy), to })
}
