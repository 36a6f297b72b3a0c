//! Plain tables: aligned columns, two spaces apart, no drawing.

use super::text::{char_width, display_width, escape_controls};

const GAP: usize = 2;

/// A column is never made narrower than this to fit a terminal.
const NARROWEST: usize = 8;

/// Rows of text under headers. Control characters in cells are shown escaped.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    right: Vec<bool>,
    /// All cells one behind the other, row by row, the headers first.
    text: String,
    /// Where each cell ends.
    ends: Vec<usize>,
}

impl Table {
    pub(crate) fn new<T: AsRef<str>>(headers: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self { right: Vec::new(), text: String::new(), ends: Vec::new() };
        headers.into_iter().for_each(|header| table.cell(header.as_ref()));
        table.right = vec![false; table.ends.len()];
        table
    }

    fn cell(&mut self, text: &str) {
        self.text.push_str(&escape_controls(text));
        self.ends.push(self.text.len());
    }

    /// Aligns a column, counted from 0, to the right: for numbers.
    #[must_use]
    pub(crate) fn align_right(mut self, column: usize) -> Self {
        if let Some(right) = self.right.get_mut(column) {
            *right = true;
        }
        self
    }

    /// Adds a row. Missing cells are empty, those beyond the headers are left out.
    pub(crate) fn row<T: AsRef<str>>(&mut self, row: impl IntoIterator<Item = T>) -> &mut Self {
        let mut row = row.into_iter();
        for _ in 0..self.right.len() {
            let cell = row.next();
            self.cell(cell.as_ref().map_or("", AsRef::as_ref));
        }
        self
    }

    /// A cell, counted from the first header.
    fn cell_at(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    /// The table, each line ended. Cells are wrapped only to fit a given width, a terminal's.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let widths = self.widths(width);
        let columns = widths.len();
        let line = widths.iter().sum::<usize>() + GAP * columns;
        let mut text = String::with_capacity(self.ends.len() / columns.max(1) * line);
        for first in (0..self.ends.len()).step_by(columns.max(1)) {
            let row = (first..first + columns).map(|index| self.cell_at(index));
            if row.clone().zip(&widths).all(|(cell, width)| display_width(cell) <= *width) {
                self.render_line(row, &widths, &mut text);
            } else {
                self.render_wrapped(row, &widths, &mut text);
            }
        }
        text
    }

    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut widths = vec![0; self.right.len()];
        for index in 0..self.ends.len() {
            let width = &mut widths[index % self.right.len()];
            *width = display_width(self.cell_at(index)).max(*width);
        }
        let Some(limit) = limit else { return widths };
        let gaps = GAP * widths.len().saturating_sub(1);
        // The widest column gives way first: it is the one with the long text.
        while widths.iter().sum::<usize>() + gaps > limit {
            match widths.iter_mut().max() {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    fn render_wrapped<'c>(
        &self,
        row: impl Iterator<Item = &'c str>,
        widths: &[usize],
        text: &mut String,
    ) {
        let wrapped: Vec<Vec<String>> =
            row.zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let cells = wrapped.iter().map(|lines| lines.get(line).map_or("", String::as_str));
            self.render_line(cells, widths, text);
        }
    }

    fn render_line<'c>(
        &self,
        cells: impl Iterator<Item = &'c str>,
        widths: &[usize],
        text: &mut String,
    ) {
        let start = text.len();
        for (column, cell) in cells.enumerate() {
            let padding = widths[column].saturating_sub(display_width(cell));
            let gap = if column == 0 { 0 } else { GAP };
            let (before, after) = if self.right[column] { (padding, 0) } else { (0, padding) };
            text.extend(std::iter::repeat_n(' ', gap + before));
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', after));
        }
        text.truncate(start + text[start..].trim_end_matches(' ').len());
        text.push('\n');
    }
}

/// The cell in lines of at most `width`, broken between words where there are any.
fn wrap(cell: &str, width: usize) -> Vec<String> {
    if display_width(cell) <= width {
        return vec![cell.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in cell.split(' ').filter(|word| !word.is_empty()) {
        let room = width.saturating_sub(display_width(&line));
        if !line.is_empty() && display_width(word) < room {
            line.push(' ');
        } else if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            if !line.is_empty() && display_width(&line) + char_width(character) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_without_trailing_spaces() {
        let mut table = Table::new(["slot", "state", "seconds"]).align_right(2);
        table.row(["ippo:0", "complete", "1.5"]).row(["ippo:10", "", "120.25"]);
        assert_eq!(
            table.render(None),
            "slot     state     seconds\n\
             ippo:0   complete      1.5\n\
             ippo:10             120.25\n"
        );
    }

    #[test]
    fn a_row_may_be_short_or_long() {
        let mut table = Table::new(["a", "b"]);
        table.row(["1"]).row(["1", "2", "3"]);
        assert_eq!(table.render(None), "a  b\n1\n1  2\n");
    }

    #[test]
    fn control_characters_stay_in_their_cell() {
        let mut table = Table::new(["name", "n"]);
        table.row(["two\nlines\x1b[31m", "1"]);
        let text = table.render(None);
        assert_eq!(text, "name                  n\ntwo\\nlines\\u{1b}[31m  1\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new(["name", "n"]);
        table.row(["策略", "1"]).row(["abc", "2"]);
        assert_eq!(table.render(None), "name  n\n策略  1\nabc   2\n");
    }

    #[test]
    fn long_cells_wrap_between_words_at_a_terminals_width() {
        let mut table = Table::new(["slot", "why"]);
        table.row(["ippo:0", "the request differs at lr"]);
        assert_eq!(
            table.render(Some(22)),
            "slot    why\n\
             ippo:0  the request\n        differs at lr\n"
        );
        assert_eq!(table.render(None).lines().count(), 2);
    }

    #[test]
    fn a_word_longer_than_its_column_is_broken() {
        assert_eq!(wrap("a abcdefghij", 4), ["a", "abcd", "efgh", "ij"]);
        assert_eq!(wrap("ab cd ef", 5), ["ab cd", "ef"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_allows() {
        let mut table = Table::new(["first", "second", "third"]);
        table.row(["x".repeat(50), "word ".repeat(20), "tiny".to_owned()]);
        let text = table.render(Some(40));
        assert!(text.lines().all(|line| display_width(line) <= 40), "{text}");
        assert_eq!(text.matches('x').count(), 50);
        assert_eq!(text.matches("word").count(), 20);
    }

    #[test]
    fn a_terminal_too_narrow_for_the_table_keeps_all_text() {
        let mut table = Table::new(["alpha", "beta"]);
        table.row(["123456789", "x"]);
        assert!(table.render(Some(3)).contains("12345678  x\n9\n"));
    }
}
