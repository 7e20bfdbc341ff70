//! The last look at a line before it goes to a terminal.
//!
//! Whoever has foreign text escapes it where it becomes part of a line. Should somebody forget that, this is where it ends:
//! of all that acts on a terminal only colours pass.

use std::borrow::Cow;

use dunlin_host::display::needs_escape;

const ESCAPE: char = '\x1b';

/// The line as a terminal may get it.
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

/// What has a place in text of several lines and in pictures.
fn may_stay(c: char) -> bool {
    matches!(
        c,
        '\n' | '\t' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'
    )
}

/// How many bytes the colour takes that the text begins with.
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
