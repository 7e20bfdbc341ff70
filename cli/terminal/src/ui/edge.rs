//! The right edge of the window: rows that fit never run over it.
//!
//! Dunlin breaks rows itself and measures them with [`dunlin_host::display::width`]. Should a terminal show a row wider all
//! the same, then the rest of it must not begin the next row, where it could look like a row of Dunlin's own, and push others
//! off the screen. So such rows are written while the terminal does not wrap: what is too wide is cut at the edge.

use std::borrow::Cow;

use super::wrap::visible;

/// Makes the terminal cut rows at the edge of the window (DECAWM off).
pub const CUT: &str = "\x1b[?7l";

/// Makes the terminal continue rows on the next one (DECAWM on), as it does unless it is told otherwise.
pub const WRAP: &str = "\x1b[?7h";

/// Lines as they are written to a terminal with so many columns. Those that fit are cut at the edge; longer ones, such as a
/// command that is to be copied as one line, are continued on the next row. The terminal wraps again behind them.
///
/// The text is written in one piece, so that nothing can happen between both sequences.
pub fn fitting(text: &str, columns: usize) -> Cow<'_, str> {
    // Terminals agree on the width of ASCII.
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + CUT.len() + WRAP.len());
    let mut is_cutting = false;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let cuts = !line.is_ascii() && visible(line) <= columns;
        if cuts != is_cutting {
            out.push_str(if cuts { CUT } else { WRAP });
            is_cutting = cuts;
        }
        out.push_str(line);
    }
    if is_cutting {
        out.push_str(WRAP);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_cut_at_the_edge() {
        for (text, written) in [
            ("plain\nlonger than a row", "plain\nlonger than a row"),
            ("│ a\n│ b", "\x1b[?7l│ a\n│ b\x1b[?7h"),
            (
                "│ a\nplain\n│ a long one\n",
                "\x1b[?7l│ a\n\x1b[?7hplain\n│ a long one\n",
            ),
            // It takes eleven columns on some terminals and one on others.
            (
                "│ a\u{302e}\u{302e}\u{302e}x",
                "\x1b[?7l│ a\u{302e}\u{302e}\u{302e}x\x1b[?7h",
            ),
            ("\x1b[1m│\x1b[0m a", "\x1b[?7l\x1b[1m│\x1b[0m a\x1b[?7h"),
        ] {
            assert_eq!(fitting(text, 11), written, "{text:?}");
        }
    }
}
