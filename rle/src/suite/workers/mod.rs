//! Slots in processes of their own: the program starts itself again for each.
//!
//! A crash, an abort, a kill for want of memory or a run that never ends takes only its own slot.
//! Each worker holds its own slot's lock. The record on disk decides; a report over the socket only
//! comes sooner. A worker whose parent is gone stops.
//!
//! - `protocol`: the messages between a parent and its worker.
//! - `devices`: GPUs and threads, shared by workers that run at once.
//! - `debugger`: a worker that waits for a debugger.
//! - `output`: what workers write to stdout and stderr, passed on line by line.
//! - `launcher`: the parent's side: one worker from its start to its end.
//! - `child`: the worker's side.
//! - `pool`: the slots of a start, each in a worker.

mod child;
mod debugger;
mod devices;
mod launcher;
mod output;
mod pool;
mod protocol;

pub(crate) use child::{is_worker, main};
pub(super) use debugger::check as check_debugger;
pub(super) use devices::Devices;
pub(super) use pool::run;
