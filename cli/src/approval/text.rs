//! Rows of foreign text: escaped, and wrapped by Dunlin, because a row that the terminal wraps begins with
//! whatever the text has there.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands at the beginning of each row of foreign text.
pub const BAR: &str = "│ ";

/// The narrowest column that text is wrapped into; a window that leaves less is not for reading.
const MIN_COLUMNS: usize = 8;

/// Cuts text into pieces of at most `columns` columns. Nothing is left out; there is at least one piece.
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

/// The same, but broken between words where there are any. The space between two rows is the break itself.
pub fn wrap_words(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(MIN_COLUMNS);
    let mut rows = vec![String::new()];
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        let width = word.width();
        if index > 0 {
            if used + 1 + width <= columns {
                used += 1;
                if let Some(row) = rows.last_mut() {
                    row.push(' ');
                }
            } else {
                rows.push(String::new());
                used = 0;
            }
        }
        if used + width <= columns {
            used += width;
            if let Some(row) = rows.last_mut() {
                row.push_str(word);
            }
            continue;
        }
        // Longer than a row: it begins one and is cut.
        let mut pieces = wrap(word, columns).into_iter();
        if let (Some(row), Some(piece)) = (rows.last_mut(), pieces.next()) {
            row.push_str(&piece);
        }
        rows.extend(pieces);
        used = rows.last().map_or(0, |row| row.width());
    }
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

    #[test]
    fn sentences_break_between_words() {
        assert_eq!(wrap_words("", 20), [""]);
        assert_eq!(
            wrap_words("the file has changed since", 12),
            ["the file has", "changed", "since"]
        );
        assert_eq!(
            wrap_words("see /a/rather/long/path there", 12),
            ["see", "/a/rather/lo", "ng/path", "there"]
        );
        for columns in 0..40 {
            let text = "a rather long line of 日本語日本語日本語日本語 and of others";
            let rows = wrap_words(text, columns);
            assert_eq!(rows.concat().replace(' ', ""), text.replace(' ', ""));
            assert!(
                rows.iter()
                    .all(|row| row.width() <= columns.max(MIN_COLUMNS))
            );
        }
    }
}
