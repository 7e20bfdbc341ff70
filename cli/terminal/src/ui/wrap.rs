//! Text on as many rows as it takes, broken between words. All of Dunlin's rows are broken here.
//!
//! Words that are longer than a row are cut, so that the terminal never breaks a row by itself: what it puts on the next
//! row would begin there like a row of Dunlin's own.

use std::borrow::Cow;
use std::ops::Range;

use dunlin_host::display::{usual_width_of_char, width_of_char};

use crate::approval::storing::SHOWS_KEY;
use crate::approval::text::BAR;
use crate::shell_word;

/// The deepest indentation that is repeated on the rows below, in columns.
const MAX_INDENT: usize = 8;

/// The narrowest rows, in columns; a window that leaves less is not for reading.
pub const MIN_COLUMNS: usize = 8;

/// How far in a command stands that has rows of its own below its label, in columns.
const COMMAND_INDENT: usize = 2;

/// What a way out begins with. What is foreign in a text has no line ends, so it begins no line.
const HINT: &str = "hint:";

/// How the rows of a line below its first one begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Indented as the first one is: all of the text is Dunlin's own.
    Plain,
    /// With a bar: part of the text is foreign, such as the message of a server or the name of a file, and a word of it could
    /// look like a row of Dunlin's own.
    Barred,
}

/// How a command of the chat begins. It cannot be continued on another row.
const CHAT_COMMAND: char = '/';

/// The most columns that a terminal shows a text in whose only escape sequences are colours and links.
pub fn visible(text: &str) -> usize {
    columns_of(text, width_of_char)
}

/// How many columns most terminals show such a text in.
pub fn usually_visible(text: &str) -> usize {
    columns_of(text, usual_width_of_char)
}

fn columns_of(text: &str, width: fn(char) -> usize) -> usize {
    let mut columns = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let sequence = sequence(rest);
        if sequence == 0 {
            columns += width(c);
        }
        rest = rest.get(sequence.max(c.len_utf8())..).unwrap_or_default();
    }
    columns
}

/// The length in bytes of the colour or the link at the start of a text; 0: there is none.
fn sequence(text: &str) -> usize {
    const LINK_ENDS: &str = "\x1b\\";
    if let Some(colour) = text.strip_prefix("\x1b[") {
        let end = colour.find(|c: char| matches!(c, '@'..='~'));
        return end.map_or(text.len(), |end| "\x1b[".len() + end + 1);
    }
    if text.starts_with("\x1b]") {
        let end = text.find(LINK_ENDS);
        return end.map_or(text.len(), |end| end + LINK_ENDS.len());
    }
    0
}

/// Breaks text between words, and words that are longer than a row within them. `columns` are those of a whole row, `indent`
/// stands before each row but the first.
fn broken(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let columns = columns.max(MIN_COLUMNS + indent.len());
    let room_below = columns - indent.len();
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut room = columns;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            rows.push(std::mem::replace(&mut row, indent.to_owned()));
            room = room_below;
        }
        // Spaces are written only if a word follows on the row.
        let (mut used, mut spaces) = (0, 0);
        for (word, spaces_behind) in words(line) {
            for piece in pieces(word, room_below) {
                let width = visible(piece);
                if used + spaces + width <= room {
                    row.extend(std::iter::repeat_n(' ', spaces));
                    used += spaces;
                } else if used > 0 {
                    rows.push(std::mem::replace(&mut row, indent.to_owned()));
                    (used, room) = (0, room_below);
                }
                spaces = 0;
                row.push_str(piece);
                used += width;
            }
            spaces += spaces_behind;
        }
    }
    rows.push(row);
    rows
}

/// The words of a line, each with the number of spaces behind it.
fn words(line: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (word, behind) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let is_over = rest.is_empty();
        rest = behind.trim_start_matches(' ');
        (!is_over).then_some((word, behind.len() - rest.len()))
    })
}

/// A word in pieces that are not wider than a row.
fn pieces(word: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut piece, mut length, mut used) = (word, 0, 0);
    while let Some(c) = piece.get(length..).and_then(|rest| rest.chars().next()) {
        let sequence = sequence(piece.get(length..).unwrap_or_default());
        let width = match sequence {
            0 => width_of_char(c),
            _ => 0,
        };
        if used > 0 && used + width > columns {
            let (before, rest) = piece.split_at(length);
            pieces.push(before);
            (piece, length, used) = (rest, 0, 0);
        }
        used += width;
        length += sequence.max(c.len_utf8());
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Where the rows of a line are in it, broken behind spaces where that is possible. Nothing is left out but a space behind a
/// row that is full; there is at least one row. `width` is that of a character as it is shown; letters of ASCII take one column.
pub fn places(line: &str, columns: usize, width: impl Fn(char) -> usize) -> Vec<Range<usize>> {
    let columns = columns.max(MIN_COLUMNS);
    let mut rows = Vec::new();
    let (mut start, mut at, mut used) = (0, 0, 0);
    let row = |start: usize, at: usize, used: usize| start..at - usize::from(used > columns);
    for word in line.split_inclusive(' ') {
        let letters = word.trim_end_matches(' ');
        let is_plain = letters.bytes().all(|byte| byte.is_ascii_graphic());
        let seen = match is_plain {
            true => letters.len(),
            false => letters.chars().map(&width).sum(),
        };
        if used > 0 && used + seen > columns {
            rows.push(row(start, at, used));
            (start, used) = (at, 0);
        }
        // Most words: nothing in them has to be looked at.
        if is_plain && used + seen <= columns {
            (used, at) = (used + word.len(), at + word.len());
            continue;
        }
        for c in word.chars() {
            let columns_of_c = width(c);
            if c != ' ' && used > 0 && used + columns_of_c > columns {
                rows.push(row(start, at, used));
                (start, used) = (at, 0);
            }
            used += columns_of_c;
            at += c.len_utf8();
        }
    }
    rows.push(row(start, at, used));
    rows
}

/// The rows of a line that is escaped already. See [`places`].
pub fn cut(line: &str, columns: usize) -> impl Iterator<Item = &str> {
    let places = places(line, columns, width_of_char).into_iter();
    places.map(move |place| line.get(place).unwrap_or_default())
}

/// One line in rows of at most so many columns. Nothing is left out but the spaces between two rows; there is at least
/// one row.
pub fn rows(text: &str, columns: usize) -> Vec<String> {
    indented(text, 0, columns)
}

/// The same with rows below the first that stand so many columns in.
pub fn indented(text: &str, indent: usize, columns: usize) -> Vec<String> {
    let indent = " ".repeat(indent);
    broken(text, columns, &indent)
}

/// Lines that may be coloured, each in rows of at most so many columns. The rows below the first are indented as it is.
/// What fits stays as it is. Hints get no bar: they are lines of their own, and what is foreign in them has no line ends.
pub fn lines(text: &str, columns: usize, below: Rows) -> Cow<'_, str> {
    if text.split('\n').all(|line| visible(line) <= columns) {
        return Cow::Borrowed(text);
    }
    let rows: Vec<Cow<'_, str>> = text
        .split('\n')
        .map(|text| line(text, columns, below))
        .collect();
    Cow::Owned(rows.join("\n"))
}

fn line(text: &str, columns: usize, below: Rows) -> Cow<'_, str> {
    if visible(text) <= columns {
        return Cow::Borrowed(text);
    }
    if after_colours(text).starts_with(HINT) {
        let indent = " ".repeat(HINT.len() + 1);
        // A command that is to be copied must not hold a line end: there the terminal breaks the row.
        let has_command = text.contains("dunlin ") || text.contains(['`', '\'']);
        return Cow::Owned(match has_command {
            true => clauses(text).join(&format!("\n{indent}")),
            false => broken(text, columns, &indent).join("\n"),
        });
    }
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let mut indent = " ".repeat(spaces.min(MAX_INDENT));
    if below == Rows::Barred {
        indent.push_str(BAR);
    }
    Cow::Owned(broken(text, columns, &indent).join("\n"))
}

/// What a text begins with, behind spaces and colours.
fn after_colours(text: &str) -> &str {
    let mut rest = text.trim_start_matches(' ');
    while let at @ 1.. = sequence(rest) {
        rest = rest.get(at..).unwrap_or_default().trim_start_matches(' ');
    }
    rest
}

/// The parts of a sentence that a semicolon separates, but not within quotes.
fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') if text[..at].ends_with(';') => {
                clauses.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    clauses.push(&text[start..]);
    clauses
}

/// The same with a bar on the rows below the first: part of the text is foreign. `margin` is that of the bar.
pub fn barred(first: &str, margin: usize, text: &str, columns: usize) -> Vec<String> {
    let indent = format!("{:margin$}{BAR}", "");
    broken(&format!("{first}{text}"), columns, &indent)
}

/// One line behind a margin: what stands there on the first row, and as much room below it.
pub fn hanging(first: &str, margin: usize, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(margin);
    let rows = rows(text, columns.saturating_sub(margin));
    let mut before = Some(first);
    let row = |row: String| format!("{}{row}", before.take().unwrap_or(&indent));
    rows.into_iter().map(row).collect()
}

/// A command behind its label, so that it can be copied: beside the label, or where it does not fit there below it. One that
/// is longer than a row is broken as a shell takes it, see [`shell_word::rows`]. The rows are complete with the margin.
pub fn command(margin: usize, label: &str, command: &str, columns: usize) -> Vec<String> {
    let own = |row: String| format!("{:margin$}{row}", "");
    let beside = format!("{label} {command}");
    let room = columns.saturating_sub(margin);
    let wide = visible(command) + COMMAND_INDENT;
    let is_typed = !command.starts_with(CHAT_COMMAND) && command != SHOWS_KEY;
    if visible(&beside) <= room {
        return vec![own(beside)];
    }
    if wide > room && !is_typed {
        // The name of a tool, or a key, must not begin a row.
        let rows = rows(&beside, room.saturating_sub(visible(BAR)));
        let below = |(number, row)| match number {
            0 => own(row),
            _ => own(format!("{BAR}{row}")),
        };
        return rows.into_iter().enumerate().map(below).collect();
    }
    let mut all = vec![own(label.to_owned())];
    let margin = margin + COMMAND_INDENT;
    match wide > room {
        true => all.extend(shell_word::rows(command, margin, columns)),
        false => all.push(format!("{:margin$}{command}", "")),
    }
    all
}

/// A sentence, and behind a line end perhaps a command with its label (`Undo: dunlin ...`): on one row if both fit, else the
/// command gets rows of its own. The rows are complete with the margin.
pub fn with_command(margin: usize, text: &str, separator: &str, columns: usize) -> Vec<String> {
    let own = |row: String| format!("{:margin$}{row}", "");
    let room = columns.saturating_sub(margin);
    let Some((sentence, undo)) = text.split_once('\n') else {
        return barred("", 0, text, room).into_iter().map(own).collect();
    };
    let one = format!("{sentence}{separator}{undo}");
    if visible(&one) <= room {
        return vec![own(one)];
    }
    let (label, what) = undo.split_once(' ').unwrap_or((undo, ""));
    // It names targets.
    let sentence = barred("", 0, sentence, room).into_iter().map(own);
    sentence
        .chain(command(margin, label, what, columns))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_behind_spaces_and_nothing_else_is_lost() {
        let check = |text: &str, expected: &[&str]| {
            let rows: Vec<&str> = cut(text, 10).collect();
            assert_eq!(rows, expected, "{text:?}");
        };
        check("", &[""]);
        check("one two three", &["one two ", "three"]);
        check("one twotwo six", &["one twotwo", "six"]);
        check("a 0123456789abc d", &["a ", "0123456789", "abc d"]);
        check("  日本語日本語", &["  ", "日本語日本", "語"]);
        check("one         six", &["one       ", " six"]);
        check("one two   ", &["one two   "]);
        for text in crate::approval::text::tests::texts_of_all_characters() {
            for columns in [8, 21, 80] {
                let rows: Vec<&str> = cut(&text, columns).collect();
                let without = |text: &str| text.replace(' ', "");
                assert_eq!(without(&rows.concat()), without(&text));
                let widest = rows.iter().map(|row| visible(row)).max();
                assert!(widest.unwrap_or_default() <= columns, "{columns}: {text:?}");
            }
        }
    }

    #[test]
    fn coloured_lines_break_between_words() {
        let check = |text: &str, expected: &str| {
            assert_eq!(lines(text, 12, Rows::Plain), expected, "{text:?}");
        };
        check("one two", "one two");
        check("one two three four", "one two\nthree four");
        check(
            "\x1b[1;31merror:\x1b[0m one two",
            "\x1b[1;31merror:\x1b[0m one\ntwo",
        );
        check(
            "\x1b]8;;https://example.org/long\x1b\\link\x1b]8;;\x1b\\ one",
            "\x1b]8;;https://example.org/long\x1b\\link\x1b]8;;\x1b\\ one",
        );
        check("  one two three\nshort", "  one two\n  three\nshort");
        check("averyveryverylongword x", "averyveryver\nylongword x");
        check("日本語 日本語 x", "日本語\n日本語 x");
        check("hint: one two three", "hint: one two\n      three");
        check("  · one two three", "  · one two\n  three");
        // But for commands, which are copied.
        check("hint: dunlin a b c", "hint: dunlin a b c");
        check(
            "hint: dunlin a 'b; c' d; in the chat /e",
            "hint: dunlin a 'b; c' d;\n      in the chat /e",
        );
    }

    #[test]
    fn foreign_text_begins_no_row() {
        let check = |text: &str, expected: &str| {
            assert_eq!(lines(text, 12, Rows::Barred), expected, "{text:?}");
        };
        check("any one", "any one");
        check("any one two three", "any one two\n│ three");
        check(
            "\x1b[1;31merror:\x1b[0m one two",
            "\x1b[1;31merror:\x1b[0m one\n│ two",
        );
        check(
            "error: one two hint: `dunlin x`",
            "error: one\n│ two\n│ hint:\n│ `dunlin\n│ x`",
        );
        check("  · one two three", "  · one two\n  │ three");
        check(
            "error: one two three\nhint: dunlin a b c",
            "error: one\n│ two\n│ three\nhint: dunlin a b c",
        );
    }

    #[test]
    fn nothing_is_lost_in_wrapping() {
        assert_eq!(rows("", 20), [""]);
        assert_eq!(
            rows("the file has changed since", 12),
            ["the file has", "changed", "since"]
        );
        assert_eq!(
            rows("see /a/rather/long/path there", 12),
            ["see", "/a/rather/lo", "ng/path", "there"]
        );
        assert_eq!(rows("well-known words", 12), ["well-known", "words"]);
        for columns in 0..40 {
            let text = "a rather long line of 日本語日本語日本語日本語 and of others\u{301}";
            let rows = rows(text, columns);
            assert_eq!(rows.concat().replace(' ', ""), text.replace(' ', ""));
            let fits = |row: &String| visible(row) <= columns.max(MIN_COLUMNS);
            assert!(rows.iter().all(fits), "{columns}: {rows:?}");
        }
    }

    #[test]
    fn no_row_is_wider_than_the_widest_terminal_shows_it() {
        let without_spaces = |text: &str| text.replace(' ', "");
        for text in crate::approval::text::tests::texts_of_all_characters() {
            for columns in [8, 21, 80] {
                let rows = indented(&text, 2, columns);
                let all = without_spaces(&rows.concat());
                assert_eq!(all, without_spaces(&text));
                for row in rows {
                    assert!(visible(&row) <= columns.max(MIN_COLUMNS + 2), "{row:?}");
                }
            }
        }
    }

    #[test]
    fn spaces_at_the_edges_make_no_rows() {
        assert_eq!(rows("  one", 20), ["  one"]);
        assert_eq!(rows("  onetwothree", 12), ["onetwothree"]);
        assert_eq!(rows("one two  ", 12), ["one two"]);
        assert_eq!(rows("one\n\ntwo", 12), ["one", "", "two"]);
    }

    #[test]
    fn rows_hang_behind_their_margin() {
        let check = |columns, expected: &[&str]| {
            assert_eq!(
                hanging("a: ", 3, "one two three-and-more", columns),
                expected
            );
        };
        check(80, &["a: one two three-and-more"]);
        check(18, &["a: one two", "   three-and-more"]);
        check(0, &["a: one two", "   three-an", "   d-more"]);
    }

    #[test]
    fn commands_are_not_broken() {
        let of = |columns| {
            with_command(
                0,
                "It is stored.\nUndo: dunlin permissions ask read a",
                " ",
                columns,
            )
        };
        assert_eq!(
            of(80),
            ["It is stored. Undo: dunlin permissions ask read a"]
        );
        assert_eq!(
            of(40),
            ["It is stored.", "Undo: dunlin permissions ask read a"]
        );
        assert_eq!(
            of(32),
            ["It is stored.", "Undo:", "  dunlin permissions ask read a"]
        );
        assert_eq!(
            command(2, "undo:", "/tools a rather long name? prompt", 20),
            ["  undo: /tools a", "  │ rather long", "  │ name? prompt"]
        );
        assert_eq!(
            of(20),
            [
                "It is stored.",
                "Undo:",
                "  dunlin \\",
                "  permissions ask \\",
                "  read a"
            ]
        );
    }
}
