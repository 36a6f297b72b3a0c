//! The command `archive`: list, restore, prune.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Error;
use crate::cli::layers::Request;
use crate::cli::show::{self, Format};
use crate::console::{Table, stdout_width};
use crate::fs::FileLock;
use crate::names::{SlotId, Slug};
use crate::record;
use crate::record::archive::{self, Entry};
use crate::suite::SLOT_PATIENCE;

/// The command `archive list`.
pub(in crate::cli) fn list(request: &Request) -> Result<u8, Error> {
    let entries = archive::list(&export_dir(request)?)?;
    print(&entries, request.asked.format, "nothing is archived or superseded")?;
    Ok(0)
}

fn export_dir(request: &Request) -> Result<PathBuf, Error> {
    let export_dir = &request.config.export_dir;
    std::path::absolute(export_dir)
        .map_err(Error::cannot("resolve the export directory", export_dir))
}

fn print(entries: &[Entry], format: Format, nothing: &str) -> Result<(), Error> {
    if format == Format::Json {
        return show::json(&BTreeMap::from([("archives", entries)]));
    }
    if entries.is_empty() {
        return show::out(&format!("{nothing}\n"));
    }
    let mut table = Table::new(["archive", "kind", "slots", "bytes"]).align_right(3);
    for entry in entries {
        let slots = entry.slots.join(" ");
        table.row([entry.name.as_str(), entry.kind, &slots, &entry.bytes.to_string()]);
    }
    show::out(&table.render(stdout_width()))
}

/// The command `archive restore`.
pub(in crate::cli) fn restore(request: &Request, name: &str) -> Result<u8, Error> {
    let export_dir = &export_dir(request)?;
    if request.asked.dry_run {
        let entry = archive::find(export_dir, name)?;
        show::out(&format!("would restore {}\n", entry.slots.join(" ")))?;
        return Ok(0);
    }
    archive::recover(export_dir, None)?;
    let entry = archive::find(export_dir, name)?;
    let mut locks = Vec::new();
    for slot in &entry.slots {
        let Some((slug, run_idx)) = slot.rsplit_once(':') else { continue };
        let Ok(run_idx) = run_idx.parse() else { continue };
        let slot = SlotId::new(Slug::new(slug)?, run_idx);
        let path = record::lock_path(export_dir, &slot);
        let lock = FileLock::try_acquire(&path, SLOT_PATIENCE)?;
        locks.push(lock.ok_or_else(|| {
            Error::usage(format!("archive `{name}` is not restored: {slot} is running"))
        })?);
    }
    archive::restore(export_dir, &entry)?;
    show::out(&format!("restored {}\n", entry.slots.join(" ")))?;
    Ok(0)
}

/// The command `archive prune`.
pub(in crate::cli) fn prune(request: &Request) -> Result<u8, Error> {
    let export_dir = export_dir(request)?;
    let keep = request.asked.keep.expect("clap refuses `archive prune` without --keep");
    let remove = request.asked.yes && !request.asked.dry_run;
    if remove {
        archive::recover(&export_dir, None)?;
    }
    let entries = archive::to_prune(&export_dir, keep as usize)?;
    print(&entries, request.asked.format, "nothing to prune")?;
    if remove {
        entries.iter().try_for_each(|entry| archive::prune(&entry.path))?;
    } else if !entries.is_empty() && request.asked.format == Format::Text {
        show::out("nothing was removed: add --yes, without --dry-run, to remove these\n")?;
    }
    Ok(0)
}
