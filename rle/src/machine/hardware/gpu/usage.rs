//! How much memory of the visible GPUs is in use, asked again and again.
//!
//! One thread keeps the library open and asks it: opening takes long, and a call that hangs must
//! not hold up a run.

use std::fs;
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::{Device as Handle, Nvml};

use super::nvml;
use super::visible::Choice;
use super::{MemoryInUse, ReadError};
use crate::machine::hardware::machine::Machine;
use crate::sync::Mutex;

/// How long an answer may take once the library is open.
const PATIENCE: Duration = Duration::from_secs(2);

type Answer = Vec<MemoryInUse>;

struct Asker {
    questions: Sender<()>,
    answers: Receiver<Answer>,
}

/// The memory of each GPU that this process sees, in the order in which CUDA counts them.
///
/// # Errors
/// Why there are none, in words.
pub(crate) fn memory_in_use() -> Result<Answer, String> {
    // After the first call: whom to ask, or why there is nobody to ask any more.
    static ASKER: Mutex<Option<Result<Asker, String>>> = Mutex::new(None);
    let mut opened = ASKER.lock();
    let asker = opened.get_or_insert_with(|| open(&Machine::this()));
    let answer = asker.as_ref().map_err(Clone::clone).and_then(Asker::ask);
    answer.inspect_err(|reason| *asker = Err(reason.clone()))
}

impl Asker {
    fn ask(&self) -> Result<Answer, String> {
        let ended = || "the thread that asks the management library has ended".to_owned();
        self.questions.send(()).map_err(|_| ended())?;
        self.answers.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                format!("the management library has not answered within {PATIENCE:?}")
            }
            RecvTimeoutError::Disconnected => ended(),
        })
    }
}

/// Opens the library in a thread of its own, and waits for it.
fn open(machine: &Machine) -> Result<Asker, String> {
    if Choice::read(machine).is_nothing() {
        return Err("CUDA_VISIBLE_DEVICES lists none".to_owned());
    }
    let (questions, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    let (opened, ready) = mpsc::channel();
    let asked_about = machine.clone();
    let run = move || {
        if let Err(error) = serve(&asked_about, &opened, &asked, &answer) {
            let _ = opened.send(Err(error));
        }
    };
    let spawned = thread::Builder::new().name("rle-gpu-memory".to_owned()).spawn(run);
    let is_open = nvml::answer_within(machine.gpus.patience, spawned, &ready).flatten();
    is_open.map(|()| Asker { questions, answers }).map_err(|error| match error {
        ReadError::Broken(problem) | ReadError::Hung(problem) => problem,
        ReadError::NoDriver if machine.has_nvidia_device() => {
            "their driver is not loaded".to_owned()
        }
        ReadError::Absent | ReadError::NoDriver => "there is no management library".to_owned(),
    })
}

/// Answers until nobody asks any more.
fn serve(
    machine: &Machine,
    opened: &Sender<Result<(), ReadError>>,
    asked: &Receiver<()>,
    answer: &Sender<Answer>,
) -> Result<(), ReadError> {
    let nvml = nvml::load(machine.gpus.library.as_ref().ok_or(ReadError::Absent)?)?;
    let handles = visible(machine, &nvml)?;
    let mut alive = opened.send(Ok(())).is_ok();
    while alive && asked.recv().is_ok() {
        let memory =
            handles.iter().map(|handle| handle.as_ref().map_or_else(Default::default, ask));
        alive = answer.send(memory.collect()).is_ok();
    }
    Ok(())
}

/// The visible GPUs; none for one that cannot be opened by its identifier.
fn visible<'a>(machine: &Machine, nvml: &'a Nvml) -> Result<Vec<Option<Handle<'a>>>, ReadError> {
    let identifiers = Choice::read(machine).identifiers(nvml::devices(nvml)?);
    if identifiers.is_empty() {
        return Err(ReadError::Broken("no GPU is visible".to_owned()));
    }
    Ok(identifiers.into_iter().map(|uuid| nvml.device_by_uuid(uuid?).ok()).collect())
}

fn ask(handle: &Handle<'_>) -> MemoryInUse {
    let memory = handle.memory_info().ok();
    MemoryInUse {
        process: of_process(handle),
        used_and_total: memory.map(|memory| (memory.used, memory.total)),
    }
}

/// What this process has allocated for computations.
fn of_process(handle: &Handle<'_>) -> Option<u64> {
    let processes = handle.running_compute_processes().ok()?;
    match processes.iter().find(|other| other.pid == process::id()) {
        Some(this) => match this.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        },
        // The driver numbers processes as the host does, and a container in its own way.
        None => is_numbered_by_host().then_some(0),
    }
}

/// Whether this process is in the first of the kernel's namespaces of process numbers, which has a
/// fixed inode: `PROC_PID_INIT_INO` of Linux's `include/linux/proc_ns.h`.
fn is_numbered_by_host() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == FIRST)
}
