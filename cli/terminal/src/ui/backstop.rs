//! Checks each line a last time before it goes to a terminal.
//!
//! Code that handles text from outside escapes it when it becomes part of a line. Where that was forgotten, this module
//! escapes every control sequence except colours.

use std::borrow::Cow;

use dunlin_host::display::needs_escape;

const ESCAPE: char = '\x1b';

/// The line with everything escaped that could control the terminal, except colours.
pub fn harmless(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(c.len_utf8());
        let (piece, after) = rest.split_at(length);
        match length > c.len_utf8() || !needs_escape(c) || may_stay(c) {
            true => out.push_str(piece),
            false => out.extend(c.escape_unicode()),
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// Characters that may stay: line ends and tabs, and the joiners and selectors that emoji and some scripts need.
fn may_stay(c: char) -> bool {
    matches!(
        c,
        '\n' | '\t' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'
    )
}

/// The length in bytes of the colour sequence at the start of the text, if there is one.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix(ESCAPE)?.strip_prefix('[')?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers.get(end..)?.starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_pass() {
        for (line, shown) in [
            ("plain\n  text", "plain\n  text"),
            ("\x1b[1;36mbold\x1b[0m süß", "\x1b[1;36mbold\x1b[0m süß"),
            (
                "a\x1b[2Jb\x1b[1;1Hc\x1b[",
                "a\\u{1b}[2Jb\\u{1b}[1;1Hc\\u{1b}[",
            ),
            (
                "\x1b]0;x\x07\u{9b}31m\r\u{202e}",
                "\\u{1b}]0;x\\u{7}\\u{9b}31m\\u{d}\\u{202e}",
            ),
            ("\u{2764}\u{fe0f}\tx", "\u{2764}\u{fe0f}\tx"),
        ] {
            assert_eq!(harmless(line), shown);
        }
    }
}
