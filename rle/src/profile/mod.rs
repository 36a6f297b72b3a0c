//! Where the time of a run goes: the stages of `#[rle::timed]`, summed up per run and group.
//!
//! A program marks its phases by [`timed`](macro@crate::timed); [`summary`] and [`print_summary`]
//! show them while it runs, [`bound`] says which phase to begin with. The runner puts the sums of
//! each run into its timings.
//!
//! ```
//! rle::stages! { rollout, train }
//!
//! #[rle::timed("rollout")]
//! fn rollout() {}
//!
//! # fn main() {
//! for _ in 0..3 {
//!     rollout();
//! }
//! let summary = rle::profile::summary();
//! assert_eq!(summary.groups[0].stages[0].count, 3);
//! # }
//! ```
//!
//! Each thread adds to memory of its own; after its first call of a stage there is no lock, no
//! allocation and no string work. Nothing in here writes a file.

mod bound;
mod clock;
mod debug;
mod gpu_memory;
mod registry;
pub(crate) mod site;
mod summary;
mod sums;
mod thread;
mod windows;

#[cfg(test)]
mod tests;

pub use bound::{Bound, Phase, PhaseShare, bound};
pub use debug::{MetricSink, is_on as is_debug, set_metric_sink};
pub use gpu_memory::{AllocatorMemory, log_gpu_memory, set_memory_probe};
pub use summary::{
    GroupSummary, StageSummary, Summary, epoch_summary, print_summary, process_summary, summary,
};
pub use tracing::Level;
pub(crate) use windows::{RunTimer, StageTotal, begin_run};

/// What log filters call the lines of this module.
pub(crate) const TARGET: &str = "rle::profile";

#[expect(clippy::cast_precision_loss, reason = "exact for weeks, then to 16 digits")]
fn seconds(ticks: u64, per_tick: f64) -> f64 {
    ticks as f64 * per_tick
}
