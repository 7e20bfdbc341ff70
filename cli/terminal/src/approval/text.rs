//! Rows of foreign text: escaped, and cut to the width by Dunlin, because a row that the terminal wraps begins with
//! whatever the text has there. Sentences are broken by [`crate::ui::wrap`].

use dunlin_host::display;

/// Stands at the beginning of each row of foreign text.
pub const BAR: &str = "│ ";

/// How many columns it takes.
pub const BAR_COLUMNS: usize = 2;

/// The narrowest column that text is wrapped into; a window that leaves less is not for reading.
const MIN_COLUMNS: usize = 8;

/// Cuts text that means something to the last space, such as code or a path, into pieces of at most `columns` columns. Nothing
/// is left out; there is at least one piece.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(MIN_COLUMNS);
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = display::width_of_char(c);
        if used + width > columns {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        used += width;
        row.push(c);
    }
    rows.push(row);
    rows
}

/// How many columns are left for text behind `indent` and the bar.
pub fn room(indent: usize, columns: usize) -> usize {
    // The last column stays free: writing into it wraps on some terminals.
    columns.saturating_sub(indent + BAR_COLUMNS + 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every character that is shown as it is, each with marks and without, some dozens in each text.
    pub(crate) fn texts_of_all_characters() -> Vec<String> {
        let is_shown = |c: &char| display::escape(&format!("a{c}")) == format!("a{c}");
        let shown: Vec<char> = ('!'..=char::MAX).filter(is_shown).collect();
        assert!(shown.len() > 100_000);
        let text = |(number, part): (usize, &[char])| {
            let mut text = String::new();
            for (index, c) in part.iter().enumerate() {
                text.push('a');
                text.push(*c);
                if (index + number).is_multiple_of(3) {
                    text.push_str("\u{302e}\u{301}\u{302e}");
                }
                if (index * number).is_multiple_of(7) {
                    text.push(' ');
                }
            }
            display::escape(&text).into_owned()
        };
        shown.chunks(60).enumerate().map(text).collect()
    }

    #[test]
    fn no_row_is_wider_than_the_widest_terminal_shows_it() {
        for text in texts_of_all_characters() {
            for columns in [8, 21, 80] {
                let rows = wrap(&text, columns);
                assert_eq!(rows.concat(), text);
                for row in rows {
                    assert!(display::width(&row) <= columns, "{columns}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_in_wrapping() {
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("0123456789abc", 10), ["0123456789", "abc"]);
        assert_eq!(wrap("日本語日本語", 9), ["日本語日", "本語"]);
        for columns in 0..40 {
            let text = "a rather long line of 日本語 and of others\u{301}";
            let rows = wrap(text, columns);
            assert_eq!(rows.concat(), text);
            assert!(
                rows.iter()
                    .all(|row| display::width(row) <= columns.max(MIN_COLUMNS))
            );
        }
    }
}
