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
//! allocation and no string work. This module never writes a file.
//!
//! - `clock`: the clock of the timed stages.
//! - `debug`: what `RLE_DEBUG` turns on, and the metrics of single calls.
//! - `bound`: which phase bounds a run, and what helps.
//! - `sums`: the calls and times that one thread adds up.
//! - `windows`: the periods over which calls are summed.
//! - `registry`: all stages, with the sums of all threads.
//! - `thread`: a thread's own sums and its open calls.
//! - `site`: a place in the source that is timed, and its guards.
//! - `run_timer`: the sums of one run.
//! - `summary`: the summary per group, as users see it.
//! - `gpu_memory`: log lines about the memory of the GPUs.

mod bound;
mod clock;
mod debug;
mod gpu_memory;
mod registry;
mod run_timer;
pub(crate) mod site;
mod summary;
mod sums;
#[cfg(test)]
mod tests;
mod thread;
mod windows;

pub use bound::{Bound, Phase, PhaseShare, bound};
pub use debug::{MetricSink, is_on as is_debug, set_metric_sink};
pub use gpu_memory::{AllocatorMemory, log_gpu_memory, set_memory_probe};
pub(crate) use run_timer::{RunTimer, StageTotal, begin_run};
pub use summary::{
    GroupSummary, StageSummary, Summary, epoch_summary, print_summary, process_summary, summary,
};
pub use tracing::Level;
