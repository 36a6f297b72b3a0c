//! `RLE_WAIT_FOR_DEBUGGER=<slug>_<idx>`: the worker of that slot waits until a debugger is there.

use std::time::Duration;
use std::{fs, process, thread};

use crate::run::Stop;
use crate::{SlotId, near_match};

const VARIABLE: &str = "RLE_WAIT_FOR_DEBUGGER";
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Warns where the variable would have no effect in a start of these slots.
pub(crate) fn check<'a>(slots: impl Iterator<Item = &'a SlotId>, in_workers: bool) {
    let Some(asked) = asked() else { return };
    if let Some(problem) = problem(&asked, slots, in_workers) {
        tracing::warn!("{VARIABLE} is `{}`, {problem}", asked.escape_debug());
    }
}

/// In the worker of that slot: logs the process id, and waits for a debugger or a stop request.
pub(super) fn wait(slot: &SlotId, stop: &Stop) {
    if asked().is_none_or(|asked| asked != slot.file_stem()) {
        return;
    }
    let pid = process::id();
    if !cfg!(target_os = "linux") {
        tracing::warn!("{slot} has the process id {pid}; only Linux tells when a debugger comes");
        return;
    }
    tracing::warn!("{slot} waits for a debugger: attach one to the process {pid}");
    while !is_traced() && !stop.is_requested() {
        thread::sleep(POLL_INTERVAL);
    }
}

fn asked() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|value| !value.is_empty())
}

fn problem<'a>(
    asked: &str,
    slots: impl Iterator<Item = &'a SlotId>,
    in_workers: bool,
) -> Option<String> {
    let stems: Vec<String> = slots.map(SlotId::file_stem).collect();
    if !stems.iter().any(|stem| stem == asked) {
        let known = near_match::hint_or_list(asked, stems.iter().map(String::as_str));
        return Some(format!("which is not a slot of this start{known}"));
    }
    let alone = "which only has an effect in a worker: add `--jobs 2`, or start this one process \
                 in the debugger";
    (!in_workers).then(|| alone.to_owned())
}

fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    // A system that does not tell is not waited for.
    tracer.is_none_or(|pid| pid.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Slug;

    #[test]
    fn a_variable_without_effect_is_told_of() {
        let slots = [0, 1].map(|run_idx| SlotId::new(Slug::new("ippo").unwrap(), run_idx));
        let of = |asked, in_workers| problem(asked, slots.iter(), in_workers);
        assert_eq!(of("ippo_1", true), None);
        assert!(of("ippo_1", false).unwrap().contains("--jobs 2"));
        let unknown = of("ipo_1", true).unwrap();
        assert!(unknown.contains("not a slot") && unknown.contains("ippo_1"), "{unknown}");
    }

    #[test]
    fn nobody_debugs_this_test() {
        assert!(!is_traced());
    }
}
