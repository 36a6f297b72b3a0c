//! A thread's own part: where it adds its calls, and how deep it is in each stage.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use super::registry;
use super::sums::Slot;

/// How many rows have their place in an array; further ones are in a list.
const DIRECT: usize = 64;

const NO_THREAD: u64 = 0;

/// Where a guard was entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    /// The thread's number; [`NO_THREAD`] where it has no memory of its own any more.
    thread: u64,
    /// Whether no other guard of the stage was open on that thread.
    outermost: bool,
}

/// Without a destructor, so that access is a plain load.
struct Local {
    thread: Cell<u64>,
    slots: [Cell<Option<Slot>>; DIRECT],
}

/// Hands the thread's memory back when the thread ends.
struct Keeper {
    further: RefCell<Vec<Option<Slot>>>,
}

thread_local! {
    static LOCAL: Local = const {
        Local { thread: Cell::new(NO_THREAD), slots: [const { Cell::new(None) }; DIRECT] }
    };
    static KEEPER: Keeper = const { Keeper { further: RefCell::new(Vec::new()) } };
}

#[inline]
pub(super) fn enter(row: usize) -> Entered {
    LOCAL.with(|local| match local.slot(row) {
        Some(slot) => Entered { thread: local.thread.get(), outermost: slot.fold.enter() },
        None => Entered { thread: NO_THREAD, outermost: true },
    })
}

/// Whether the call counted: it was the outermost.
#[inline]
pub(super) fn leave(row: usize, entered: Entered, ticks: u64) -> bool {
    LOCAL.with(|local| {
        if local.thread.get() == entered.thread
            && let Some(slot) = local.slot(row)
        {
            slot.fold.leave();
            if entered.outermost {
                slot.sums.record(ticks, registry::current_lap());
            }
            return entered.outermost;
        }
        leave_elsewhere(row, entered, ticks);
        true
    })
}

/// A guard that was moved to this thread, or that has outlived its own thread's memory.
#[cold]
fn leave_elsewhere(row: usize, entered: Entered, ticks: u64) {
    record(row, ticks);
    if entered.thread != NO_THREAD {
        registry::release(row, entered.thread);
    }
}

#[inline]
pub(super) fn record(row: usize, ticks: u64) {
    LOCAL.with(|local| match local.slot(row) {
        Some(slot) => slot.sums.record(ticks, registry::current_lap()),
        None => registry::record_orphan(row, ticks),
    });
}

impl Local {
    /// None once the thread has handed its memory back.
    #[inline]
    fn slot(&self, row: usize) -> Option<Slot> {
        match self.slots.get(row) {
            Some(slot) if slot.get().is_some() => slot.get(),
            _ => self.further_slot(row),
        }
    }

    #[cold]
    fn further_slot(&self, row: usize) -> Option<Slot> {
        KEEPER
            .try_with(|keeper| keeper.find(row).unwrap_or_else(|| self.first_use(row, keeper)))
            .ok()
    }

    fn first_use(&self, row: usize, keeper: &Keeper) -> Slot {
        static NEXT_THREAD: AtomicU64 = AtomicU64::new(NO_THREAD + 1);
        if self.thread.get() == NO_THREAD {
            self.thread.set(NEXT_THREAD.fetch_add(1, Ordering::Relaxed));
        }
        let slot = registry::register(row, self.thread.get());
        match self.slots.get(row) {
            Some(direct) => direct.set(Some(slot)),
            None => keeper.keep(row, slot),
        }
        slot
    }
}

impl Keeper {
    fn find(&self, row: usize) -> Option<Slot> {
        self.further.borrow().get(row.checked_sub(DIRECT)?).copied().flatten()
    }

    fn keep(&self, row: usize, slot: Slot) {
        let mut further = self.further.borrow_mut();
        let at = row - DIRECT;
        if further.len() <= at {
            further.resize(at + 1, None);
        }
        further[at] = Some(slot);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        LOCAL.with(|local| {
            let direct = local.slots.iter().map(Cell::take);
            let rows = direct.chain(std::mem::take(self.further.get_mut()));
            for (row, slot) in rows.enumerate() {
                if slot.is_some() {
                    registry::retire(row, local.thread.get());
                }
            }
        });
    }
}
