//! Files that other processes read and write too: whole-file replacement and advisory locks.
//!
//! Knows nothing of what the files hold.

mod atomic;
mod lock;

pub(crate) use atomic::{
    probe_writing, sweep_leftovers, sync_directory, write_atomically, write_json_atomically,
};
pub(crate) use lock::FileLock;

#[cfg(test)]
pub(crate) mod small_disk;
