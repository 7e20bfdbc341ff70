//! Text on as many rows as it takes, broken between words. All of Dunlin's rows are broken here.
//!
//! Words that are longer than a row are cut, so that the terminal never breaks a row by itself: what it puts on the next
//! row would begin there like a row of Dunlin's own.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::approval::storing::SHOWS_KEY;
use crate::approval::text::BAR;
use crate::shell_word;

/// The deepest indentation that is repeated on the rows below, in columns.
const MAX_INDENT: usize = 8;

/// The narrowest rows, in columns; a window that leaves less is not for reading.
const MIN_COLUMNS: usize = 8;

/// How far in a command stands that has rows of its own below its label, in columns.
const COMMAND_INDENT: usize = 2;

/// What a way out begins with.
const HINT: &str = "hint:";

/// How a command of the chat begins. It cannot be continued on another row.
const CHAT_COMMAND: char = '/';

/// How many columns a text takes whose only escape sequences are colours and links.
pub fn visible(text: &str) -> usize {
    textwrap::core::display_width(text)
}

fn options(columns: usize, indent: &str) -> Options<'_> {
    Options::new(columns.max(MIN_COLUMNS + indent.len()))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(true)
        .subsequent_indent(indent)
}

/// One line in rows of at most so many columns. Nothing is left out but the spaces between two rows; there is at least
/// one row.
pub fn rows(text: &str, columns: usize) -> Vec<String> {
    indented(text, 0, columns)
}

/// The same with rows below the first that stand so many columns in.
pub fn indented(text: &str, indent: usize, columns: usize) -> Vec<String> {
    let indent = " ".repeat(indent);
    let rows = textwrap::wrap(text, options(columns, &indent));
    rows.into_iter().map(Cow::into_owned).collect()
}

/// Lines that may be coloured, each in rows of at most so many columns. The rows below the first are indented as it is.
/// What fits stays as it is.
pub fn lines(text: &str, columns: usize) -> Cow<'_, str> {
    if text.split('\n').all(|line| visible(line) <= columns) {
        return Cow::Borrowed(text);
    }
    let rows: Vec<Cow<'_, str>> = text.split('\n').map(|text| line(text, columns)).collect();
    Cow::Owned(rows.join("\n"))
}

fn line(text: &str, columns: usize) -> Cow<'_, str> {
    if visible(text) <= columns {
        return Cow::Borrowed(text);
    }
    if text.contains(HINT) {
        let indent = " ".repeat(HINT.len() + 1);
        // A command that is to be copied must not hold a line end: there the terminal breaks the row.
        let has_command = text.contains("dunlin ") || text.contains(['`', '\'']);
        return Cow::Owned(match has_command {
            true => clauses(text).join(&format!("\n{indent}")),
            false => textwrap::wrap(text, options(columns, &indent)).join("\n"),
        });
    }
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = " ".repeat(spaces.min(MAX_INDENT));
    let rows = textwrap::wrap(text, options(columns, &indent));
    Cow::Owned(rows.join("\n"))
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
        return rows(text, room).into_iter().map(own).collect();
    };
    let one = format!("{sentence}{separator}{undo}");
    if visible(&one) <= room {
        return vec![own(one)];
    }
    let (label, what) = undo.split_once(' ').unwrap_or((undo, ""));
    let sentence = rows(sentence, room).into_iter().map(own);
    sentence
        .chain(command(margin, label, what, columns))
        .collect()
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
        check(
            "\x1b]8;;https://example.org/long\x1b\\link\x1b]8;;\x1b\\ one",
            "\x1b]8;;https://example.org/long\x1b\\link\x1b]8;;\x1b\\ one",
        );
        check("  one two three\nshort", "  one two\n  three\nshort");
        check("averyveryverylongword x", "averyveryver\nylongword x");
        check("日本語 日本語 x", "日本語\n日本語 x");
        check("hint: one two three", "hint: one two\n      three");
        // But for commands, which are copied.
        check("hint: dunlin a b c", "hint: dunlin a b c");
        check(
            "hint: dunlin a 'b; c' d; in the chat /e",
            "hint: dunlin a 'b; c' d;\n      in the chat /e",
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
