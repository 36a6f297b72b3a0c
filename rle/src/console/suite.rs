//! The course of a suite, shown as bars or as plain lines.
//!
//! A thread reads the slots' progress, which never waits for it. Plain lines are `tracing` events.

use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::environment;
use super::slots::{LONG, RunningSlot, Tally, word};
use crate::record::SlotOutcome;
use crate::run::Progress;
use crate::sync::{Condvar, Mutex};

#[cfg(feature = "cli")]
const BAR_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// Lines at a slot's start and end, and between them one an interval, if any.
    Lines(Option<Duration>),
    #[cfg(feature = "cli")]
    Bars,
}

/// Shows the course of a suite. Dropping it ends the display.
pub(crate) struct SuiteConsole {
    view: View,
    shared: Arc<Shared>,
    refresher: Option<JoinHandle<()>>,
    on_start: Option<OnStart>,
}

/// Is called with the progress of each slot that starts.
type OnStart = Box<dyn Fn(&Progress) + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    write_line: WriteLine,
}

type WriteLine = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Debug)]
struct State {
    tally: Tally,
    running: Vec<RunningSlot>,
    closing: bool,
}

impl SuiteConsole {
    /// For a library's user: plain lines through `tracing`, to whatever subscriber there is.
    pub(crate) fn lines() -> Self {
        Self::new(View::Lines(environment::line_interval(environment::variable)))
    }

    /// For the generated program: bars on a terminal, plain lines elsewhere, `RLE_VERBOSE` decides.
    #[cfg(feature = "cli")]
    pub(crate) fn for_program() -> Self {
        if environment::wants_bars(environment::variable, environment::on_terminal()) {
            Self::new(View::Bars)
        } else {
            Self::lines()
        }
    }

    /// For a worker: lines go to the slot's log only, and `on_start` gets the progress of each slot.
    pub(crate) fn for_worker(on_start: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        let write_line = |line: &str| {
            if let Some(log) = super::slot_log::current() {
                log.line(format_args!(" INFO {line}"));
            }
        };
        let mut console = Self::with_output(View::Lines(None), Box::new(write_line));
        console.on_start = Some(Box::new(on_start));
        console
    }

    fn new(view: View) -> Self {
        Self::with_output(view, Box::new(|line| tracing::info!("{line}")))
    }

    fn with_output(view: View, write_line: WriteLine) -> Self {
        let state =
            State { tally: Tally::new(0, 0, Instant::now()), running: Vec::new(), closing: true };
        let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), write_line };
        Self { view, shared: Arc::new(shared), refresher: None, on_start: None }
    }

    /// Begins: so many slots in all, of which so many are reused.
    pub(crate) fn start(&mut self, total_slots: usize, reused: usize) {
        self.finish();
        {
            let mut state = self.shared.lock();
            state.tally = Tally::new(total_slots, reused, Instant::now());
            state.closing = false;
        }
        let (shared, view) = (Arc::clone(&self.shared), self.view);
        // Without the thread there is no progress to see, which is no reason to fail.
        self.refresher = thread::Builder::new()
            .name("rle-console".to_owned())
            .spawn(move || shared.refresh(view))
            .ok();
    }

    /// A slot begins, under a label such as `IPPO run 1`.
    pub(crate) fn slot_started(&self, label: &str, progress: Progress) {
        if let Some(on_start) = &self.on_start {
            on_start(&progress);
        }
        let slot = RunningSlot::new(label, progress, Instant::now());
        if matches!(self.view, View::Lines(_)) {
            (self.shared.write_line)(&format!("{} started", slot.label));
        }
        let mut state = self.shared.lock();
        // A slot that is tried again takes the place of its earlier attempt.
        state.take_slot(&slot.label);
        state.running.push(slot);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// The slot of that label ended, or could not be started.
    pub(crate) fn slot_finished(&self, label: &str, outcome: &SlotOutcome) {
        let label = super::text::escape_controls(label);
        let now = Instant::now();
        let mut state = self.shared.lock();
        state.tally.count(outcome);
        let ended = state.take_slot(&label);
        // A busy slot never started here.
        let ended = ended.map_or_else(
            || format!("{label} {}", word(outcome)),
            |slot| slot.end_text(outcome, now),
        );
        let suite = state.suite_text(now);
        #[cfg(feature = "cli")]
        if self.view == View::Bars && !state.closing {
            state.draw(now);
        }
        // A subscriber may be slow.
        drop(state);
        (self.shared.write_line)(&format!("{ended} ({suite})"));
    }

    /// A prepare ended; it is shown like a slot but not counted as one.
    pub(crate) fn prepare_finished(&self, label: &str) {
        let label = super::text::escape_controls(label);
        let ended = self.shared.lock().take_slot(&label);
        if ended.is_some() {
            (self.shared.write_line)(&format!("{label} finished"));
        }
    }

    /// Ends the display; `start` may begin another.
    pub(crate) fn finish(&mut self) {
        {
            let mut state = self.shared.lock();
            state.closing = true;
            state.running.clear();
        }
        self.shared.changed.notify_all();
        if let Some(refresher) = self.refresher.take() {
            let _ = refresher.join();
        }
        #[cfg(feature = "cli")]
        if self.view == View::Bars {
            super::stderr::show(&[]);
        }
    }
}

impl Drop for SuiteConsole {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Shows the state until the display ends: after each interval and after each change.
    fn refresh(&self, view: View) {
        let mut state = self.lock();
        while !state.closing {
            let now = Instant::now();
            let next = match view {
                View::Lines(None) => now + LONG,
                View::Lines(Some(interval)) => {
                    let slots = state.running.iter_mut();
                    let due = slots.filter_map(|slot| slot.due_line(now, interval));
                    let lines: Vec<String> = due.collect();
                    if !lines.is_empty() {
                        drop(state);
                        for line in lines {
                            (self.write_line)(&line);
                        }
                        state = self.lock();
                        continue;
                    }
                    let due = state.running.iter().map(|slot| slot.next_due(interval));
                    due.min().unwrap_or(now + LONG)
                }
                #[cfg(feature = "cli")]
                View::Bars => {
                    state.draw(now);
                    now + BAR_INTERVAL
                }
            };
            let wait = next.saturating_duration_since(Instant::now());
            state = self.changed.wait_timeout(state, wait);
        }
    }
}

impl State {
    fn take_slot(&mut self, label: &str) -> Option<RunningSlot> {
        let at = self.running.iter().position(|slot| slot.label == label)?;
        Some(self.running.remove(at))
    }

    fn suite_text(&self, now: Instant) -> String {
        let shares: Vec<_> = self.running.iter().map(RunningSlot::share).collect();
        self.tally.text(now, &shares)
    }

    #[cfg(feature = "cli")]
    fn draw(&self, now: Instant) {
        use super::stderr::{self, Bar, slot_bars};
        let suite = Bar::of(self.tally.progress(), format!("suite {}", self.suite_text(now)));
        let mut bars = slot_bars(&self.running, stderr::size().1, now);
        bars.push(suite);
        stderr::show(&bars);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const COMPLETE: SlotOutcome = SlotOutcome::Complete { seconds: 1.0 };

    /// A console, and the lines that it writes on whatever thread.
    fn console(interval: Option<Duration>) -> (SuiteConsole, mpsc::Receiver<String>) {
        let (sender, lines) = mpsc::channel();
        let write_line = Box::new(move |line: &str| drop(sender.send(line.to_owned())));
        (SuiteConsole::with_output(View::Lines(interval), write_line), lines)
    }

    #[test]
    fn plain_lines_tell_start_and_end() {
        let (mut console, lines) = console(None);
        console.start(4, 1);
        console.slot_started("IPPO run\n0", Progress::new());
        console.slot_finished("IPPO run\n0", &COMPLETE);
        console.slot_started("ICPO run 0", Progress::new());
        console.slot_finished("ICPO run 0", &SlotOutcome::Failed { message: String::new() });
        console.slot_finished("ICPO run 1", &SlotOutcome::Busy);
        drop(console);
        let lines: Vec<String> = lines.iter().collect();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[4].starts_with("ICPO run 1 busy (2 of 4 done, "), "{lines:?}");
        assert_eq!(lines[0], "IPPO run\\n0 started");
        assert!(lines[1].starts_with("IPPO run\\n0 complete in 0."), "{lines:?}");
        assert!(lines[1].contains("(2 of 4 done, 1 reused, 2 left, "), "{lines:?}");
        assert!(lines[3].contains("(2 of 4 done, 1 reused, 1 failed, 1 left, "), "{lines:?}");
    }

    #[test]
    fn a_running_slot_is_looked_at_between_start_and_end() {
        let (mut console, lines) = console(Some(Duration::from_millis(1)));
        console.start(1, 0);
        let progress = Progress::new();
        console.slot_started("IPPO run 0", progress.clone());
        progress.set_total(8);
        progress.inc(2);
        assert_eq!(lines.recv().unwrap(), "IPPO run 0 started");
        let seen = lines.iter().find(|line| line.starts_with("IPPO run 0: 2/8 (25%), "));
        assert!(seen.is_some());
    }

    #[test]
    fn the_end_does_not_wait_for_the_next_line() {
        let begun = Instant::now();
        let (mut console, _lines) = console(Some(Duration::from_hours(1)));
        console.start(1, 0);
        console.slot_started("IPPO run 0", Progress::new());
        console.finish();
        assert!(console.refresher.is_none());
        assert!(begun.elapsed() < Duration::from_mins(10));
    }

    #[test]
    fn a_console_may_be_dropped_while_slots_run() {
        let (mut console, _lines) = console(Some(Duration::from_secs(1)));
        console.slot_finished("IPPO run 0", &SlotOutcome::Busy);
        console.start(1, 0);
        console.slot_started("IPPO run 0", Progress::new());
        drop(console);
    }

    #[test]
    fn slots_may_begin_and_end_on_many_threads() {
        let (mut console, _lines) = console(Some(Duration::from_secs(30)));
        console.start(32, 0);
        thread::scope(|scope| {
            for thread in 0..4 {
                let console = &console;
                scope.spawn(move || {
                    for slot in 0..8 {
                        let label = format!("IPPO run {}", thread * 8 + slot);
                        console.slot_started(&label, Progress::new());
                        console.slot_finished(&label, &COMPLETE);
                    }
                });
            }
        });
        let state = console.shared.lock();
        assert_eq!((state.tally.ended(), state.running.len()), (32, 0));
        drop(state);
    }
}
