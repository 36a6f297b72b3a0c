//! Hardware as it is described: on captured machines, with a stand-in for the GPUs' driver, and
//! on this machine beside the programs that describe it.

#[cfg(target_os = "linux")]
mod gpu_memory;
#[cfg(target_os = "linux")]
mod gpus;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod system;
mod trees;

/// Says that something is not tried, and fails where everything has to be.
fn skip(what: &str, why: &str) {
    let required = std::env::var("RLE_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{what}: {why}, and RLE_REQUIRE_PEERS is 1");
    eprintln!("skipped: {what}: {why}");
}
