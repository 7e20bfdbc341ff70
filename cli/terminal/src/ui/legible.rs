//! What is shown of a line that is being typed: it can be pasted, come out of the history or be a file's name.

use std::borrow::Cow;

use dunlin_host::display::{Marks, needs_escape};
use rustyline::config::ColorMode;
use unicode_width::UnicodeWidthChar;

/// How the line editor is to be set: it has lines painted only where it may colour them, and painting is what makes them
/// legible. Where colours are not wanted, styles paint nothing.
pub const COLOR_MODE: ColorMode = ColorMode::Forced;

/// A line as it may be written to the terminal. What could act there or deceive is replaced by something of the same
/// width, since the editor counts the columns itself.
pub fn legible(line: &str) -> Cow<'_, str> {
    // Between the parts of emoji these do no harm, and without them the parts fall asunder.
    let keep = |c: char| matches!(c, '\n' | '\t' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}');
    let acts = |c: char| !keep(c) && needs_escape(c);
    if line.is_ascii() && !line.chars().any(acts) {
        return Cow::Borrowed(line);
    }
    let mut shown = String::with_capacity(line.len());
    let mut marks = Marks::default();
    for c in line.chars() {
        match u32::from(c) {
            _ if keep(c) => shown.push(c),
            _ if !acts(c) => {
                // What takes no column leaves no gap.
                if marks.admit(c) {
                    shown.push(c);
                }
            }
            // Unicode has a picture of each.
            code @ 0..0x20 => shown.extend(char::from_u32(0x2400 + code)),
            0x7F => shown.push('\u{2421}'),
            _ => shown.extend((0..columns_of(c)).map(|_| char::REPLACEMENT_CHARACTER)),
        }
    }
    Cow::Owned(shown)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the line editor counts by this table, and what stands in a character's place must be as wide"
)]
fn columns_of(c: char) -> usize {
    c.width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_does_nothing_to_the_terminal() {
        let check = |line: &str, expected: &str| assert_eq!(legible(line), expected);
        check(
            "fn main() {\n\tprintln!(\"süß 日本 👩‍🚀 ❤️\");\n}",
            "fn main() {\n\tprintln!(\"süß 日本 👩‍🚀 ❤️\");\n}",
        );
        check("a\u{1b}]52;c;x\u{7}b\u{7f}", "a␛]52;c;x␇b␡");
        check(
            "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{e000}",
            "a\u{301}\u{301}\u{301}\u{301}\u{fffd}",
        );
        check("\u{9b}31m\u{202e}txt\u{200b}.", "\u{fffd}31mtxt.");
    }
}
