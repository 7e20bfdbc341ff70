//! Text on as many rows as it takes, broken between words.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The deepest indentation that is repeated on the rows below, in columns.
const MAX_INDENT: usize = 8;

/// Lines that may be coloured, each in rows of at most so many columns, but for words that are longer. The rows below the
/// first are indented as it is. What fits stays as it is.
pub fn lines(text: &str, columns: usize) -> Cow<'_, str> {
    if text.split('\n').all(|line| visible(line) <= columns) {
        return Cow::Borrowed(text);
    }
    let rows: Vec<String> = text.split('\n').map(|text| line(text, columns)).collect();
    Cow::Owned(rows.join("\n"))
}

fn line(text: &str, columns: usize) -> String {
    // A command that is to be copied must not hold a line end: the terminal breaks the row.
    let names_command = ["hint:", "Undo:", "undo:"]
        .iter()
        .any(|mark| text.contains(mark));
    if visible(text) <= columns || names_command {
        return text.to_owned();
    }
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = " ".repeat(spaces.min(MAX_INDENT));
    let mut out = String::with_capacity(text.len() + 16);
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let wide = visible(word.trim_end_matches(' '));
        if used > indent.len() && wide > 0 && used + wide > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&indent);
            used = indent.len();
        }
        out.push_str(word);
        used += visible(word);
    }
    out
}

/// How many columns a text takes whose only escape sequences are colours.
pub fn visible(text: &str) -> usize {
    let mut in_colour = false;
    let seen = text.chars().filter(|c| {
        let counts = !in_colour && *c != '\x1b';
        in_colour = match (*c, in_colour) {
            ('\x1b', _) => true,
            ('m', true) => false,
            (_, was) => was,
        };
        counts
    });
    seen.map(|c| c.width().unwrap_or(0)).sum()
}

/// The text in rows of at most so many columns, but for words that are longer.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) if row.width() + 1 + word.width() <= columns => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// The same behind a margin: what stands there on the first row, and as much room below it.
pub fn hanging(first: &str, margin: usize, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(margin);
    let rows = wrapped(text, columns.saturating_sub(margin));
    let mut before = Some(first);
    let row = |row: String| format!("{}{row}", before.take().unwrap_or(&indent));
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coloured_lines_break_between_words() {
        let check = |text: &str, expected: &str| assert_eq!(lines(text, 12), expected, "{text:?}");
        check("one two", "one two");
        check("one two three four", "one two\nthree four");
        check(
            "\x1b[1;31merror:\x1b[0m one two",
            "\x1b[1;31merror:\x1b[0m one\ntwo",
        );
        check("  one two three\nshort", "  one two\n  three\nshort");
        check("averyveryverylongword x", "averyveryverylongword\nx");
        check("日本語 日本語 x", "日本語\n日本語 x");
        assert_eq!(lines("one two", 0), "one\ntwo");
    }

    #[test]
    fn rows_break_between_words() {
        let check = |columns, expected: &[&str]| {
            assert_eq!(
                hanging("a: ", 3, "one two three-and-more", columns),
                expected
            );
        };
        check(80, &["a: one two three-and-more"]);
        check(12, &["a: one two", "   three-and-more"]);
        check(0, &["a: one", "   two", "   three-and-more"]);
    }
}
