//! Makes streamed text safe to print, piece by piece.
//!
//! What a model writes is foreign text. Escape sequences are taken out, also where one is cut in two by
//! the end of a piece; every other character that could act on the terminal or hide is shown escaped.
//! Joiners and variation selectors stay where they belong to a script or a picture, at most two in a row, because a reply
//! is read, not answered with y or n.

use dunlin_host::display::{Marks, needs_escape};

/// The longest escape sequence in characters. What goes on without an end is not a sequence: the rest is
/// shown as text rather than swallowing the reply.
const MAX_SEQUENCE_CHARS: usize = 4096;

const ESCAPE: char = '\x1b';
const BELL: char = '\x07';
/// String terminator, as one character.
const ST: char = '\u{9c}';

/// Where in the text the filter is. Lives as long as one stream.
#[derive(Debug, Default)]
pub struct Filter {
    state: State,
    /// Characters of the present escape sequence.
    length: usize,
    /// How many joiners and variation selectors may follow the last character: pictures have up to two in a row.
    joiners: u8,
    /// The accents of the last character.
    marks: Marks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// After `\r`: a `\n` makes it a line end.
    Return,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate, such as `ESC (`: one more character.
    Intermediate,
    /// In a control sequence: `ESC [ …` up to a final character.
    Control,
    /// In a string, such as a title or a link: up to BEL or ST.
    String,
}

impl Filter {
    /// The printable form of the next piece.
    pub fn piece(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.next(c, &mut out);
        }
        out
    }

    fn next(&mut self, c: char, out: &mut String) {
        if self.state == State::Return {
            self.state = State::Text;
            if c != '\n' {
                // Alone it would go back over the line and overwrite it.
                out.push('\n');
            }
        }
        if self.state == State::Text {
            return self.text(c, out);
        }
        self.length += 1;
        self.state = match (self.state, c) {
            // Line ends do not occur in sequences: an unfinished one must not hide what follows.
            (_, '\n' | '\r') => return self.text_again(c, out),
            _ if self.length > MAX_SEQUENCE_CHARS => return self.text_again(c, out),
            // Begins anew, also within a sequence; a string ends with `ESC \`.
            (_, ESCAPE) => State::Escape,
            (State::Escape, '[') => State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Escape | State::Intermediate, '0'..='~') => State::Text,
            (State::Control, ' '..='?') => State::Control,
            (State::Control, '@'..='~') => State::Text,
            (State::String, BELL | ST) => State::Text,
            (State::String, _) => State::String,
            // Something that belongs in no sequence.
            _ => return self.text_again(c, out),
        };
    }

    fn text_again(&mut self, c: char, out: &mut String) {
        self.state = State::Text;
        self.text(c, out);
    }

    fn text(&mut self, c: char, out: &mut String) {
        self.length = 0;
        match c {
            ESCAPE => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.state = State::String,
            '\r' => self.state = State::Return,
            '\n' | '\t' => {
                (self.joiners, self.marks) = Default::default();
                out.push(c);
            }
            '\u{fe0e}' | '\u{fe0f}' | '\u{200c}' | '\u{200d}' if self.joiners > 0 => {
                self.joiners -= 1;
                out.push(c);
            }
            c if !needs_escape(c) && self.marks.admit(c) => {
                self.joiners = match c {
                    // A key, such as 1\u{fe0f}\u{20e3}.
                    '0'..='9' | '#' | '*' => 1,
                    c if c.is_ascii() => 0,
                    _ => 2,
                };
                out.push(c);
            }
            c => {
                (self.joiners, self.marks) = Default::default();
                out.extend(c.escape_unicode());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &[(&str, &str)] = &[
        ("plain text\n\tindented", "plain text\n\tindented"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b[2Jb\x1b[1;1Hc", "abc"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\u{9b}31mred", "red"),
        ("\x1b(0line\x1b(B", "line"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x1bcreset", "reset"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("bell\x07 back\x08", "bell\\u{7} back\\u{8}"),
        ("evil\u{202e}txt", "evil\\u{202e}txt"),
        ("a\u{200b}b", "a\\u{200b}b"),
        (
            "\u{26a0}\u{fe0f} \u{1f468}\u{200d}\u{1f469}",
            "\u{26a0}\u{fe0f} \u{1f468}\u{200d}\u{1f469}",
        ),
        ("a\u{200d}b", "a\\u{200d}b"),
        (
            "1\u{fe0f}\u{20e3} \u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "1\u{fe0f}\u{20e3} \u{2764}\u{fe0f}\u{200d}\u{1f525}",
        ),
        (
            "\u{e9}\u{200d}\u{200d}\u{200d}\u{200d}",
            "\u{e9}\u{200d}\u{200d}\\u{200d}\\u{200d}",
        ),
        (
            "z\u{336}\u{336}\u{336}\u{336}\u{336}\n\u{336}",
            "z\u{336}\u{336}\u{336}\u{336}\\u{336}\n\\u{336}",
        ),
        ("\u{e000}\u{3164}", "\\u{e000}\\u{3164}"),
        ("\x1b]never ended\nnext line", "\nnext line"),
        ("\x1b[38;5\u{e9}x", "\u{e9}x"),
    ];

    #[test]
    fn sequences_are_taken_out_and_the_rest_is_escaped() {
        for (raw, shown) in CASES {
            assert_eq!(Filter::default().piece(raw), *shown, "{raw:?}");
        }
    }

    #[test]
    fn the_cut_between_pieces_does_not_matter() {
        for (raw, shown) in CASES {
            for (cut, _) in raw.char_indices() {
                let mut filter = Filter::default();
                let (left, right) = raw.split_at(cut);
                let joined = filter.piece(left) + &filter.piece(right);
                assert_eq!(joined, *shown, "{raw:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn an_endless_sequence_ends() {
        let raw = format!("\x1b]{}", "a".repeat(MAX_SEQUENCE_CHARS + 10));
        assert!(Filter::default().piece(&raw).len() >= 10);
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(512))]

        #[test]
        fn nothing_gets_through(raw in "[\\x00-\\x20\\x1b\\[\\]m;\\u{80}-\\u{9f}a-z]{0,60}") {
            let shown = Filter::default().piece(&raw);
            let control = shown.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            proptest::prop_assert_eq!(control, None);
        }
    }
}
