//! What the environment says about the display. Values come in from outside, for the tests.

use std::time::Duration;

/// A variable's value; none where it is empty or not Unicode.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Plain lines of one slot are this far apart unless the environment says otherwise.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// The interval of a slot's plain lines, or none: `RLE_PROGRESS_SECONDS`, where 0 means none.
pub(super) fn line_interval(variable: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    let Some(value) = variable("RLE_PROGRESS_SECONDS") else { return Some(LINE_INTERVAL) };
    let seconds = value.trim().parse().ok();
    let Some(interval) = seconds.and_then(|value| Duration::try_from_secs_f64(value).ok()) else {
        tracing::warn!(
            "RLE_PROGRESS_SECONDS is `{}`, expected a number of seconds, 0 for no lines",
            super::text::escape_controls(&value)
        );
        return Some(LINE_INTERVAL);
    };
    (!interval.is_zero()).then_some(interval)
}

/// Whether to draw bars: `RLE_VERBOSE=1` always, `0` never, else on a terminal that can move its
/// cursor.
pub(super) fn wants_bars(variable: impl Fn(&str) -> Option<String>, on_terminal: bool) -> bool {
    let smart = on_terminal && variable("TERM").is_some_and(|term| term != "dumb");
    match variable("RLE_VERBOSE").as_deref().map(str::trim) {
        None => smart,
        Some("0") => false,
        Some("1") => true,
        Some(other) => {
            tracing::warn!(
                "RLE_VERBOSE is `{}`, expected 0 for plain lines or 1 for bars",
                super::text::escape_controls(other)
            );
            smart
        }
    }
}

/// Whether log lines are coloured: `NO_COLOR` forbids it, `CLICOLOR_FORCE` wants it also off a
/// terminal, else a terminal has colours unless `CLICOLOR=0` or `TERM=dumb`.
pub(super) fn wants_colour(variable: impl Fn(&str) -> Option<String>, on_terminal: bool) -> bool {
    let says_no = |name| variable(name).as_deref() == Some("0");
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some() && !says_no("CLICOLOR_FORCE") {
        return true;
    }
    on_terminal && !says_no("CLICOLOR") && variable("TERM").is_some_and(|term| term != "dumb")
}

/// Whether the terminal breaks its lines anew when it becomes narrower, as nearly all do.
pub(super) fn reflows(variable: impl Fn(&str) -> Option<String>) -> bool {
    // Set by xterm and GNU Screen, which cut them off; tmux inside of either reflows.
    variable("TMUX").is_some() || (variable("XTERM_VERSION").is_none() && variable("STY").is_none())
}

pub(super) fn on_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(values: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn the_line_interval_is_in_seconds() {
        let interval = |value| line_interval(set(&[("RLE_PROGRESS_SECONDS", value)]));
        assert_eq!(interval("5"), Some(Duration::from_secs(5)));
        assert_eq!(interval(" 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(interval("0"), None);
        assert_eq!(["-1", "soon", "NaN", "1e300"].map(interval), [Some(LINE_INTERVAL); 4]);
        assert_eq!(line_interval(set(&[])), Some(LINE_INTERVAL));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn bars_need_a_terminal_unless_forced() {
        let xterm = ("TERM", "xterm");
        assert!(wants_bars(set(&[xterm]), true));
        assert!(!wants_bars(set(&[xterm]), false));
        assert!(!wants_bars(set(&[("TERM", "dumb")]), true));
        assert!(!wants_bars(set(&[]), true));
        assert!(!wants_bars(set(&[xterm, ("RLE_VERBOSE", "0")]), true));
        assert!(wants_bars(set(&[("RLE_VERBOSE", "1")]), false));
        assert!(wants_bars(set(&[xterm, ("RLE_VERBOSE", "loud")]), true));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn colour_needs_a_terminal_and_leave() {
        let xterm = ("TERM", "xterm");
        assert!(wants_colour(set(&[xterm]), true));
        assert!(!wants_colour(set(&[xterm]), false));
        assert!(!wants_colour(set(&[xterm, ("NO_COLOR", "1")]), true));
        assert!(!wants_colour(set(&[("TERM", "dumb")]), true));
        assert!(!wants_colour(set(&[xterm, ("CLICOLOR", "0")]), true));
        let forced = ("CLICOLOR_FORCE", "1");
        assert!(wants_colour(set(&[forced]), false));
        assert!(!wants_colour(set(&[forced, ("NO_COLOR", "1")]), true));
        assert!(!wants_colour(set(&[("CLICOLOR_FORCE", "0")]), false));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn terminals_that_cut_lines_off_are_known() {
        assert!(reflows(set(&[])));
        assert!(!reflows(set(&[("XTERM_VERSION", "XTerm(390)")])));
        assert!(!reflows(set(&[("STY", "1.pts-0")])));
        assert!(reflows(set(&[("XTERM_VERSION", "XTerm(390)"), ("TMUX", "/tmp/tmux")])));
    }
}
