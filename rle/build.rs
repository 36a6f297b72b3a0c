//! Tells the crate what it is built by and for: a part of what a result depends on.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    set("RLE_RUSTC", compiler_version());
    set("RLE_TARGET", env::var("TARGET").ok());
    set("RLE_PROFILE", env::var("PROFILE").ok());
}

fn compiler_version() -> Option<String> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("-V").output().ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()
}

fn set(name: &str, value: Option<String>) {
    let value = value.unwrap_or_default();
    // One line, or the rest of it would be read as a directive to cargo.
    let line = value.lines().next().map_or("", str::trim);
    println!("cargo:rustc-env={name}={}", if line.is_empty() { "unknown" } else { line });
}
