//! What keys come to that were typed while no line editor ran. They are kept as they came, and the text and the cursor follow
//! from them.
//!
//! The buffer is the one of the line editor, so that keys edit here as they do at the prompt.

use std::mem;

use rustyline::line_buffer::{ChangeListener, DeleteListener, Direction, LineBuffer};
use rustyline::{At, Word};

use super::decoder::{PASTE_END, State};
use super::stream::Filter;

/// A line with the cursor in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TypedLine {
    pub text: String,
    /// Where the cursor is, in bytes.
    pub cursor: usize,
}

/// The lines of what was typed, without the Enter behind each. The last one has not ended; it may be empty.
pub(super) fn split(typed: &[u8]) -> Vec<&[u8]> {
    let (mut state, mut begin) = (State::Text, 0);
    let mut lines = Vec::new();
    for (at, byte) in typed.iter().enumerate() {
        let ends = state == State::Text && matches!(byte, b'\r' | b'\n');
        state = state.after(*byte);
        if ends {
            lines.push(typed.get(begin..at).unwrap_or_default());
            begin = at + 1;
        }
    }
    lines.push(typed.get(begin..).unwrap_or_default());
    lines
}

/// What was typed as text, with all of its lines. Line ends at the end of it do not count, so that nothing is sent unseen.
pub(super) fn text(typed: &[u8]) -> String {
    let lines: Vec<String> = split(typed)
        .into_iter()
        .map(|line| edit(line).text)
        .collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// The same of a text in which nothing is a key.
pub(super) fn harmless(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t' | '\x1b');
    // The filter drops escape sequences.
    Filter::default().piece(&text.chars().filter(is_text).collect::<String>())
}

/// What the keys of one line come to.
pub(super) fn edit(typed: &[u8]) -> TypedLine {
    let mut line = Editing(LineBuffer::with_capacity(typed.len()));
    let (mut state, mut begin) = (State::Text, 0);
    let piece = |begin: usize, end: usize| typed.get(begin..end).unwrap_or_default();
    for (at, byte) in typed.iter().enumerate() {
        let before = state;
        state = before.after(*byte);
        match (before, state) {
            (State::Text, State::Text) | (State::Paste(_), State::Paste(_)) => {}
            (State::Text, _) => {
                line.keys(piece(begin, at));
                begin = at;
            }
            (State::Paste(_), _) => {
                let pasted = piece(begin, at + 1);
                line.insert(&lossy(pasted.strip_suffix(PASTE_END).unwrap_or(pasted)));
                begin = at + 1;
            }
            (_, State::Paste(_)) => begin = at + 1,
            // It begins anew.
            (_, State::Escape) => begin = at,
            (_, State::Text) => {
                line.sequence(piece(begin, at + 1));
                begin = at + 1;
            }
            _ => {}
        }
    }
    let rest = piece(begin, typed.len());
    match state {
        State::Text => line.keys(rest),
        State::Paste(_) => line.insert(&lossy(rest)),
        // What was begun does nothing yet.
        _ => {}
    }
    let cursor = line.0.pos();
    TypedLine {
        text: line.0.into_string(),
        cursor,
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A line that is being edited.
struct Editing(LineBuffer);

impl Editing {
    /// Keys that are no sequences, and the text between them.
    fn keys(&mut self, keys: &[u8]) {
        let mut text = String::new();
        for c in lossy(keys).chars() {
            if !c.is_control() || matches!(c, '\n' | '\r' | '\t') {
                text.push(c);
                continue;
            }
            self.insert(&mem::take(&mut text));
            let line = &mut self.0;
            // Whether a key changed anything does not matter.
            let _ = match c {
                // Ctrl-H and Backspace.
                '\x08' | '\x7f' => line.backspace(1, &mut Nobody),
                // Ctrl-A, E, B, F.
                '\x01' => line.move_home(),
                '\x05' => line.move_end(),
                '\x02' => line.move_backward(1),
                '\x06' => line.move_forward(1),
                // Ctrl-D, K, U, W.
                '\x04' => line.delete(1, &mut Nobody).is_some(),
                '\x0b' => line.kill_line(&mut Nobody),
                '\x15' => line.move_buffer_end() | line.discard_buffer(&mut Nobody),
                '\x17' => line.delete_prev_word(Word::Big, 1, &mut Nobody),
                // The others act on what is not there.
                _ => false,
            };
        }
        self.insert(&text);
    }

    /// A key that is sent as a sequence.
    fn sequence(&mut self, sequence: &[u8]) {
        let line = &mut self.0;
        let _ = match sequence {
            b"\x1b[D" | b"\x1bOD" => line.move_backward(1),
            b"\x1b[C" | b"\x1bOC" => line.move_forward(1),
            b"\x1b[H" | b"\x1bOH" | b"\x1b[1~" | b"\x1b[7~" => line.move_home(),
            b"\x1b[F" | b"\x1bOF" | b"\x1b[4~" | b"\x1b[8~" => line.move_end(),
            b"\x1b[3~" => line.delete(1, &mut Nobody).is_some(),
            // With Ctrl or Alt: words.
            b"\x1b[1;5D" | b"\x1b[1;3D" | b"\x1bb" => line.move_to_prev_word(Word::Emacs, 1),
            b"\x1b[1;5C" | b"\x1b[1;3C" | b"\x1bf" => {
                line.move_to_next_word(At::AfterEnd, Word::Emacs, 1)
            }
            b"\x1b\x7f" | b"\x1b\x08" => line.delete_prev_word(Word::Emacs, 1, &mut Nobody),
            // With Alt or Shift: Enter.
            b"\x1b\r" | b"\x1b\n" | b"\x1b[13;2u" => {
                self.insert("\n");
                true
            }
            _ => false,
        };
    }

    fn insert(&mut self, text: &str) {
        let text = harmless(text);
        let at = self.0.pos();
        self.0.insert_str(at, &text, &mut Nobody);
        self.0.set_pos(at + text.len());
    }
}

/// The buffer tells of its changes, for undoing them.
struct Nobody;

impl DeleteListener for Nobody {
    fn delete(&mut self, _: usize, _: &str, _: Direction) {}
}

impl ChangeListener for Nobody {
    fn insert_char(&mut self, _: usize, _: char) {}
    fn insert_str(&mut self, _: usize, _: &str) {}
    fn replace(&mut self, _: usize, _: &str, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_typing_becomes_a_line() {
        let check = |typed: &[u8], expected: &str| assert_eq!(text(typed), expected, "{typed:?}");
        check(b"", "");
        check(b"y\r", "y");
        check(b"y\n", "y");
        check(b"hallp\x7fo", "hallo");
        check(b"wrong\x15right", "right");
        check(b"\x1b[A\x1b[200~one\rtwo\x1b[201~", "one\ntwo");
        check("größe".as_bytes(), "größe");
        check(b"\x7f\x7f", "");
        check(b"\x0cab", "ab");
        // What erases does not reach into the line before.
        check(b"one\rtwo\x1b[D\x1b[D\x1b[D\x7f\x7f", "one\ntwo");
        check(b"one\x1b\rtwo\rthree", "one\ntwo\nthree");
        check("evil\u{202e}txt".as_bytes(), "evil\\u{202e}txt");
        // In a paste nothing is a key.
        check(b"\x1b[200~a\x7f\x01\x17b\x1b[D\x1b[201~c", "abc");
        check(b"\x1b[200~one\r\ntwo\r\x1b[20", "one\ntwo");
    }

    /// `|` is the cursor.
    #[test]
    fn keys_edit_the_line_at_the_cursor() {
        let check = |typed: &str, expected: &str| {
            let TypedLine { mut text, cursor } = edit(typed.as_bytes());
            text.insert(cursor, '|');
            assert_eq!(text, expected, "{typed:?}");
        };
        check("abc", "abc|");
        check("abc\x1b[D\x1bODx", "ax|bc");
        check("abc\x1b[D\x1b[D\x1b[C\x1bOC\x1b[C", "abc|");
        check("abc\x01x", "x|abc");
        check("abc\x1b[H\x1b[3~", "|bc");
        check("abc\x1b[1~\x1b[F!", "abc!|");
        check("one two  \x17", "one |");
        check("one/two \x1b\x7f", "one/|");
        check("one two\x1b[1;5D\x1bb\x1bf", "one| two");
        check("one two\x1b[1;5D\x0b", "one |");
        check("ab\x02\x04", "a|");
        check("漢字\x1b[D\x7f", "|字");
        // A letter with its accent is one.
        check("ae\u{301}\x7f", "a|");
        check("one\x1b[200~ two\rthree\x1b[201~\x01x", "one two\nx|three");
        // What was begun does nothing, and what nobody knows neither.
        check("ab\x1b", "ab|");
        check("ab\x1b[1;", "ab|");
        check("ab\x1b[5~\x1b]11;x\x07c", "abc|");
    }

    const PIECES: &[&[u8]] = &[
        b"a",
        "漢".as_bytes(),
        b"\xe6",
        b" ",
        b"\x7f",
        b"\x17",
        b"\x0b",
        b"\x04",
        b"\x01",
        b"\x1b",
        b"[",
        b"D",
        b"\x1b[D",
        b"\x1b[C",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\r",
        b"\x1b\r",
        "\u{301}".as_bytes(),
        b"\x1b]",
        b"\x9b",
    ];

    proptest::proptest! {
        /// Whatever is typed, the cursor is in the text, and nothing in it acts on a terminal.
        #[test]
        fn every_sequence_of_keys_comes_to_a_line(
            typed in proptest::collection::vec(proptest::sample::select(PIECES), 0..30)
        ) {
            let typed = typed.concat();
            let line = edit(&typed);
            proptest::prop_assert!(line.text.is_char_boundary(line.cursor));
            let acts = |text: &str| text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            proptest::prop_assert!(!acts(&line.text) && !acts(&text(&typed)));
        }
    }
}
