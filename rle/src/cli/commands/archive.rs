//! The command `archive`: list, restore, prune.

use std::path::Path;

use serde::Serialize;

use crate::Error;
use crate::console::{Table, stdout_width};
use crate::fs::FileLock;
use crate::names::{SlotId, Slug};
use crate::near_match;
use crate::record;
use crate::record::archive::{self, Entry};
use crate::suite::SLOT_PATIENCE;

use crate::cli::layers::Request;
use crate::cli::show::{self, Format};

const ACTIONS: [&str; 3] = ["list", "restore", "prune"];

pub(in crate::cli) fn archive(words: &[String], request: &Request) -> Result<u8, Error> {
    let export_dir = std::path::absolute(&request.config.export_dir).map_err(|error| {
        Error::io("resolve the export directory", &request.config.export_dir, error)
    })?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.first() != Some(&"prune") && (request.asked.keep.is_some() || request.asked.yes) {
        return Err(Error::usage("--keep and --yes belong to `archive prune`"));
    }
    match words.as_slice() {
        [] | ["list"] => list(&export_dir, request.asked.format),
        ["restore", name] => restore(&export_dir, name),
        ["restore"] => Err(Error::usage(
            "archive restore needs the name of an archive; `archive list` shows them",
        )),
        ["prune"] => prune(&export_dir, request),
        [word, ..] => {
            let hint = near_match::hint(word, ACTIONS);
            Err(Error::usage(format!(
                "archive: expected list, restore NAME or prune --keep N, found `{}`{hint}",
                words.join(" ")
            )))
        }
    }
}

fn list(export_dir: &Path, format: Format) -> Result<u8, Error> {
    let entries = archive::list(export_dir)?;
    shown(&entries, format, "nothing is archived or superseded")?;
    Ok(0)
}

#[derive(Serialize)]
struct Listed<'a> {
    archives: &'a [Entry],
}

fn shown(entries: &[Entry], format: Format, nothing: &str) -> Result<(), Error> {
    if format == Format::Json {
        return show::json(&Listed { archives: entries });
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

fn restore(export_dir: &Path, name: &str) -> Result<u8, Error> {
    archive::recover(export_dir)?;
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

fn prune(export_dir: &Path, request: &Request) -> Result<u8, Error> {
    let Some(keep) = request.asked.keep else {
        return Err(Error::usage(
            "archive prune needs --keep N: how many archives of each set or slot stay",
        ));
    };
    if request.asked.yes {
        archive::recover(export_dir)?;
    }
    let entries = archive::to_prune(export_dir, keep as usize)?;
    shown(&entries, request.asked.format, "nothing to prune")?;
    if !request.asked.yes {
        if !entries.is_empty() && request.asked.format == Format::Text {
            show::out("nothing was removed: add --yes to remove these\n")?;
        }
        return Ok(0);
    }
    for entry in &entries {
        archive::prune(entry)?;
    }
    Ok(0)
}
