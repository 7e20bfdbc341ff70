//! What is typed during a turn: text that is kept for the next message, and the keys that act at once: Esc ends
//! the turn, Ctrl-V shows or hides its steps.
//!
//! Esc is one byte, and so do arrows, keys with Alt and pasted text begin. What tells them apart is what
//! follows within a moment, which only whoever watches the clock can say: [`EarlyKeys::waits`] tells how long
//! to wait, [`EarlyKeys::take_escape`] that nothing came.

use std::time::Duration;

use super::decoder::{PASTE_END, PASTE_MARK, State};
use super::interrupted_line::InterruptedLine;
use super::terminal::typed_text;

/// How long the rest of an escape sequence may take. A terminal sends it in one piece, so only a network between
/// can part it; and a person who presses Esc wants to see the prompt within a tenth of a second.
const SEQUENCE_TIME: Duration = Duration::from_millis(SEQUENCE_MILLIS as u64);

/// The same in milliseconds, for the line editor.
pub const SEQUENCE_MILLIS: u16 = 50;

/// How much early typing is kept, in bytes: more than anybody types, less than a stuck key produces.
const MAX_BYTES: usize = 64 * 1024;

const ESCAPE: u8 = 0x1b;
pub(super) const CTRL_C: u8 = 0x03;
const CTRL_U: u8 = 0x15;
const CTRL_V: u8 = 0x16;
const BACKSPACE: u8 = 0x08;
const DELETE: u8 = 0x7f;

/// What lines are that were typed early.
pub trait EarlyLines {
    /// Whether a line is a command, and no part of a message.
    fn is_alone(&self, line: &str) -> bool;

    /// Whether a message ends with these lines. Otherwise the next one belongs to it, whatever it is.
    fn is_complete(&self, lines: &str) -> bool;
}

/// What was typed and not given to anybody yet.
#[derive(Debug, Default)]
pub struct EarlyKeys {
    bytes: Vec<u8>,
    /// Where in them the line begins that is being typed: behind the last Enter that was a key.
    line: usize,
    /// A message that was being typed. As long as it is open, that line goes on with it.
    interrupted: Option<InterruptedLine>,
    /// What the terminal is in the middle of, whoever got the bytes.
    state: State,
}

impl EarlyKeys {
    /// Takes in what was typed. Whether the steps are to be turned on or off: Ctrl-V was typed, and pasted text does
    /// not count.
    pub fn feed(&mut self, typed: &[u8]) -> bool {
        let mut toggles = false;
        for &byte in typed {
            let is_key = matches!(self.state, State::Text | State::Late(_));
            match byte {
                CTRL_V if is_key => {
                    toggles = !toggles;
                    continue;
                }
                // Lines before it were ended, and are not seen any more.
                CTRL_U if is_key => {
                    self.erase_line();
                    continue;
                }
                BACKSPACE | DELETE if is_key && self.line_so_far().is_empty() => continue,
                _ => {}
            }
            // Of several in a row the last one counts: with Alt some terminals send one more.
            let repeated = self.state == State::Escape && byte == ESCAPE;
            let before = self.state;
            self.state = before.after(byte);
            if let (State::Late(matched), State::Paste(_)) = (before, self.state) {
                // Its first byte was taken for a key.
                let begin = self.bytes.len().saturating_sub(matched);
                self.bytes.truncate(begin);
                self.bytes.extend(&PASTE_MARK[..=matched]);
            }
            if !repeated && self.bytes.len() < MAX_BYTES {
                self.bytes.push(byte);
            }
            if is_key && matches!(byte, b'\r' | b'\n') {
                self.end_line();
            }
        }
        toggles
    }

    /// Enter was pressed, and taken in.
    fn end_line(&mut self) {
        match self.interrupted.as_mut().filter(|it| it.is_open()) {
            Some(message) => message.end(&self.bytes.split_off(self.line)),
            None => self.line = self.bytes.len(),
        }
    }

    /// From now on this message is the line that is being typed.
    pub(super) fn interrupt(&mut self, message: InterruptedLine) {
        // What was begun there is another line.
        if self.line < self.bytes.len() {
            self.bytes.push(b'\n');
            self.line = self.bytes.len();
        }
        self.interrupted = Some(message);
    }

    /// The message that was interrupted, with what was typed in it since; given once.
    pub(super) fn take_interrupted(&mut self) -> Option<String> {
        let message = self.interrupted.take()?;
        Some(match message.is_open() {
            true => message.with(&self.bytes.split_off(self.line)),
            false => message.with(b""),
        })
    }

    /// The message that was interrupted.
    pub(super) fn interrupted(&self) -> Option<&InterruptedLine> {
        self.interrupted.as_ref()
    }

    /// The line that was begun and not ended; `None`: there is nothing in it.
    pub(super) fn open_line(&self) -> Option<String> {
        let text = self.line_so_far();
        (!text.trim().is_empty()).then_some(text)
    }

    fn line_so_far(&self) -> String {
        let typed = self.bytes.get(self.line..).unwrap_or_default();
        match self.interrupted().filter(|it| it.is_open()) {
            Some(message) => message.with(typed),
            None => typed_text(typed),
        }
    }

    /// Where that line begins.
    pub(super) fn line_start(&self) -> usize {
        self.line
    }

    /// What was typed behind so many bytes, as text.
    pub(super) fn text_from(&self, at: usize) -> String {
        typed_text(self.bytes.get(at..).unwrap_or_default())
    }

    /// Erases the line that is being typed.
    pub(super) fn erase_line(&mut self) {
        self.bytes.truncate(self.line);
        if let Some(message) = self.interrupted.as_mut().filter(|it| it.is_open()) {
            message.erase();
        }
    }

    /// Follows what was typed and goes elsewhere, or nowhere.
    pub(super) fn pass(&mut self, typed: &[u8]) {
        self.state = typed
            .iter()
            .fold(self.state, |state, byte| state.after(*byte));
    }

    /// How long to wait for the rest of what was begun, while nothing of it comes; `None` between two keys.
    pub(super) fn longest_stall(&self) -> Option<Duration> {
        self.state.longest_stall()
    }

    /// Whoever read the terminal left it in the middle of pasted text.
    pub(super) fn begin_paste(&mut self) {
        self.state = State::Paste(0);
    }

    /// The rest of what was begun does not come any more.
    pub(super) fn give_up(&mut self) {
        if let State::Paste(_) = self.state {
            self.bytes.extend(PASTE_END);
        }
        self.state = match self.state {
            State::Escape => State::Late(0),
            _ => State::Text,
        };
    }

    /// Adds a line that was read and answered nothing.
    pub fn keep_line(&mut self, line: &str) {
        self.bytes.extend(EarlyKeys::typed(line));
        self.line = self.bytes.len();
    }

    /// Adds a message that was not sent before everything that was typed since.
    pub fn keep_message(&mut self, text: &str) {
        self.put_back(EarlyKeys::typed(text));
    }

    /// A text as if it was typed. Of several lines, as of a paste, none is a line of its own.
    fn typed(line: &str) -> Vec<u8> {
        let (begin, end) = match line.contains('\n') {
            true => (PASTE_MARK, PASTE_END),
            false => (&b""[..], &b""[..]),
        };
        [begin, line.as_bytes(), end, b"\n"].concat()
    }

    /// How long to wait for what may follow an Esc; `None` where the last byte was none.
    pub fn waits(&self) -> Option<Duration> {
        match self.state {
            State::Escape | State::String(true) => Some(SEQUENCE_TIME),
            _ => None,
        }
    }

    /// Whether Esc itself was pressed, to be asked when nothing followed in time. It is not text then, and what
    /// comes next begins anew, unless it is the rest of a mark that begins a paste.
    pub fn take_escape(&mut self) -> bool {
        if self.waits().is_none() {
            return false;
        }
        self.bytes.pop_if(|byte| *byte == ESCAPE);
        self.state = State::Late(0);
        true
    }

    /// How many bytes are kept.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What was typed behind so many bytes, given once.
    pub fn split_off(&mut self, at: usize) -> Vec<u8> {
        let at = at.min(self.bytes.len());
        self.line = self.line.min(at);
        self.bytes.split_off(at)
    }

    /// What was typed for the next line, given once: a line that is a command by itself, or all lines up to such a one. A line
    /// that has not ended is still being typed: where it belongs to none before it, it comes first.
    pub fn take_next(&mut self, lines: &dyn EarlyLines) -> Vec<u8> {
        let mut next = String::new();
        let (mut state, mut begin, mut first) = (State::Text, 0, None);
        for (at, byte) in self.bytes.iter().enumerate() {
            let ends = state == State::Text && matches!(byte, b'\r' | b'\n');
            state = state.after(*byte);
            let is_last = at + 1 == self.bytes.len();
            if !ends && !is_last {
                continue;
            }
            let line = typed_text(self.bytes.get(begin..=at).unwrap_or_default());
            let is_alone = lines.is_alone(&line) && lines.is_complete(&next);
            let is_first = next.trim().is_empty();
            if first.is_none() && is_alone && !is_first {
                first = Some(begin);
            } else if first.is_none() && is_alone && !is_last {
                first = Some(at + 1);
            }
            if is_last && !ends && first.is_some() {
                return self.split_off(begin);
            }
            next = format!("{next}{line}\n");
            begin = at + 1;
        }
        let Some(first) = first else {
            return self.take();
        };
        let later = self.bytes.split_off(first);
        self.line = self.line.saturating_sub(first);
        std::mem::replace(&mut self.bytes, later)
    }

    /// Takes the first line out of it that has ended and for which `wanted` holds. A paste is no line.
    pub(super) fn take_line(&mut self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let (mut state, mut begin) = (State::Text, 0);
        for (at, byte) in self.bytes.iter().enumerate() {
            let ends = state == State::Text && matches!(byte, b'\r' | b'\n');
            state = state.after(*byte);
            if !ends {
                continue;
            }
            let line = typed_text(self.bytes.get(begin..at).unwrap_or_default());
            if !line.contains('\n') && wanted(&line) {
                self.bytes.drain(begin..=at);
                self.line = self.line.saturating_sub(at + 1 - begin);
                return Some(line);
            }
            begin = at + 1;
        }
        None
    }

    /// Puts back what was taken for the next line.
    pub fn put_back(&mut self, typed: Vec<u8>) {
        // A line that had not ended is still being typed.
        if !self.bytes.is_empty() || matches!(typed.last(), Some(b'\r' | b'\n')) {
            self.line += typed.len();
        }
        self.bytes.splice(0..0, typed);
    }

    /// Everything that was typed, given once.
    pub fn take(&mut self) -> Vec<u8> {
        self.line = 0;
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_taken_out() {
        let mut keys = EarlyKeys::default();
        keys.feed(b"one\r/stop 2\rtw\x1b[200~/stop 3\r\x1b[201~\r/stop 4\rthr");
        let is_stop = |line: &str| line.starts_with("/stop");
        let taken: Vec<String> = std::iter::from_fn(|| keys.take_line(is_stop)).collect();
        assert_eq!(taken, ["/stop 2", "/stop 4"]);
        assert_eq!(keys.open_line().as_deref(), Some("thr"));
        let left = typed_text(&keys.take());
        assert_eq!(left, "one\ntw/stop 3\n\nthr");
    }

    /// Feeds pieces, and asks after each whether it was Esc, as if nothing more came for a long time.
    fn escapes(pieces: &[&[u8]]) -> (Vec<bool>, Vec<u8>) {
        let mut keys = EarlyKeys::default();
        let pressed = pieces.iter().map(|piece| {
            keys.feed(piece);
            keys.take_escape()
        });
        let pressed = pressed.collect();
        (pressed, keys.take())
    }

    #[test]
    fn only_the_key_itself_is_esc() {
        let check = |typed: &[u8], pressed: bool, kept: &[u8]| {
            let expected = (vec![pressed], kept.to_vec());
            assert_eq!(escapes(&[typed]), expected, "{}", typed.escape_ascii());
        };
        check(b"", false, b"");
        check(b"hello\r", false, b"hello\r");
        check(b"\x1b", true, b"");
        check(b"hello\x1b", true, b"hello");
        check(b"\x1b\x1b", true, b"");
        for sequence in [
            &b"\x1b[A"[..],
            b"\x1bOA",
            b"\x1b[1;5C",
            b"\x1b[3~",
            b"\x1bb",
            b"\x1b\r",
            b"\x1b\x1b[A",
            b"\x1b[200~text\x1b[201~",
            b"\x1b[200~an \x1b in it, \x1b[A, \x1b[200~\x1b[201~",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1b[200~never ended",
        ] {
            let (pressed, kept) = escapes(&[sequence]);
            assert_eq!(pressed, [false], "{}", sequence.escape_ascii());
            let first = sequence
                .strip_prefix(b"\x1b\x1b")
                .map(|rest| [b"\x1b", rest].concat());
            assert_eq!(kept, first.unwrap_or_else(|| sequence.to_vec()));
            // And the key after it is, but in pasted text.
            let is_key = !sequence.ends_with(b"never ended");
            let (pressed, _) = escapes(&[&[sequence, b"\x1b"].concat()]);
            assert_eq!(pressed, [is_key], "after {}", sequence.escape_ascii());
        }
    }

    #[test]
    fn where_a_sequence_is_parted_does_not_matter() {
        let typed = b"a\x1b[Ab\x1b[200~c\x1bd\x1b[20~\x1b[201~e\x1bOPf\x1b[1;2D\x1b]0;g\x1b\\h";
        for at in 0..=typed.len() {
            let mut keys = EarlyKeys::default();
            for piece in [&typed[..at], &typed[at..]] {
                // Nothing waits for so long that the rest is late.
                keys.feed(piece);
            }
            assert_eq!(keys.waits(), None, "parted at {at}");
            assert_eq!(keys.take(), typed, "parted at {at}");
        }
    }

    #[test]
    fn ctrl_v_is_a_key_and_no_text() {
        let check = |typed: &[u8], toggles: bool, kept: &[u8]| {
            let mut keys = EarlyKeys::default();
            assert_eq!(keys.feed(typed), toggles, "{}", typed.escape_ascii());
            assert_eq!(keys.take(), kept, "{}", typed.escape_ascii());
        };
        check(b"one\x16two", true, b"onetwo");
        check(b"\x16\x16", false, b"");
        check(
            b"\x1b[200~a\x16b\x1b[201~",
            false,
            b"\x1b[200~a\x16b\x1b[201~",
        );
    }

    #[test]
    fn a_line_is_open_until_it_is_ended_or_erased() {
        let check = |typed: &str, open: Option<&str>, kept: &str| {
            // However it is parted.
            for at in (0..=typed.len()).filter(|at| typed.is_char_boundary(*at)) {
                let (first, rest) = typed.split_at(at);
                let mut keys = EarlyKeys::default();
                keys.feed(first.as_bytes());
                keys.feed(rest.as_bytes());
                assert_eq!(keys.open_line().as_deref(), open, "{typed:?}");
                assert_eq!(typed_text(&keys.take()), kept, "{typed:?}");
                assert_eq!(keys.open_line(), None, "{typed:?}");
            }
        };
        check("", None, "");
        check("\r", None, "");
        check("  ", None, "  ");
        check("\x1b[A", None, "");
        check("fix the tes", Some("fix the tes"), "fix the tes");
        check("fix the tes\r", None, "fix the tes");
        check("one\rtw", Some("tw"), "one\ntw");
        check("one\ntwo\n", None, "one\ntwo");
        check("größe\x7f\x7fß", Some("größ"), "größ");
        // What erases does not reach into the lines before.
        check("one\rtw\x15", None, "one");
        check("one\rtw\x7f\x7f\x7f\x08", None, "one");
        check("one\rtw\x7f\x7f\x7fthree", Some("three"), "one\nthree");
        check("\x7fone", Some("one"), "one");
        // Pasted text ends with a key as well.
        check("\x1b[200~one\ry\r", Some("one\ny"), "one\ny");
        check("\x1b[200~one\ry\r\x1b[201~", Some("one\ny"), "one\ny");
        check("\x1b[200~one\ry\r\x1b[201~\r", None, "one\ny");
        check("\x1b[200~one\rtwo\x1b[201~\x15", None, "");
        // Alt and Enter.
        check("one\x1b\rtwo", Some("one\ntwo"), "one\ntwo");
    }

    #[test]
    fn a_line_stays_open_whatever_is_taken_and_put_back() {
        let fed = |typed: &str| {
            let mut keys = EarlyKeys::default();
            keys.feed(typed.as_bytes());
            keys
        };
        let mut keys = fed("one\r/a\rtw");
        keys.take_next(&Slashes);
        assert_eq!(keys.open_line(), None, "it comes first");
        assert_eq!(typed_text(&keys.take_next(&Slashes)), "one");
        let mut keys = fed("one\r/a\r");
        keys.take_next(&Slashes);
        keys.feed(b"tw");
        assert_eq!(keys.open_line().as_deref(), Some("tw"));
        keys.keep_message("a message");
        assert_eq!(keys.open_line().as_deref(), Some("tw"));
        keys.keep_line("o");
        assert_eq!(keys.open_line(), None);
        let mut keys = fed("one\rtw");
        assert_eq!(keys.split_off(4), b"tw");
        assert_eq!(keys.open_line(), None);
        for typed in ["tw", "one\r"] {
            let mut keys = fed(typed);
            let taken = keys.take();
            keys.put_back(taken);
            let open = (!typed.ends_with('\r')).then_some(typed);
            assert_eq!(keys.open_line().as_deref(), open);
        }
    }

    /// A sequence or a paste that was given up does not swallow the Enter, and a full buffer does not either.
    #[test]
    fn a_line_can_be_ended_whatever_was_begun_in_it() {
        let full = "x".repeat(MAX_BYTES + 1);
        let full_paste = format!("\x1b[200~{full}\x1b[201~");
        for typed in [
            "one\x1b",
            "one\x1b]",
            "one\x1bO",
            "one\x1b[1",
            "one\x1b[200~two",
            full.as_str(),
            full_paste.as_str(),
        ] {
            for end in [b"\r", b"\x15"] {
                let mut keys = EarlyKeys::default();
                keys.feed(typed.as_bytes());
                keys.give_up();
                assert!(keys.open_line().is_some(), "{:.20?}", typed);
                keys.feed(end);
                assert_eq!(keys.open_line(), None, "{:.20?}", typed);
            }
        }
    }

    /// Lines that begin with a slash are commands, and a backslash continues a line.
    struct Slashes;

    impl EarlyLines for Slashes {
        fn is_alone(&self, line: &str) -> bool {
            line.starts_with('/') && !line.contains('\n')
        }

        fn is_complete(&self, lines: &str) -> bool {
            !lines.ends_with("\\\n")
        }
    }

    #[test]
    fn each_command_is_a_line_of_its_own() {
        let check = |typed: &str, expected: &[&str]| {
            let mut keys = EarlyKeys::default();
            keys.feed(typed.as_bytes());
            let mut found = Vec::new();
            while keys.len() > 0 {
                let next = keys.take_next(&Slashes);
                assert!(!next.is_empty(), "{typed:?}");
                found.push(typed_text(&next));
            }
            assert_eq!(found, expected, "{typed:?}");
        };
        check("", &[]);
        check("one\rtwo\r", &["one\ntwo"]);
        check("one\rtw", &["one\ntw"]);
        check("/a\r", &["/a"]);
        check("/a", &["/a"]);
        check(
            "one\rtwo\r/a\r/b\rthree\r",
            &["one\ntwo", "/a", "/b", "three"],
        );
        check("\r/a\r\rone\r", &["\n/a", "\none"]);
        check("x\x7f/a\rone\r", &["/a", "one"]);
        // Whoever is typing goes on.
        check("one\r/a", &["/a", "one"]);
        check("/a\rone\rtw", &["tw", "/a", "one"]);
        // Lines of one message.
        check("one\\\r/a\r", &["one\\\n/a"]);
        check("\x1b[200~one\r/a\x1b[201~\r/b\r", &["one\n/a", "/b"]);
        check("one\x1b\r/a\r", &["one\n/a"]);
    }

    #[test]
    fn a_message_that_is_kept_stays_one() {
        let mut keys = EarlyKeys::default();
        keys.keep_line("one\n/a");
        keys.keep_line("/b");
        keys.keep_message("/c\nd");
        assert_eq!(typed_text(&keys.take_next(&Slashes)), "/c\nd\none\n/a");
        assert_eq!(typed_text(&keys.take_next(&Slashes)), "/b");
    }

    #[test]
    fn what_follows_an_esc_is_text_again() {
        let (pressed, kept) = escapes(&[b"one\x1b", b"two", b"\x1b", b"[A"]);
        assert_eq!(pressed, [true, false, true, false]);
        assert_eq!(kept, b"onetwo[A");
    }

    #[test]
    fn a_paste_stays_one_wherever_it_is_parted_and_whoever_took_its_beginning() {
        let typed = b"\x1b[200~# log\ry\ralways\rsend\r\x1b[201~";
        for at in 1..typed.len() {
            let (first, rest) = typed.split_at(at);
            let mut keys = EarlyKeys::default();
            keys.feed(first);
            // Only the first byte alone can be a key.
            assert_eq!(keys.take_escape(), at == 1, "parted at {at}");
            assert_eq!(keys.longest_stall().is_some(), at > 1, "parted at {at}");
            keys.feed(rest);
            assert_eq!(keys.longest_stall(), None, "parted at {at}");
            assert_eq!(keys.take(), typed, "parted at {at}");
            for take in [
                |keys: &mut EarlyKeys| drop(keys.take()),
                |keys: &mut EarlyKeys| drop(keys.split_off(0)),
                |keys: &mut EarlyKeys| drop(keys.take_next(&Slashes)),
            ] {
                keys.pass(first);
                take(&mut keys);
                keys.feed(b"y\r");
                keys.take();
                assert_eq!(keys.longest_stall().is_some(), at >= 6, "parted at {at}");
                keys.feed(b"\x1b[201~y");
                assert_eq!(keys.longest_stall(), None, "parted at {at}");
                keys.take();
            }
        }
    }

    #[test]
    fn a_paste_that_does_not_end_is_given_up() {
        let mut keys = EarlyKeys::default();
        keys.feed(b"\x1b[200~one\r/a");
        keys.give_up();
        assert_eq!(keys.longest_stall(), None);
        keys.feed(b"\r/b\r");
        assert_eq!(typed_text(&keys.take_next(&Slashes)), "one\n/a");
        assert_eq!(typed_text(&keys.take_next(&Slashes)), "/b");
    }

    #[test]
    fn a_stuck_key_fills_no_memory_and_esc_still_counts() {
        let mut keys = EarlyKeys::default();
        keys.feed(&vec![b'x'; MAX_BYTES + 10]);
        keys.feed(b"\x1b");
        assert!(keys.take_escape());
        assert_eq!(keys.take().len(), MAX_BYTES);
    }
}
