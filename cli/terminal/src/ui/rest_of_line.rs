//! What arrived in one piece with the Enter that ended a line: fast typing, or lines pasted into a terminal that does not mark
//! pastes. Nobody has seen what it would answer, so it is typed early, like the rest of a line that had to end for a question.

use rustyline::{KeyCode, KeyEvent, Modifiers};

use super::decoder::{PASTE_END, PASTE_MARK};

/// A line after its Enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub line: String,
    /// The keys behind it, as a terminal sends them.
    pub rest: Vec<u8>,
}

impl Ended {
    pub(super) fn new(line: &str) -> Ended {
        Ended {
            line: line.to_owned(),
            rest: Vec::new(),
        }
    }

    /// Adds a key. One that is neither text nor edits text is left out.
    pub(super) fn push(&mut self, key: KeyEvent) {
        /// What makes the key with a letter of the letter.
        const CONTROL: u32 = 0x1f;
        let mut letter = [0; 4];
        let bytes = match key {
            KeyEvent(KeyCode::Char(c), Modifiers::NONE | Modifiers::SHIFT) => {
                c.encode_utf8(&mut letter).as_bytes()
            }
            KeyEvent(
                KeyCode::Char(c @ ('A' | 'E' | 'J' | 'K' | 'M' | 'U' | 'W')),
                Modifiers::CTRL,
            ) => {
                let c = char::from_u32(u32::from(c) & CONTROL).unwrap_or_default();
                c.encode_utf8(&mut letter).as_bytes()
            }
            KeyEvent(KeyCode::Enter, Modifiers::ALT) => b"\x1b\r",
            KeyEvent(KeyCode::Enter, _) => b"\r",
            KeyEvent(KeyCode::Tab, _) => b"\t",
            KeyEvent(KeyCode::Backspace, _) => b"\x7f",
            KeyEvent(KeyCode::Delete, _) => b"\x1b[3~",
            KeyEvent(KeyCode::Left, Modifiers::NONE) => b"\x1b[D",
            KeyEvent(KeyCode::Right, Modifiers::NONE) => b"\x1b[C",
            KeyEvent(KeyCode::Home, Modifiers::NONE) => b"\x1b[H",
            KeyEvent(KeyCode::End, Modifiers::NONE) => b"\x1b[F",
            KeyEvent(KeyCode::BracketedPasteStart, _) => PASTE_MARK,
            KeyEvent(KeyCode::BracketedPasteEnd, _) => PASTE_END,
            _ => b"",
        };
        self.rest.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::EarlyKeys;
    use super::super::line_paste::{LinePaste, Pasted};
    use super::*;

    #[test]
    fn keys_behind_a_line_are_what_the_terminal_has_sent() {
        let check = |keys: &[KeyEvent], rest: &[u8]| {
            let mut ended = Ended::new("y");
            keys.iter().for_each(|key| ended.push(*key));
            assert_eq!(ended.rest, rest);
            assert_eq!(ended.line, "y");
        };
        let plain = |code| KeyEvent(code, Modifiers::NONE);
        let letter = |c| plain(KeyCode::Char(c));
        check(&[], b"");
        check(&[letter('n'), plain(KeyCode::Enter)], b"n\r");
        check(&[letter('ö'), KeyEvent::ctrl('J')], "ö\n".as_bytes());
        check(
            &[letter('a'), plain(KeyCode::Backspace), KeyEvent::ctrl('U')],
            b"a\x7f\x15",
        );
        // What would act, and what is no text.
        check(
            &[
                plain(KeyCode::Esc),
                KeyEvent::ctrl('C'),
                KeyEvent::ctrl('V'),
                plain(KeyCode::Up),
                plain(KeyCode::BackTab),
            ],
            b"",
        );
        let paste = [
            plain(KeyCode::BracketedPasteStart),
            letter('y'),
            KeyEvent::ctrl('M'),
            plain(KeyCode::BracketedPasteEnd),
        ];
        check(&paste, b"\x1b[200~y\r\x1b[201~");
        // The end of a paste may come later.
        let mut ended = Ended::new("y");
        paste[..3].iter().for_each(|key| ended.push(*key));
        let mut early = EarlyKeys::default();
        early.feed(&ended.rest);
        assert!(early.longest_stall().is_some(), "the paste goes on");
    }

    #[test]
    fn a_line_ends_at_once_where_nothing_waits_for_the_keys_behind_it() {
        let paste = LinePaste::default();
        let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
        paste.begin_line(false);
        assert_eq!(paste.ends(enter, "y"), None);
        assert_eq!(paste.take_ended(), None);
        paste.begin_line(true);
        let begin = KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE);
        assert_eq!(paste.key(begin), Some(Pasted::More));
        assert_eq!(paste.ends(enter, "y"), None, "it is a part of the paste");
        assert_eq!(paste.take_ended(), None);
    }
}
