//! Files that other processes read and write too: whole-file replacement and advisory locks.
//!
//! Knows nothing of what the files hold.

mod atomic;
mod failpoint;
mod lock;
mod offer;

pub(crate) use atomic::{
    Prepared, Replaced, link_target, prepare_file, probe_writing, replace_file, sweep_leftovers,
    sync_directory, write_atomically, write_json_atomically,
};
#[cfg(test)]
pub(crate) use failpoint::dying_after;
pub(crate) use failpoint::failpoint;
pub(crate) use lock::FileLock;
pub(crate) use offer::{Offer, Offered, offers_for};

#[cfg(test)]
pub(crate) mod small_disk;
