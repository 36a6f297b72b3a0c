//! What this process may use: its memory limit, its CPUs, its GPUs.
//!
//! A description says what a job was given, not what the machine has: two runs are comparable
//! when they had the same, wherever that was. Names of hosts, users and jobs are no part of it.
//!
//! ```
//! let hardware = rle::hardware::current();
//! assert!(hardware.id().starts_with("hw_"));
//! ```

mod compare;
mod description;

use std::sync::OnceLock;

pub use compare::{Difference, differences, differences_among};
pub(crate) use description::id_of;
pub use description::{ClockSource, Cpu, Gpu, Hardware, LimitSource, Memory};

/// The description of what this process may use, collected by the first call and the same for
/// as long as the process lives.
///
/// It never fails: what cannot be found out is said to be unknown.
pub fn current() -> &'static Hardware {
    static CURRENT: OnceLock<Hardware> = OnceLock::new();
    CURRENT.get_or_init(Hardware::default)
}

#[cfg(test)]
mod tests;
