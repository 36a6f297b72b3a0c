//! Numbers, durations and text from data, as they are shown.

use std::borrow::Cow;
use std::time::Duration;

/// The text with every character escaped that could move a cursor, or hide or reorder text.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    escape(text, moves_or_hides)
}

/// As [`escape_controls`], but with line ends and tabs kept: for log files and for messages.
pub(crate) fn escape_log_text(text: &str) -> Cow<'_, str> {
    escape(text, |character| moves_or_hides(character) && !matches!(character, '\n' | '\t'))
}

fn escape(text: &str, is_escaped: fn(char) -> bool) -> Cow<'_, str> {
    let is_plain = |byte| matches!(byte, b' '..=b'~');
    if text.bytes().all(is_plain) || !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_escaped(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn moves_or_hides(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The columns that the text takes on a terminal.
#[cfg(feature = "cli")]
pub(crate) fn display_width(text: &str) -> usize {
    use unicode_width::UnicodeWidthStr as _;
    if text.is_ascii() { text.len() } else { text.width() }
}

#[cfg(feature = "cli")]
pub(super) fn char_width(character: char) -> usize {
    use unicode_width::UnicodeWidthChar as _;
    character.width().unwrap_or(0)
}

/// As much of the text as so many columns hold; what was cut off is marked.
#[cfg(feature = "cli")]
pub(super) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    const CUT: char = '…';
    if display_width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut fitted = String::new();
    let mut width = 0;
    for character in text.chars() {
        width += char_width(character);
        if width + char_width(CUT) > columns {
            break;
        }
        fitted.push(character);
    }
    if columns > 1 {
        fitted.push(CUT);
    }
    Cow::Owned(fitted)
}

/// A time as people read it: `0.4s`, `1m 03s`, `2h 05m`, `3d 04h`.
pub(crate) fn duration_text(duration: Duration) -> String {
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        return format!("{}.{}s", tenths / 10, tenths % 10);
    }
    let seconds = (duration.as_millis() + 500) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if minutes < 60 {
        format!("{minutes}m {:02}s", seconds % 60)
    } else if hours < 24 {
        format!("{hours}h {:02}m", minutes % 60)
    } else {
        format!("{days}d {:02}h", hours % 24)
    }
}

/// A whole number with its thousands set apart: `1,234,567`.
pub(crate) fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_exact_as_they_are_short() {
        let text = |millis| duration_text(Duration::from_millis(millis));
        assert_eq!(
            [0, 440, 59_940, 59_960, 63_000, 3_599_400].map(text),
            ["0.0s", "0.4s", "59.9s", "1m 00s", "1m 03s", "59m 59s"]
        );
        assert_eq!(
            [3_599_500, 7_500_000, 86_399_000, 273_600_000].map(text),
            ["1h 00m", "2h 05m", "23h 59m", "3d 04h"]
        );
    }

    #[test]
    fn counts_have_their_thousands_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count_text), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn controls_and_reordering_marks_are_shown_escaped() {
        assert_eq!(escape_controls("a\nb\t\x1b[2J\u{9b}"), r"a\nb\t\u{1b}[2J\u{9b}");
        assert_eq!(escape_controls("x\u{202e}y"), r"x\u{202e}y");
        assert!(matches!(escape_controls("PPO w/ GAE – 纯"), Cow::Borrowed(_)));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn widths_are_those_of_a_terminal() {
        assert_eq!(display_width("naïve"), 5);
        assert_eq!(display_width("nai\u{308}ve"), 5);
        assert_eq!(display_width("策略"), 4);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_text_that_was_cut_says_so() {
        assert_eq!([fit("abc", 3), fit("abcd", 3), fit("abcd", 1)], ["abc", "ab…", ""]);
        assert_eq!([fit("策略策", 5), fit("策略策", 6)], ["策略…", "策略策"]);
    }
}
