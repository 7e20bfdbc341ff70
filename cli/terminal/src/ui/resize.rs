//! A line that is being edited while the window changes its width.
//!
//! The terminal wraps the rows of the line anew and moves the cursor with them. The line editor still counts the rows that
//! it drew for the old width when it clears them: too few leave stale rows, too many erase the output above. It asks for
//! the hint just before it clears, so there the rows are cleared and the cursor is put where the line editor expects it.

use unicode_width::UnicodeWidthChar;

use super::{newline, terminal};

/// Columns from one tab stop to the next.
const TAB_STOP: usize = 8;

/// What was drawn last.
#[derive(Debug, Default)]
pub struct Drawn {
    columns: usize,
    hint: String,
}

impl Drawn {
    /// Makes room for a line where the window has another width than when the line was drawn. `before` is the prompt with
    /// the line up to the cursor, `after` the rest of the line, `hint` what is drawn behind it.
    pub fn follow(&mut self, before: &str, after: &str, hint: &str) {
        let columns = terminal::size().0;
        if let Some(sequence) = self.adjust(columns, before, after) {
            newline::say(&sequence);
        }
        self.keep(columns, hint);
    }

    /// Takes down the width that a line is drawn for, and the hint behind it.
    fn keep(&mut self, columns: usize, hint: &str) {
        self.columns = columns;
        hint.clone_into(&mut self.hint);
    }

    /// What to print before a line is cleared and drawn again in a window with so many columns. `before` is the prompt with
    /// the line up to the cursor, `after` the rest of the line.
    fn adjust(&self, columns: usize, before: &str, after: &str) -> Option<String> {
        let old = self.columns;
        let (row, column) = place(before, old);
        let (last, end) = place(&format!("{before}{after}{}", self.hint), old);
        // Where the line editor does not draw the line again, it stays as it is.
        if old == 0 || columns == old || (last == 0 && end < columns) {
            return None;
        }
        // At the end of a full row the line editor has begun a row of its own.
        let is_begun = row > 0 && column == 0 && !before.ends_with('\n');
        let above = match place(before, columns) {
            (now, 1..) if is_begun => now + 1,
            // The terminal keeps the cursor in the row that is just full.
            (now @ 1.., 0) if !is_begun && !before.ends_with('\n') => now - 1,
            (now, _) => now,
        };
        let mut sequence = up(above);
        sequence.push_str("\r\x1b[J");
        sequence.push_str(&"\n".repeat(last));
        sequence.push_str(&up(last.saturating_sub(row)));
        Some(sequence)
    }
}

fn up(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    }
}

/// The row and the column behind a text that begins at the left edge, as the line editor counts them.
fn place(text: &str, columns: usize) -> (usize, usize) {
    let (mut row, mut column) = (0, 0);
    for c in text.chars() {
        let width = match c {
            '\n' => {
                (row, column) = (row + 1, 0);
                continue;
            }
            '\t' => TAB_STOP - column % TAB_STOP,
            c => columns_of(c),
        };
        column += width;
        if column > columns {
            (row, column) = (row + 1, width);
        }
    }
    match column == columns {
        true => (row + 1, 0),
        false => (row, column),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the line editor counts by this table, and what it drew is counted here"
)]
fn columns_of(c: char) -> usize {
    c.width().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_terminal_wrapped_anew_is_cleared_and_nothing_above() {
        let check =
            |old: usize, new: usize, (before, after, hint): (&str, &str, &str), expected| {
                let mut drawn = Drawn::default();
                drawn.keep(old, hint);
                let sequence = drawn.adjust(new, before, after);
                assert_eq!(sequence.as_deref(), expected, "{old} to {new}: {before:?}");
            };
        let long = "x".repeat(113);
        // One row becomes three, of which the line editor knows one.
        check(120, 50, (&long, "", ""), Some("\x1b[2A\r\x1b[J"));
        // Three become one: the line editor will go two rows up.
        check(50, 120, (&long, "", ""), Some("\r\x1b[J\n\n"));
        check(80, 50, (&long, "", ""), Some("\x1b[2A\r\x1b[J\n"));
        // The cursor stands in the first row, the rest and the hint below it.
        check(50, 120, ("x", &long, ""), Some("\r\x1b[J\n\n\x1b[2A"));
        check(60, 30, ("› ", "", &long[..40]), Some("\r\x1b[J"));
        check(50, 113, (&long, "", ""), Some("\r\x1b[J\n\n"));
        // Nothing has moved.
        check(120, 115, (&long, "", ""), None);
        check(60, 60, (&long, "", ""), None);
        check(30, 120, ("› ", "", "hint"), None);
        // A row of its own at the end of a full one; lines of a message stay lines.
        check(50, 120, (&long[..50], "", ""), Some("\x1b[1A\r\x1b[J\n"));
        check(
            50,
            25,
            ("a\nb", "", &long),
            Some("\x1b[1A\r\x1b[J\n\n\n\x1b[2A"),
        );
        assert_eq!(Drawn::default().adjust(80, &long, ""), None);
    }

    #[test]
    fn places_are_those_of_the_line_editor() {
        assert_eq!(place("", 10), (0, 0));
        assert_eq!(place("größe\t", 10), (0, 8));
        assert_eq!(place("漢字漢字漢", 9), (1, 2));
        assert_eq!(place("0123456789", 10), (1, 0));
        assert_eq!(place("0123456789\n", 10), (1, 0));
    }
}
