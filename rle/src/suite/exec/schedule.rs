//! Which slot runs when: in order, as many at once as there are jobs, a failed one again as often
//! as there are retries, and those that another process held once more at the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::run::Stop;
use crate::suite::SlotOutcome;
use crate::suite::plan::{Plan, PlannedSlot, Start};
use crate::sync::Mutex;

/// Runs the slots that have to run, and returns the outcome of every slot. After a stop request, and
/// with `fail_fast` after a failure, no further slot begins.
pub(in crate::suite) fn run_all(
    start: &Start,
    stop: &Stop,
    run: impl Fn(&PlannedSlot) -> SlotOutcome + Sync,
) -> Vec<SlotOutcome> {
    let Plan { slots, options, .. } = &start.plan;
    let has_failed = AtomicBool::new(false);
    let run = |slot: usize| {
        if stop.is_requested()
            || (options.execution.fail_fast && has_failed.load(Ordering::Relaxed))
        {
            return None;
        }
        let outcome = run(&slots[slot]);
        if let SlotOutcome::Failed { message } = &outcome {
            has_failed.store(true, Ordering::Relaxed);
            tracing::error!("{} failed: {message}", slots[slot].id);
        }
        Some(outcome)
    };
    let mut outcomes = vec![SlotOutcome::Reused; slots.len()];
    let first = |slot: usize| {
        let outcome = run(slot).unwrap_or(SlotOutcome::NotRun);
        if outcome == SlotOutcome::Busy {
            let id = &slots[slot].id;
            tracing::info!("{id} is held by another process: looked at again at the end");
        }
        outcome
    };
    for (slot, outcome) in in_parallel(options.execution.jobs, &start.slots_to_run(), first) {
        outcomes[slot] = outcome;
    }
    let is_busy = |&slot: &usize| outcomes[slot] == SlotOutcome::Busy;
    let busy: Vec<usize> = (0..slots.len()).filter(is_busy).collect();
    for (slot, outcome) in in_parallel(options.execution.jobs, &busy, run) {
        outcomes[slot] = outcome.unwrap_or(SlotOutcome::Busy);
    }
    outcomes
}

/// Calls `run` for each slot, with as many calls at once as there are jobs; one job's are on this
/// thread.
fn in_parallel<T: Send>(
    jobs: u32,
    slots: &[usize],
    run: impl Fn(usize) -> T + Sync,
) -> Vec<(usize, T)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(slots.len()));
    let work = || {
        while let Some(&slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run(slot);
            results.lock().push((slot, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..slots.len().min(jobs as usize) {
            scope.spawn(work);
        }
        work();
    });
    results.into_inner()
}

/// Attempts a slot until it does not fail, its retries are used up, or a stop is requested. `attempt`
/// gets the number of the retry, from 0.
pub(in crate::suite) fn with_retries(
    slot: &PlannedSlot,
    retries: u32,
    stop: &Stop,
    mut attempt: impl FnMut(u32) -> SlotOutcome,
) -> SlotOutcome {
    let mut outcome = attempt(0);
    for retry in 1..=retries {
        let SlotOutcome::Failed { message } = &outcome else { break };
        if stop.is_requested() {
            break;
        }
        tracing::warn!("{} failed, retry {retry}: {message}", slot.id);
        outcome = attempt(retry);
    }
    outcome
}
