//! The command `locks`: which lock files there are, and which are held.

use crate::Error;
use crate::cli::commands::files::Inspection;
use crate::cli::inspect::{self, FoundLock, LockState};
use crate::console::{Table, stdout_width};
use crate::timings::LOCK_FILE;

const DEFAULT_PATTERN: &str = "*.lock";

/// Shows the locks, and gives status 1 where something could not be looked at.
pub(in crate::cli) fn locks(inspection: &Inspection<'_>) -> Result<u8, Error> {
    let pattern = inspection.text("pattern").unwrap_or(DEFAULT_PATTERN);
    let only_locked = inspection.is_on("only_locked", "--only-locked")?;
    let found = inspect::locks(&inspection.scope, pattern, only_locked)?;
    inspection.print(&found, &found.faults, || text(&found.locks, inspection, only_locked))?;
    let unknown = found.locks.iter().any(|lock| lock.state == LockState::Unknown);
    Ok(u8::from(unknown || !found.faults.is_empty()))
}

fn text(locks: &[FoundLock], inspection: &Inspection<'_>, only_locked: bool) -> String {
    if locks.is_empty() {
        let what = if only_locked { "lock that is held" } else { "lock file" };
        return format!("no {what} below {}\n", inspection.place());
    }
    let mut table = Table::new(["group", "lock", "state", "holder", "file"]);
    for lock in locks {
        let file = lock.file.display().to_string();
        let told = lock.problem.as_deref().or(lock.holder.as_deref()).unwrap_or_default();
        table.row([&lock.group, &name(lock), &lock.state.to_string(), told, &file]);
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
