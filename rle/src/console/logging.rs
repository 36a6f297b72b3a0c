//! Log output of the generated program: to stderr by filter, and to the running slot's file.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::SystemTime;

use tracing::Subscriber;
use tracing_subscriber::filter::FilterExt;
use tracing_subscriber::fmt::format::{Compact, DefaultFields, Format, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use super::environment::{on_terminal, variable, wants_colour};
use super::text::escape_controls;
use super::{slot_log, stderr};

/// Variables that hold a filter, the first before the second.
const FILTERS: [&str; 2] = ["RLE_LOG", "RUST_LOG"];

/// The filter without one in the environment.
const DEFAULT_FILTER: &str = "info";

/// The same with `RLE_DEBUG`, which asks for the summaries of timed stages.
const DEBUG_FILTER: &str = "info,rle::profile=debug";

/// Sends `tracing` events to stderr by `RLE_LOG`, else `RUST_LOG`, else from INFO on, and to the
/// file of [`set_slot_log`](super::set_slot_log). A filter that is not valid is a warning. Where the
/// program has a subscriber of its own already, that one stays.
pub(crate) fn init_logging() {
    let (filter, problem) = Filter::find(variable);
    let is_chosen = problem.is_none() && FILTERS.iter().any(|name| variable(name).is_some());
    let colour = wants_colour(variable, on_terminal());
    let (subscriber, change) = subscriber(&filter, colour, || EventWriter(stderr::write_lines));
    if subscriber.try_init().is_err() {
        return;
    }
    if !is_chosen {
        // Set once: the subscriber is the process's.
        let _ = RELOAD.set(Box::new(change));
    }
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
}

/// Sends events from that level on to stderr, unless the environment has a filter.
pub(crate) fn set_level(level: Option<&str>) {
    if let (Some(level), Some(change)) = (level, RELOAD.get()) {
        change(&Filter::at_level(Filter::default_text(variable), level));
    }
}

/// Puts another filter in the place of the one that the environment has not chosen.
static RELOAD: OnceLock<Reload> = OnceLock::new();

type Reload = Box<dyn Fn(&Filter) + Send + Sync>;

/// A filter that is known to parse.
#[derive(Debug, PartialEq, Eq)]
struct Filter {
    console: String,
    /// What a slot's file has in any case.
    slot: &'static str,
}

impl Filter {
    /// The filter to use, and what is wrong with the one that was asked for.
    fn find(variable: impl Fn(&str) -> Option<String>) -> (Self, Option<String>) {
        let default = Self::default_text(&variable);
        let found = FILTERS.iter().find_map(|name| variable(name).map(|value| (name, value)));
        let of = |console| Self { console, slot: default };
        let Some((name, value)) = found else { return (of(default.to_owned()), None) };
        match EnvFilter::builder().parse(&value) {
            Ok(_) => (of(value), None),
            Err(error) => {
                let value = escape_controls(&value);
                let problem = format!(
                    "{name} is `{value}`, which is not a valid log filter ({error}), expected a level or \
                     `target=level,..`; `{default}` is used"
                );
                (of(default.to_owned()), Some(problem))
            }
        }
    }

    fn default_text(variable: impl Fn(&str) -> Option<String>) -> &'static str {
        let debugs = variable("RLE_DEBUG").is_some_and(|value| !["", "0"].contains(&value.trim()));
        if debugs { DEBUG_FILTER } else { DEFAULT_FILTER }
    }

    /// The default filter with another level in place of its own.
    fn at_level(slot: &'static str, level: &str) -> Self {
        let targets = slot.strip_prefix(DEFAULT_FILTER).unwrap_or_default();
        Self { console: format!("{level}{targets}"), slot }
    }

    fn build(&self) -> EnvFilter {
        EnvFilter::builder().parse_lossy(&self.console)
    }
}

fn subscriber<W>(
    filter: &Filter,
    colour: bool,
    stderr: W,
) -> (impl Subscriber + Send + Sync, impl Fn(&Filter) + Send + Sync + 'static)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (console_filter, console_handle) = reload::Layer::new(filter.build());
    let (slot_filter, slot_handle) = reload::Layer::new(filter.build());
    let console = layer()
        .with_ansi(colour)
        .with_timer(ShortTime)
        .with_writer(stderr)
        .with_filter(console_filter);
    let slot = layer()
        .with_ansi(false)
        .with_writer(|| EventWriter(write_to_slot_log))
        .with_filter(EnvFilter::builder().parse_lossy(filter.slot).or(slot_filter));
    let change = move |filter: &Filter| {
        // It fails only where the subscriber is gone.
        let _ = console_handle.reload(filter.build());
        let _ = slot_handle.reload(filter.build());
    };
    (Registry::default().with(console).with(slot), change)
}

fn layer<S>() -> fmt::Layer<S, DefaultFields, Format<Compact>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    // The layer's own way to report an error is a print that panics once stderr is closed.
    fmt::layer().compact().with_target(false).log_internal_errors(false)
}

/// The time of day, UTC.
struct ShortTime;

impl FormatTime for ShortTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        writer.write_str(time.split_once('T').map_or(time.as_str(), |(_, time)| time))
    }
}

/// Hands each event, which comes in one piece, to a function.
struct EventWriter(fn(&[u8]));

impl Write for EventWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to the log of the slot that runs now, if any.
fn write_to_slot_log(bytes: &[u8]) {
    if let Some(log) = slot_log::current()
        && let Err(error) = log.append(bytes)
    {
        // Not an event: this is inside of one.
        let text = slot_log::failure_text(log.path(), &error);
        stderr::write_lines(format!("WARN {text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Mutex};

    use super::super::{SlotLog, set_slot_log};
    use super::*;

    /// The slot log is the process's: one test at a time.
    static SLOT_LOG: Mutex<()> = Mutex::new(());

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Captured {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn filter(values: &[(&str, &str)]) -> (Filter, Option<String>) {
        Filter::find(|name| {
            values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn of(console: &str) -> Filter {
        Filter { console: console.to_owned(), slot: DEFAULT_FILTER }
    }

    #[test]
    fn our_filter_goes_before_the_common_one() {
        let of = |values| filter(values).0.console;
        assert_eq!(of(&[]), "info");
        assert_eq!(of(&[("RUST_LOG", "debug")]), "debug");
        assert_eq!(of(&[("RUST_LOG", "debug"), ("RLE_LOG", "rle=trace")]), "rle=trace");
    }

    #[test]
    fn debug_shows_the_summaries_unless_a_filter_says_otherwise() {
        let of = |values| filter(values).0.console;
        assert_eq!(of(&[("RLE_DEBUG", "1")]), "info,rle::profile=debug");
        assert_eq!(of(&[("RLE_DEBUG", "0")]), "info");
        assert_eq!(of(&[("RLE_DEBUG", "1"), ("RUST_LOG", "warn")]), "warn");
    }

    #[test]
    fn a_wrong_filter_is_a_warning_that_names_it() {
        let (used, problem) = filter(&[("RLE_LOG", "rle=loud")]);
        assert_eq!(used.console, "info");
        let problem = problem.unwrap();
        assert!(problem.starts_with("RLE_LOG is `rle=loud`"), "{problem}");
    }

    #[test]
    fn the_slot_log_has_what_the_console_leaves_out() {
        let _alone = SLOT_LOG.lock().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ippo_0.log");
        let captured = Captured::default();
        let stderr = captured.clone();
        let (subscriber, _) = subscriber(&of("warn"), false, move || stderr.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("before");
            set_slot_log(Some(&SlotLog::open(&path)));
            tracing::info!(epoch = 3, "inside \x1b[31m");
            tracing::warn!("loud");
            tracing::debug!("too fine");
            set_slot_log(None);
            tracing::warn!("after");
        });
        let lines = fs::read_to_string(&path).unwrap();
        let bodies: Vec<&str> = lines
            .lines()
            .map(|line| {
                let (time, body) = line.split_once(' ').unwrap();
                humantime::parse_rfc3339(time).unwrap();
                body.trim_start()
            })
            .collect();
        assert_eq!(bodies.len(), 2, "{lines}");
        assert!(bodies[0].starts_with("INFO inside") && bodies[0].ends_with("epoch=3"), "{lines}");
        assert_eq!(bodies[1], "WARN loud");
        assert!(!lines.contains('\x1b'), "{lines:?}");
        let console = captured.text();
        assert_eq!(console.lines().count(), 2, "{console}");
        assert!(console.lines().next().unwrap().ends_with(" WARN loud"), "{console}");
    }

    #[test]
    fn the_level_can_be_changed_and_the_slot_log_keeps_its_own() {
        let _alone = SLOT_LOG.lock().unwrap();
        let captured = Captured::default();
        let stderr = captured.clone();
        let default = Filter { console: DEBUG_FILTER.to_owned(), slot: DEBUG_FILTER };
        let (subscriber, change) = subscriber(&default, false, move || stderr.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!("before");
            change(&Filter::at_level(DEBUG_FILTER, "debug"));
            tracing::debug!("in between");
            change(&Filter::at_level(DEBUG_FILTER, "error"));
            tracing::warn!("after");
            tracing::debug!(target: "rle::profile", "summary");
        });
        let text = captured.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].ends_with("DEBUG in between") && lines[1].ends_with("summary"), "{text}");
    }

    #[test]
    fn a_console_line_begins_with_the_time_of_day() {
        let _alone = SLOT_LOG.lock().unwrap();
        let captured = Captured::default();
        let stderr = captured.clone();
        let (subscriber, _) = subscriber(&of("info"), false, move || stderr.clone());
        tracing::subscriber::with_default(subscriber, || tracing::info!("hello"));
        let text = captured.text();
        assert!(text.ends_with("  INFO hello\n"), "{text:?}");
        assert_eq!(text.split(' ').next().unwrap().len(), "12:34:56Z".len(), "{text:?}");
    }
}
