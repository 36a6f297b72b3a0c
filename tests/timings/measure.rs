//! What a measurement is not to count.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::program::Program;

#[test]
fn the_hardware_is_asked_for_before_a_measurement_begins_and_not_within_it() {
    for how in ["guard", "timer"] {
        let dir = tempfile::tempdir().unwrap();
        let asked = dir.path().join("asked");
        let driver = dir.path().join("nvidia-smi");
        fs::write(&driver, format!("#!/bin/sh\n: > '{}'\n", asked.display())).unwrap();
        fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_timings_writer"));
        command.env_clear().env("PATH", dir.path()).arg("measure").arg(dir.path()).arg(how);
        let mut program = Program::start_command(&mut command);
        program.await_line("begun");
        let was_asked = asked.exists();
        program.end_well();
        if !asked.exists() {
            eprintln!("skipped: this machine's own driver tells its GPUs");
            return;
        }
        assert!(was_asked, "a {how} counts the time that the driver takes to answer");
    }
}
