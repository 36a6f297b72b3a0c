//! Stopping on request: by a signal, at a deadline, or by a worker's parent.
//!
//! A request turns [`Stop::poll`] true, which an algorithm sees through `should_stop()`. An
//! algorithm that never asked is ended: its record is written as interrupted and the process
//! exits. Handlers are in force from the start of a suite to its end; before and after, signals
//! have the effect that they had.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, fs, process};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

use crate::SlotId;
use crate::sync::Mutex;

/// The exit status of a start that was stopped and can go on.
pub(crate) const INTERRUPTED: u8 = 3;

const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGUSR1, SIGUSR2];

/// What becomes of the rest when a start stops.
const LEFT: &str = "; slots that were not begun are left for the next start";

/// Whether a start shall stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<State>);

#[derive(Debug)]
struct State {
    requested: AtomicBool,
    polled: AtomicBool,
    /// The run's own deadline, in nanoseconds since `base`.
    run_deadline: AtomicU64,
    base: Instant,
    running: Mutex<Option<Running>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            requested: AtomicBool::new(false),
            polled: AtomicBool::new(false),
            run_deadline: AtomicU64::new(u64::MAX),
            base: Instant::now(),
            running: Mutex::default(),
        }
    }
}

pub(crate) struct Running {
    pub(crate) slot: SlotId,
    /// Records the run as interrupted, where the process has to end before the run does.
    pub(crate) interrupt: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for Running {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Running").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl Stop {
    /// Whether a stop was requested. Unlike [`poll`](Self::poll), the call is not taken for the
    /// algorithm's own.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// Whether the algorithm shall stop. Once it has asked, it is trusted to end by itself.
    pub(crate) fn poll(&self) -> bool {
        if !self.0.polled.load(Ordering::Relaxed) {
            self.0.polled.store(true, Ordering::Relaxed);
        }
        self.is_requested() || self.run_is_over()
    }

    /// Whether the run that is under way had a deadline and is past it.
    pub(crate) fn run_is_over(&self) -> bool {
        let deadline = self.0.run_deadline.load(Ordering::Relaxed);
        deadline != u64::MAX && self.0.base.elapsed().as_nanos() > u128::from(deadline)
    }

    /// Requests a stop, without ending a run whose algorithm never asked.
    pub(crate) fn ask(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
    }

    /// Requests a stop; a run whose algorithm never asked ends with the process.
    pub(crate) fn request(&self, why: &str) {
        if !self.0.requested.swap(true, Ordering::SeqCst) {
            tracing::warn!("stopping: {why}");
        }
        // In one order with `begin_run`: either sees what the other did.
        if !self.0.polled.load(Ordering::SeqCst) {
            self.end_running("its algorithm has not asked should_stop() so far");
        }
    }

    /// Ends the process at once; a run that is under way is recorded as interrupted.
    pub(crate) fn end_now(&self) -> ! {
        self.end_running("asked a second time");
        process::exit(i32::from(INTERRUPTED));
    }

    fn end_running(&self, why: &str) {
        let mut running = self.0.running.lock();
        let Some(Running { slot, interrupt }) = running.take() else { return };
        tracing::warn!("{slot} is ended: {why}");
        interrupt();
        // The lock on `running` is kept: the run's own thread can write no record any more.
        process::exit(i32::from(INTERRUPTED));
    }

    /// From here to [`finish_run`](Self::finish_run) a run is under way.
    pub(crate) fn begin_run(&self, running: Running, timeout: Option<Duration>) {
        self.0.polled.store(false, Ordering::SeqCst);
        let deadline = timeout.and_then(|timeout| self.0.base.elapsed().checked_add(timeout));
        let deadline = deadline.and_then(|deadline| u64::try_from(deadline.as_nanos()).ok());
        self.0.run_deadline.store(deadline.unwrap_or(u64::MAX), Ordering::Relaxed);
        *self.0.running.lock() = Some(running);
        if self.0.requested.load(Ordering::SeqCst) {
            // The request came before the run could be seen.
            self.end_running("a stop was requested before it began");
        }
    }

    /// The run is over, and its own thread writes the record.
    pub(crate) fn finish_run(&self) {
        *self.0.running.lock() = None;
        self.0.run_deadline.store(u64::MAX, Ordering::Relaxed);
    }
}

/// Listens for signals and a deadline while it lives.
pub(crate) struct Listener {
    handle: Option<Handle>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped to end the wait for the deadline.
    closing: Option<Sender<()>>,
}

impl Listener {
    /// Begins to listen; `second` is called at a second SIGINT or SIGTERM, before the end.
    /// Where handlers cannot be installed, a warning says so.
    pub(crate) fn begin(
        stop: &Stop,
        stop_after: Option<Duration>,
        second: impl Fn() + Send + 'static,
    ) -> Self {
        let (closing, closed) = mpsc::channel();
        let mut listener = Self { handle: None, threads: Vec::new(), closing: Some(closing) };
        match heard_signals().and_then(Signals::new) {
            Ok(signals) => {
                listener.handle = Some(signals.handle());
                activity(true);
                let stop = stop.clone();
                listener.spawn("rle-signals", move || hear(signals, &stop, &second));
            }
            Err(error) => tracing::warn!("signals cannot be handled: {error}"),
        }
        if let Some(after) = stop_after {
            let stop = stop.clone();
            listener.spawn("rle-deadline", move || {
                if closed.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                    stop.request(&format!("the time of --stop-after is over{LEFT}"));
                }
            });
        }
        listener
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        match thread::Builder::new().name(name.to_owned()).spawn(work) {
            Ok(thread) => self.threads.push(thread),
            Err(error) => tracing::warn!("cannot start the thread {name}: {error}"),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            activity(false);
            handle.close();
        }
        self.closing = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn hear(mut signals: Signals, stop: &Stop, second: &(impl Fn() + Send)) {
    let mut asked = 0_u32;
    for signal in &mut signals {
        if matches!(signal, SIGINT | SIGTERM) {
            asked += 1;
        }
        if asked > 1 {
            second();
            stop.end_now();
        }
        let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
        stop.request(&format!("{name} received{LEFT}"));
    }
}

/// The signals that this process does not ignore: one that its parent had ignored stays ignored.
/// Outside a suite they have their default effect, or that of an earlier handler.
fn heard_signals() -> std::io::Result<Vec<i32>> {
    static HEARD: OnceLock<Vec<i32>> = OnceLock::new();
    if let Some(heard) = HEARD.get() {
        return Ok(heard.clone());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (ignored, caught) = (mask(&status, "SigIgn:"), mask(&status, "SigCgt:"));
    let is_in = |mask: u64, signal: i32| mask & (1 << (signal - 1)) != 0;
    let mut heard = Vec::new();
    for signal in SIGNALS {
        if is_in(ignored, signal) {
            continue;
        }
        if !is_in(caught, signal) {
            flag::register_conditional_default(signal, Arc::clone(&IDLE))?;
        }
        heard.push(signal);
    }
    Ok(HEARD.get_or_init(|| heard).clone())
}

fn mask(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether no suite listens: signals have their default effect then.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Counts the suites that listen.
fn activity(begins: bool) {
    static ACTIVE: Mutex<u32> = Mutex::new(0);
    let mut active = ACTIVE.lock();
    *active = if begins { *active + 1 } else { active.saturating_sub(1) };
    IDLE.store(*active == 0, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Slug;

    fn begun(timeout: Option<Duration>) -> Stop {
        let stop = Stop::default();
        begin(&stop, timeout);
        stop
    }

    fn begin(stop: &Stop, timeout: Option<Duration>) {
        let running = Running {
            slot: SlotId::new(Slug::new("alpha").unwrap(), 1),
            interrupt: Box::new(|| panic!("nothing is to be interrupted")),
        };
        stop.begin_run(running, timeout);
    }

    #[test]
    fn a_request_is_seen_by_an_algorithm_that_asks() {
        let stop = begun(None);
        assert!(!stop.poll() && !stop.is_requested());
        stop.request("the test asks for it");
        assert!(stop.poll() && stop.is_requested());
    }

    #[test]
    fn asking_alone_ends_nothing() {
        let stop = begun(None);
        stop.ask();
        assert!(stop.poll());
        stop.finish_run();
        assert!(stop.is_requested());
    }

    #[test]
    fn a_request_between_two_runs_ends_nothing() {
        let stop = begun(None);
        stop.finish_run();
        stop.request("the test asks for it");
        assert!(stop.is_requested());
    }

    #[test]
    fn a_deadline_is_of_its_own_run_and_no_request() {
        let stop = begun(Some(Duration::ZERO));
        while !stop.poll() {
            thread::yield_now();
        }
        assert!(stop.run_is_over() && !stop.is_requested());
        stop.finish_run();
        assert!(!stop.run_is_over() && !stop.poll());
        begin(&stop, Some(Duration::from_hours(1)));
        assert!(!stop.poll());
    }

    #[test]
    fn a_limit_beyond_all_time_is_none() {
        let stop = begun(Some(Duration::MAX));
        assert!(!stop.poll() && !stop.run_is_over());
    }

    #[test]
    fn the_time_of_stop_after_requests_a_stop() {
        let stop = begun(None);
        let _ = stop.poll();
        let listener = Listener::begin(&stop, Some(Duration::ZERO), || {});
        while !stop.is_requested() {
            thread::yield_now();
        }
        drop(listener);
    }

    #[test]
    fn a_listener_that_ends_before_its_time_requests_nothing() {
        let stop = begun(None);
        drop(Listener::begin(&stop, Some(Duration::MAX), || {}));
        assert!(!stop.is_requested());
    }

    #[test]
    fn masks_are_read_from_the_systems_own_text() {
        let status = "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000180004002\n";
        assert_eq!(mask(status, "SigIgn:"), 0x1000);
        assert_eq!(mask(status, "SigCgt:"), 0x1_8000_4002);
        assert_eq!(mask(status, "SigBlk:"), 0);
    }
}
