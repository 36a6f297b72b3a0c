//! Prints what this process may use, its hardware's id, and how long it took to find out; warnings
//! go to the standard error. The argument bounds the wait for a driver, in milliseconds.

use std::time::{Duration, Instant};

use rle::hardware::{Hardware, Machine};

fn main() {
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
