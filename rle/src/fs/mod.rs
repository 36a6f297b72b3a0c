//! Files that other processes read and write too: whole-file replacement and advisory locks.
//!
//! Knows nothing of what the files hold.
//!
//! - `failpoint`: places at which a test lets an operation of many steps die.
//! - `lock`: advisory locks, and who holds them.
//! - `atomic`: whole-file writes, and the removal of what killed writers left.

mod atomic;
mod failpoint;
mod lock;

pub(crate) use atomic::{
    OFFER_SUFFIX, Prepared, Replaced, Temporary, directory_of, link_target, prepare_file,
    probe_writing, replace_file, sweep_leftovers, sync_directory, unique_name, write_atomically,
    write_json_atomically,
};
#[cfg(test)]
pub(crate) use failpoint::dying_after;
pub(crate) use failpoint::failpoint;
pub(crate) use lock::{FileLock, try_exclusive};

#[cfg(test)]
pub(crate) mod small_disk;
