//! Prints what this process may use, its hardware's id, and how long it took to find out; warnings
//! go to the standard error. The argument bounds the wait for a driver, in milliseconds. With the
//! argument `memory` it logs the memory of the GPUs instead, twice, and with `probe` after it that of
//! an allocator, too.

use std::time::{Duration, Instant};

use rle::hardware::{Hardware, Machine};
use rle::profile::{AllocatorMemory, Level, log_gpu_memory, set_memory_probe};

fn main() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("memory") {
        return log_memory(words.next().as_deref() == Some("probe"));
    }
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let mut machine = Machine::this();
    if let Some(patience) = std::env::args().nth(1) {
        let patience = patience.parse().expect("the argument is a number of milliseconds");
        machine = machine.driver_patience(Duration::from_millis(patience));
    }
    let began = Instant::now();
    let hardware = Hardware::of(&machine);
    let seconds = began.elapsed().as_secs_f64();
    let line = serde_json::json!({
        "hardware": hardware, "id": hardware.id(), "seconds": seconds,
    });
    println!("{line}");
}

fn log_memory(probe: bool) {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .init();
    if probe {
        set_memory_probe(|gpu| {
            let allocated = (gpu as u64 + 1) << 30;
            Some(AllocatorMemory { allocated, reserved: 2 * allocated })
        });
    }
    log_gpu_memory("before_train", Level::INFO);
    log_gpu_memory("after_train\n", Level::WARN);
}
