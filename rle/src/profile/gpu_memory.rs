//! A log line about the memory of the GPUs.

use std::fmt::Write as _;
use std::sync::Arc;

use tracing::Level;

use super::debug::TARGET;
use crate::machine::hardware::gpu::{MemoryInUse, memory_in_use};
use crate::sync::RwLock;

/// What a framework's allocator has of one GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatorMemory {
    /// In use, in bytes.
    pub allocated: u64,
    /// Taken from the driver, in bytes.
    pub reserved: u64,
}

type Probe = Arc<dyn Fn(usize) -> Option<AllocatorMemory> + Send + Sync>;

static PROBE: RwLock<Option<Probe>> = RwLock::new(None);

/// The gigabyte of the lines, in bytes.
const GIGABYTE: f64 = 1024.0 * 1024.0 * 1024.0;

/// Lets a framework add its allocator's memory to the lines of [`log_gpu_memory`].
///
/// `probe` is given the number of a visible GPU, as the framework and CUDA count them, and may know
/// nothing of it. The last probe set is the one that is asked.
pub fn set_memory_probe(probe: impl Fn(usize) -> Option<AllocatorMemory> + Send + Sync + 'static) {
    *PROBE.write() = Some(Arc::new(probe));
}

/// Logs a line for each visible GPU, beginning with `head`:
///
/// ```text
/// [GPU Memory] before_train, process memory (GB): 12.34, device memory used/total (GB): 15.00/24.00
/// ```
///
/// A GB is 1024 x 1024 x 1024 bytes. Without a GPU there is one line at DEBUG. Where nobody listens
/// to the level, no driver is asked.
pub fn log_gpu_memory(head: &str, level: Level) {
    if !is_heard(level) {
        return;
    }
    let head = head.escape_debug();
    let probe = PROBE.read().clone();
    let ask = |gpu| probe.as_ref().and_then(|probe| probe(gpu));
    match memory_in_use() {
        Ok(gpus) => {
            let several = gpus.len() > 1;
            for (number, gpu) in gpus.into_iter().enumerate() {
                let label = several.then_some(number);
                log_line(level, &line(&head.to_string(), label, Some(gpu), ask(number)));
            }
        }
        // No driver tells about the GPU, but the framework does.
        Err(_) if let Some(own) = ask(0) => {
            log_line(level, &line(&head.to_string(), None, None, Some(own)));
        }
        Err(reason) => {
            tracing::debug!(target: TARGET, "[GPU Memory] {head}, no GPU: {reason}");
        }
    }
}

fn line(
    head: &str,
    number: Option<usize>,
    gpu: Option<MemoryInUse>,
    own: Option<AllocatorMemory>,
) -> String {
    let mut line = format!("[GPU Memory] {head}");
    // Writing to a string does not fail.
    if let Some(number) = number {
        let _ = write!(line, ", GPU {number}");
    }
    if let Some(gpu) = gpu {
        let _ = write!(line, ", process memory (GB): {}", gigabytes(gpu.process));
    }
    if let Some(AllocatorMemory { allocated, reserved }) = own {
        let (allocated, reserved) = (gigabytes(Some(allocated)), gigabytes(Some(reserved)));
        let _ =
            write!(line, ", memory allocated (GB): {allocated}, memory reserved (GB): {reserved}");
    }
    if let Some(gpu) = gpu {
        let (used, total) = gpu.used_and_total.unzip();
        let (used, total) = (gigabytes(used), gigabytes(total));
        let _ = write!(line, ", device memory used/total (GB): {used}/{total}");
    }
    line
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn gigabytes(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".to_owned(), |bytes| format!("{:.2}", bytes as f64 / GIGABYTE))
}

/// A macro's level is part of its place in the source.
macro_rules! by_level {
    ($level:expr, $macro:ident!($($arguments:tt)*)) => {
        match $level {
            Level::ERROR => tracing::$macro!(target: TARGET, Level::ERROR $($arguments)*),
            Level::WARN => tracing::$macro!(target: TARGET, Level::WARN $($arguments)*),
            Level::INFO => tracing::$macro!(target: TARGET, Level::INFO $($arguments)*),
            Level::DEBUG => tracing::$macro!(target: TARGET, Level::DEBUG $($arguments)*),
            Level::TRACE => tracing::$macro!(target: TARGET, Level::TRACE $($arguments)*),
        }
    };
}

fn is_heard(level: Level) -> bool {
    by_level!(level, enabled!())
}

fn log_line(level: Level, line: &str) {
    by_level!(level, event!(, "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_line_has_what_is_known() {
        let gpu =
            MemoryInUse { process: Some(GIB * 5 / 4), used_and_total: Some((15 * GIB, 24 * GIB)) };
        let own = AllocatorMemory { allocated: GIB, reserved: 2 * GIB };
        assert_eq!(
            line("before_train", None, Some(gpu), None),
            "[GPU Memory] before_train, process memory (GB): 1.25, \
             device memory used/total (GB): 15.00/24.00"
        );
        assert_eq!(
            line("x", Some(1), Some(gpu), Some(own)),
            "[GPU Memory] x, GPU 1, process memory (GB): 1.25, memory allocated (GB): 1.00, \
             memory reserved (GB): 2.00, device memory used/total (GB): 15.00/24.00"
        );
        assert_eq!(
            line("x", None, Some(MemoryInUse::default()), None),
            "[GPU Memory] x, process memory (GB): unknown, \
             device memory used/total (GB): unknown/unknown"
        );
        assert_eq!(
            line("x", None, None, Some(own)),
            "[GPU Memory] x, memory allocated (GB): 1.00, memory reserved (GB): 2.00"
        );
    }
}
