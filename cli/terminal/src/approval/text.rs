//! Rows of foreign text: escaped, and cut to the width by Dunlin, because a row that the terminal wraps begins with
//! whatever the text has there. Sentences are broken by [`crate::ui::wrap`].

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands at the beginning of each row of foreign text.
pub const BAR: &str = "│ ";

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
        let width = c.width().unwrap_or(0);
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
    columns.saturating_sub(indent + BAR.width() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    .all(|row| row.width() <= columns.max(MIN_COLUMNS))
            );
        }
    }
}
