//! What the runner tells of a suite's course, shown as bars or as plain lines.
//!
//! A thread of its own reads the slots' progress; moving a progress never waits for it, and nothing
//! that it cannot show fails a run. Plain lines are `tracing` events: where nobody listens, nothing is said.

use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::running::RunningSlot;
use super::tally::{SlotOutcome, Tally};
use crate::run::progress::Progress;
use crate::sync::{Condvar, Mutex};

/// Bars are drawn this often.
#[cfg(feature = "cli")]
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// How a suite is shown.
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
    watch: Option<Watch>,
}

/// Is told of each progress that begins.
type Watch = Box<dyn Fn(&Progress) + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    say: Say,
}

/// Where plain lines go.
type Say = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Debug)]
struct State {
    tally: Tally,
    running: Vec<RunningSlot>,
    closing: bool,
}

impl SuiteConsole {
    /// For a library's user: plain lines through `tracing`, to whatever subscriber there is.
    pub(crate) fn lines() -> Self {
        use super::environment;
        Self::new(View::Lines(environment::line_interval(environment::variable)))
    }

    /// For the generated program: bars on a terminal, plain lines elsewhere, `RLE_VERBOSE` decides.
    #[cfg(feature = "cli")]
    pub(crate) fn for_program() -> Self {
        use super::environment;
        if environment::wants_bars(environment::variable, environment::on_terminal()) {
            Self::new(View::Bars)
        } else {
            Self::lines()
        }
    }

    /// For a worker: its parent shows the course; the slot's log has it too. `watch` is told of
    /// each progress that begins.
    #[cfg(feature = "cli")]
    pub(crate) fn for_worker(watch: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        let say = |line: &str| {
            if let Some(log) = super::slot_log::current() {
                log.line(format_args!(" INFO {line}"));
            }
        };
        let mut console = Self::saying(View::Lines(None), Box::new(say));
        console.watch = Some(Box::new(watch));
        console
    }

    fn new(view: View) -> Self {
        Self::saying(view, Box::new(|line| tracing::info!("{line}")))
    }

    fn saying(view: View, say: Say) -> Self {
        let state =
            State { tally: Tally::new(0, 0, Instant::now()), running: Vec::new(), closing: true };
        let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), say };
        Self { view, shared: Arc::new(shared), refresher: None, watch: None }
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
        if let Some(watch) = &self.watch {
            watch(&progress);
        }
        let slot = RunningSlot::new(label, progress, Instant::now());
        if matches!(self.view, View::Lines(_)) {
            (self.shared.say)(&format!("{} started", slot.label));
        }
        self.shared.lock().running.push(slot);
        self.shared.changed.notify_all();
    }

    /// The slot of that label ended, or could not be started.
    pub(crate) fn slot_finished(&self, label: &str, outcome: SlotOutcome) {
        let label = super::text::escape_controls(label);
        let now = Instant::now();
        let mut state = self.shared.lock();
        state.tally.count(outcome);
        let ended = state.take_slot(&label);
        // A busy slot never started here.
        let ended = ended.map_or_else(
            || format!("{label} {}", outcome.word()),
            |slot| slot.end_text(outcome, now),
        );
        let suite = state.suite_text(now);
        #[cfg(feature = "cli")]
        if self.view == View::Bars && !state.closing {
            state.draw(now);
        }
        // Whoever listens may be slow.
        drop(state);
        (self.shared.say)(&format!("{ended} ({suite})"));
    }

    /// A prepare ended; it is shown like a slot but is none.
    pub(crate) fn prepare_finished(&self, label: &str) {
        let label = super::text::escape_controls(label);
        let ended = self.shared.lock().take_slot(&label);
        if ended.is_some() {
            (self.shared.say)(&format!("{label} finished"));
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

impl fmt::Debug for SuiteConsole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuiteConsole").field("view", &self.view).finish_non_exhaustive()
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

    /// The refresher's life: look, show, wait for the next look or for a change.
    fn refresh(&self, view: View) {
        let mut state = self.lock();
        while !state.closing {
            let now = Instant::now();
            let next = match view {
                View::Lines(None) => None,
                View::Lines(Some(interval)) => {
                    let lines = state.due_lines(now, interval);
                    if !lines.is_empty() {
                        drop(state);
                        for line in lines {
                            (self.say)(&line);
                        }
                        state = self.lock();
                        continue;
                    }
                    state.running.iter().map(|slot| slot.next_look(interval)).min()
                }
                #[cfg(feature = "cli")]
                View::Bars => {
                    state.draw(now);
                    Some(now + BAR_INTERVAL)
                }
            };
            state = self.wait(state, next);
        }
    }

    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        next: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        match next {
            None => self.changed.wait(state),
            Some(next) => {
                let wait = next.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, wait)
            }
        }
    }
}

impl State {
    fn take_slot(&mut self, label: &str) -> Option<RunningSlot> {
        let at = self.running.iter().position(|slot| slot.label == label)?;
        Some(self.running.remove(at))
    }

    fn due_lines(&mut self, now: Instant, interval: Duration) -> Vec<String> {
        self.running.iter_mut().filter_map(|slot| slot.due_line(now, interval)).collect()
    }

    fn suite_text(&self, now: Instant) -> String {
        self.tally.text(now, self.running.iter().map(RunningSlot::share).sum())
    }

    #[cfg(feature = "cli")]
    fn draw(&self, now: Instant) {
        use super::bars::{self, Bar};
        use super::stderr;
        let suite = Bar::of(self.tally.progress(), format!("suite {}", self.suite_text(now)));
        let mut bars = bars::slot_bars(&self.running, stderr::size().1, now);
        bars.push(suite);
        stderr::show(&bars);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A console, and the lines that it says on whatever thread.
    fn console(interval: Option<Duration>) -> (SuiteConsole, mpsc::Receiver<String>) {
        let (sender, lines) = mpsc::channel();
        let say = Box::new(move |line: &str| drop(sender.send(line.to_owned())));
        (SuiteConsole::saying(View::Lines(interval), say), lines)
    }

    #[test]
    fn plain_lines_tell_start_and_end() {
        let (mut console, lines) = console(None);
        console.start(4, 1);
        console.slot_started("IPPO run\n0", Progress::new());
        console.slot_finished("IPPO run\n0", SlotOutcome::Complete);
        console.slot_started("ICPO run 0", Progress::new());
        console.slot_finished("ICPO run 0", SlotOutcome::Failed);
        console.slot_finished("ICPO run 1", SlotOutcome::Busy);
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
        console.slot_finished("IPPO run 0", SlotOutcome::Busy);
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
                        console.slot_finished(&label, SlotOutcome::Complete);
                    }
                });
            }
        });
        let state = console.shared.lock();
        assert_eq!((state.tally.ended(), state.running.len()), (32, 0));
        drop(state);
    }
}
