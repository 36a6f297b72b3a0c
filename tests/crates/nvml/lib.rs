//! The functions of NVIDIA's management library that a description of GPUs needs, about GPUs
//! that the environment describes:
//!
//! - `FAKE_GPUS`: `uuid|name|bus|MiB|bus bits|memory MHz|SM MHz|cores|instances`, separated by
//!   `;`; instances are `uuid/name/MiB`, separated by `,`, and `-` for a GPU that is not divided;
//! - `FAKE_USED`: `uuid=MiB in use/MiB of this process`, separated by `,`; without the second part
//!   the process is none of the GPU's;
//! - `FAKE_FAILS`: functions that return an error, separated by `,`; `name=9` returns that error;
//!   `all` are all of them but the initialisation;
//! - `FAKE_HANGS`: a function that never returns.
//!
//! A handle is the number of a GPU, or 100 x GPU + number of an instance, counted from 1.
#![cfg(not(feature = "empty"))]
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::time::Duration;

const SUCCESS: c_int = 0;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NOT_FOUND: c_int = 6;
#[cfg(not(feature = "old"))]
const INSUFFICIENT_SIZE: c_int = 7;
const UNKNOWN: c_int = 999;

struct Gpu {
    fields: Vec<String>,
    instances: Option<Vec<Vec<String>>>,
}

fn gpus() -> Vec<Gpu> {
    let text = env::var("FAKE_GPUS").unwrap_or_default();
    let split = |text: &str, by: char| text.split(by).map(str::to_owned).collect::<Vec<_>>();
    let gpu = |text: &str| {
        let fields = split(text, '|');
        let instances = match fields[8].as_str() {
            "-" => None,
            "" => Some(Vec::new()),
            list => Some(list.split(',').map(|one| split(one, '/')).collect()),
        };
        Gpu { fields, instances }
    };
    text.split(';').filter(|text| !text.is_empty()).map(gpu).collect()
}

/// The error that a function has to return, if any.
fn fault(function: &str) -> Option<c_int> {
    if env::var("FAKE_HANGS").is_ok_and(|name| name == function) {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    let fails = env::var("FAKE_FAILS").unwrap_or_default();
    fails.split(',').find_map(|entry| {
        let (name, error) = entry.split_once('=').unwrap_or((entry, "999"));
        let meant = name == function || (name == "all" && !function.starts_with("nvmlInit"));
        meant.then(|| error.parse().unwrap_or(UNKNOWN))
    })
}

fn gpu(handle: *mut c_void) -> Option<(Gpu, Option<Vec<String>>)> {
    let number = handle as usize;
    let (index, part) = if number < 100 { (number, 0) } else { (number / 100, number % 100) };
    let gpu = gpus().into_iter().nth(index.checked_sub(1)?)?;
    let part = part.checked_sub(1).map(|part| gpu.instances.as_ref().unwrap()[part].clone());
    Some((gpu, part))
}

unsafe fn write_text(text: &str, out: *mut c_char, length: c_uint) -> c_int {
    if text.len() >= length as usize {
        return 7;
    }
    for (place, byte) in text.bytes().chain([0]).enumerate() {
        unsafe { out.add(place).write(byte as c_char) };
    }
    SUCCESS
}

macro_rules! function {
    ($name:ident($($argument:ident: $type:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            if let Some(error) = fault(stringify!($name)) {
                return error;
            }
            unsafe { $body }
        }
    };
}

function!(nvmlInit_v2() { SUCCESS });
function!(nvmlShutdown() { SUCCESS });

function!(nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) {
    write_text("580.65.06", out, length)
});

function!(nvmlDeviceGetCount_v2(out: *mut c_uint) {
    out.write(gpus().len() as c_uint);
    SUCCESS
});

function!(nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut *mut c_void) {
    if index as usize >= gpus().len() {
        return INVALID_ARGUMENT;
    }
    out.write((index as usize + 1) as *mut c_void);
    SUCCESS
});

function!(nvmlDeviceGetName(device: *mut c_void, out: *mut c_char, length: c_uint) {
    match gpu(device) {
        Some((_, Some(part))) => write_text(&part[1], out, length),
        Some((gpu, None)) => write_text(&gpu.fields[1], out, length),
        None => INVALID_ARGUMENT,
    }
});

function!(nvmlDeviceGetUUID(device: *mut c_void, out: *mut c_char, length: c_uint) {
    match gpu(device) {
        Some((_, Some(part))) => write_text(&part[0], out, length),
        Some((gpu, None)) => write_text(&gpu.fields[0], out, length),
        None => INVALID_ARGUMENT,
    }
});

#[repr(C)]
pub struct Pci {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
    subsystem: c_uint,
    bus_id: [c_char; 32],
}

function!(nvmlDeviceGetPciInfo_v3(device: *mut c_void, out: *mut Pci) {
    let Some((gpu, None)) = gpu(device) else { return NOT_SUPPORTED };
    let bus = gpu.fields[2].parse().unwrap();
    let (legacy, bus_id) = ([0; 16], [0; 32]);
    out.write(Pci { legacy, domain: 0, bus, device: 0, id: 0, subsystem: 0, bus_id });
    SUCCESS
});

#[cfg(not(feature = "old"))]
#[repr(C)]
pub struct Memory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetMemoryInfo_v2(device: *mut c_void, out: *mut Memory) {
    let Some((gpu, part)) = gpu(device) else { return INVALID_ARGUMENT };
    let mib: c_ulonglong = part.map_or(gpu.fields[3].clone(), |part| part[2].clone()).parse().unwrap();
    (*out).total = mib << 20;
    (*out).used = used(device).map_or(0, |(used, _)| used << 20);
    SUCCESS
});

/// MiB in use, and MiB of this process.
fn used(device: *mut c_void) -> Option<(c_ulonglong, Option<c_ulonglong>)> {
    let (gpu, part) = gpu(device)?;
    let uuid = part.map_or(gpu.fields[0].clone(), |part| part[0].clone());
    let text = env::var("FAKE_USED").unwrap_or_default();
    let all = text.split(',').filter_map(|entry| entry.split_once('='));
    let (_, value) = all.into_iter().find(|(key, _)| *key == uuid)?;
    let (used, own) = value.split_once('/').unwrap_or((value, ""));
    Some((used.parse().unwrap(), own.parse().ok()))
}

#[cfg(not(feature = "old"))]
#[repr(C)]
pub struct Process {
    pid: c_uint,
    memory: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetComputeRunningProcesses_v3(device: *mut c_void, count: *mut c_uint, out: *mut Process) {
    let own = used(device).and_then(|(_, own)| own);
    let other = (1, 64);
    let all: Vec<(c_uint, c_ulonglong)> =
        [other].into_iter().chain(own.map(|own| (std::process::id(), own))).collect();
    let room = count.read() as usize;
    count.write(all.len() as c_uint);
    if room < all.len() {
        return INSUFFICIENT_SIZE;
    }
    for (place, (pid, mib)) in all.into_iter().enumerate() {
        let (gpu_instance, compute_instance) = (c_uint::MAX, c_uint::MAX);
        out.add(place).write(Process { pid, memory: mib << 20, gpu_instance, compute_instance });
    }
    SUCCESS
});

function!(nvmlDeviceGetHandleByUUID(uuid: *const c_char, out: *mut *mut c_void) {
    let uuid = std::ffi::CStr::from_ptr(uuid).to_str().unwrap();
    for (index, gpu) in gpus().iter().enumerate() {
        let part = gpu.instances.iter().flatten().position(|part| part[0] == uuid);
        let number = match part {
            Some(part) => (index + 1) * 100 + part + 1,
            None if gpu.fields[0] == uuid => index + 1,
            None => continue,
        };
        out.write(number as *mut c_void);
        return SUCCESS;
    }
    NOT_FOUND
});

function!(nvmlDeviceGetMemoryBusWidth(device: *mut c_void, out: *mut c_uint) {
    let Some((gpu, None)) = gpu(device) else { return NOT_SUPPORTED };
    out.write(gpu.fields[4].parse().unwrap());
    SUCCESS
});

function!(nvmlDeviceGetMaxClockInfo(device: *mut c_void, clock: c_uint, out: *mut c_uint) {
    let Some((gpu, None)) = gpu(device) else { return NOT_SUPPORTED };
    let field = match clock {
        1 => 6,
        2 => 5,
        _ => return NOT_SUPPORTED,
    };
    out.write(gpu.fields[field].parse().unwrap());
    SUCCESS
});

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetNumGpuCores(device: *mut c_void, out: *mut c_uint) {
    let Some((gpu, None)) = gpu(device) else { return NOT_SUPPORTED };
    out.write(gpu.fields[7].parse().unwrap());
    SUCCESS
});

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetMigMode(device: *mut c_void, current: *mut c_uint, pending: *mut c_uint) {
    let Some((gpu, None)) = gpu(device) else { return INVALID_ARGUMENT };
    let mode = c_uint::from(gpu.instances.is_some());
    current.write(mode);
    pending.write(mode);
    SUCCESS
});

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetMaxMigDeviceCount(device: *mut c_void, out: *mut c_uint) {
    let Some((gpu, None)) = gpu(device) else { return INVALID_ARGUMENT };
    out.write(if gpu.instances.is_some() { 7 } else { 0 });
    SUCCESS
});

#[cfg(not(feature = "old"))]
function!(nvmlDeviceGetMigDeviceHandleByIndex(device: *mut c_void, index: c_uint, out: *mut *mut c_void) {
    let Some((gpu, None)) = gpu(device) else { return INVALID_ARGUMENT };
    if index as usize >= gpu.instances.map_or(0, |parts| parts.len()) {
        return NOT_FOUND;
    }
    out.write((device as usize * 100 + index as usize + 1) as *mut c_void);
    SUCCESS
});
