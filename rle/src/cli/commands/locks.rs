//! The command `locks`: which lock files there are, and which are held.

use serde::Serialize;

use crate::Error;
use crate::cli::inspect::{FileProblem, FoundLock, LockState, LocksRequest, locks as find_locks};
use crate::console::{Table, stdout_width};
use crate::timings::LOCK_FILE;

use crate::cli::commands::files::Inspection;
use crate::cli::show::{self, Format};

const DEFAULT_PATTERN: &str = "*.lock";

#[derive(Serialize)]
struct Printed<'a> {
    export_root: String,
    locks: &'a [FoundLock],
    faults: &'a [FileProblem],
}

/// Shows the locks, and gives status 1 where something could not be looked at.
pub(in crate::cli) fn locks(inspection: &Inspection<'_>) -> Result<u8, Error> {
    let request = LocksRequest {
        scope: inspection.scope.clone(),
        pattern: inspection.text("pattern").unwrap_or(DEFAULT_PATTERN).to_owned(),
        only_locked: inspection.is_on("only_locked", "--only-locked")?,
    };
    let (locks, faults) = find_locks(&request)?;
    match inspection.format {
        Format::Json => show::json(&Printed {
            export_root: inspection.scope.root.display().to_string(),
            locks: &locks,
            faults: &faults,
        })?,
        Format::Text => show::out(&text(&locks, inspection, request.only_locked))?,
    }
    show::faults(&faults, inspection.format);
    let unknown = locks.iter().any(|lock| lock.state == LockState::Unknown);
    Ok(u8::from(unknown || !faults.is_empty()))
}

fn text(locks: &[FoundLock], inspection: &Inspection<'_>, only_locked: bool) -> String {
    if locks.is_empty() {
        let what = if only_locked { "lock that is held" } else { "lock file" };
        return format!("no {what} below {}\n", inspection.place());
    }
    let mut table = Table::new(["group", "lock", "state", "holder", "file"]);
    for lock in locks {
        let file = lock.file.display().to_string();
        let told = lock.problem.as_ref().or(lock.holder.as_ref());
        let told = told.map_or("", String::as_str);
        table.row([&lock.group, &name(lock), state_word(lock.state), told, &file]);
    }
    let count = |state| locks.iter().filter(|lock| lock.state == state).count();
    let unknown = match count(LockState::Unknown) {
        0 => String::new(),
        unknown => format!(", {unknown} unknown"),
    };
    let (held, free) = (count(LockState::Held), count(LockState::Free));
    let line = format!("{held} held, {free} free{unknown}");
    format!("{}{line} below {}\n", table.render(stdout_width()), inspection.place())
}

/// What a lock protects.
fn name(lock: &FoundLock) -> String {
    match (&lock.algorithm, lock.run_idx, &lock.prepare) {
        (Some(slug), Some(run_idx), _) => format!("slot {slug}:{run_idx}"),
        (Some(slug), None, _) if lock.file.ends_with(LOCK_FILE) => format!("timings of {slug}"),
        (Some(slug), None, _) => format!("file of {slug}"),
        (None, _, Some(function)) => format!("prepare {function}"),
        (None, _, None) => "file of the group".to_owned(),
    }
}

const fn state_word(state: LockState) -> &'static str {
    match state {
        LockState::Held => "held",
        LockState::Free => "free",
        LockState::Unknown => "unknown",
    }
}
