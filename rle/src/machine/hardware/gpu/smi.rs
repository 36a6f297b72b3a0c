//! GPUs from the program `nvidia-smi`, which tells name and memory.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Device, ReadError, Reading};
use crate::machine::hardware::description::Gpu;
use crate::machine::hardware::machine::Machine;
use crate::machine::hardware::memory::gib;

const FIELDS: &str = "--query-gpu=uuid,pci.bus_id,memory.total,mig.mode.current,name";
const FORMAT: &str = "--format=csv,noheader,nounits";
const MIB: u64 = 1024 * 1024;
/// How often it is checked whether the program has ended.
const POLL: Duration = Duration::from_millis(2);

/// What the program says about the GPUs, no later than after `patience`.
pub(super) fn read(machine: &Machine, patience: Duration) -> Reading {
    parse(&ask(machine, FIELDS, patience)?)
}

/// The indices of all GPUs, as the program counts them; none where it does not tell in time.
#[cfg(feature = "cli")]
pub(in crate::machine::hardware) fn indices(machine: &Machine) -> Vec<String> {
    match ask(machine, "--query-gpu=index", machine.gpus.patience) {
        Ok(text) => text.lines().map(|line| line.trim().to_owned()).collect(),
        Err(ReadError::Broken(problem) | ReadError::Hung(problem)) => {
            tracing::warn!("{problem}, so no GPU is known");
            Vec::new()
        }
        Err(_) => Vec::new(),
    }
}

fn ask(machine: &Machine, fields: &str, patience: Duration) -> Result<String, ReadError> {
    let program = machine.gpus.program.as_ref().ok_or(ReadError::Absent)?;
    let mut command = Command::new(program);
    command.args([fields, FORMAT]).stdin(Stdio::null()).stderr(Stdio::null());
    let child = command.stdout(Stdio::piped()).spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Absent,
        _ => ReadError::Broken(format!("nvidia-smi cannot be started: {error}")),
    })?;
    output(child, patience)
        .map_err(|problem| ReadError::Broken(format!("nvidia-smi {problem}")))?
        .ok_or_else(|| ReadError::Hung(format!("nvidia-smi has not ended within {patience:?}")))
}

/// What the program prints; none where it takes too long, after which it is killed.
fn output(mut child: Child, patience: Duration) -> Result<Option<String>, String> {
    let began = Instant::now();
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // Read while it is waited for: a full pipe would block the program.
    let reader = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut bytes));
        let _ = sender.send(read.map(|_| bytes));
    });
    if let Err(error) = reader {
        end(&mut child);
        return Err(format!("cannot be read: {error}"));
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < patience => thread::sleep(POLL),
            Ok(None) => {
                end(&mut child);
                return Ok(None);
            }
            Err(error) => return Err(format!("is lost: {error}")),
        }
    };
    if !status.success() {
        return Err(format!("failed ({status})"));
    }
    // A child process of the program may keep the pipe open.
    match receiver.recv_timeout(patience.saturating_sub(began.elapsed()).max(POLL)) {
        Ok(Ok(bytes)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Ok(Err(error)) => Err(format!("cannot be read: {error}")),
        Err(_) => Ok(None),
    }
}

fn end(child: &mut Child) {
    // It may have ended meanwhile; one that waits for the driver ends once that answers.
    let _ = child.kill();
    let _ = child.try_wait();
}

/// Reads `GPU-<uuid>, 00000000:07:00.0, 15356, Disabled, NVIDIA A16`, one line a GPU.
pub(super) fn parse(text: &str) -> Reading {
    let mut devices = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // It says `No devices were found` and succeeds.
        if line.starts_with("No devices") {
            return Ok(Vec::new());
        }
        // The name comes last: it may hold a comma.
        let fields: Vec<&str> = line.splitn(5, ',').map(str::trim).collect();
        let [uuid, place, memory, mode, name] = fields[..] else {
            let problem = format!("nvidia-smi wrote a line of another form: {line}");
            return Err(ReadError::Broken(problem));
        };
        let memory_gib = memory.parse().ok().and_then(|mib: u64| mib.checked_mul(MIB)).map(gib);
        devices.push(Device {
            uuid: uuid.starts_with("GPU-").then(|| uuid.to_owned()),
            place: parse_place(place),
            gpu: Gpu { name: known(name), memory_gib, ..Gpu::default() },
            is_divided: mode == "Enabled",
            ..Device::default()
        });
    }
    Ok(devices)
}

/// What it does not know it writes in brackets: `[N/A]`, `[Unknown Error]`.
fn known(text: &str) -> Option<String> {
    (!text.is_empty() && !text.starts_with('[')).then(|| text.to_owned())
}

/// Domain, bus and device of `00000000:07:00.0`.
fn parse_place(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split([':', '.']).map(|part| u32::from_str_radix(part, 16).ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}
