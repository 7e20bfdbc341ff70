//! A message that a question took the place of while it was typed.
//!
//! It is a line that was begun before the question (`open_line`): what is typed goes on with it until the user ends it. It
//! stays what it was otherwise, so that it can stand in its line again: with several lines, and with words for folded pastes.

use super::decoder::{PASTE_END, PASTE_MARK};
use super::typed_line;

/// The message, with the cursor between both parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InterruptedLine {
    before: String,
    after: String,
    /// Whether Backspace does not reach into it: a part of a word stands for nothing.
    is_whole: bool,
    is_open: bool,
}

impl InterruptedLine {
    pub(super) fn new((before, after): (String, String), is_whole: bool) -> InterruptedLine {
        InterruptedLine {
            before,
            after,
            is_whole,
            is_open: true,
        }
    }

    /// Whether the user has not ended it yet.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// All of it, with what was typed since.
    pub(super) fn with(&self, typed: &[u8]) -> String {
        self.before_cursor(typed) + &self.after
    }

    /// The user has ended it, and typed this before.
    pub(super) fn end(&mut self, typed: &[u8]) {
        self.before = self.before_cursor(typed);
        self.is_open = false;
    }

    /// The user drops it. What is typed from now on is a new line in its place.
    pub(super) fn erase(&mut self) {
        self.before.clear();
        self.after.clear();
    }

    fn before_cursor(&self, typed: &[u8]) -> String {
        if self.is_whole || typed.is_empty() {
            return format!("{}{}", self.before, typed_line::text(typed));
        }
        let before = self.before.as_bytes();
        typed_line::text(&[PASTE_MARK, before, PASTE_END, typed].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::EarlyKeys;
    use super::*;

    fn interrupted(before: &str, after: &str, is_whole: bool) -> EarlyKeys {
        let mut keys = EarlyKeys::default();
        let parts = (before.to_owned(), after.to_owned());
        keys.interrupt(InterruptedLine::new(parts, is_whole));
        keys
    }

    #[test]
    fn a_message_is_open_until_it_is_ended_and_comes_back() {
        let check = |parts: (&str, &str), typed: &str, open: Option<&str>, kept: (&str, &str)| {
            // However it is parted.
            for at in (0..=typed.len()).filter(|at| typed.is_char_boundary(*at)) {
                let (first, rest) = typed.split_at(at);
                let mut keys = interrupted(parts.0, parts.1, false);
                keys.feed(first.as_bytes());
                keys.feed(rest.as_bytes());
                assert_eq!(keys.open_line().as_deref(), open, "{typed:?}");
                let message = keys.take_interrupted().unwrap();
                let others = typed_line::text(&keys.take());
                assert_eq!((message.as_str(), others.as_str()), kept, "{typed:?}");
                assert_eq!(keys.take_interrupted(), None);
            }
        };
        let bar = ("make the bar", "");
        check(bar, "", Some("make the bar"), ("make the bar", ""));
        check(bar, "s", Some("make the bars"), ("make the bars", ""));
        check(bar, "s\r", None, ("make the bars", ""));
        check(bar, "s\ry\r", None, ("make the bars", "y"));
        check(bar, "\rgo", Some("go"), ("make the bar", "go"));
        check(
            bar,
            "\x7f\x7fox",
            Some("make the box"),
            ("make the box", ""),
        );
        check(bar, "\x15", None, ("", ""));
        check(bar, "\x15go\r", None, ("go", ""));
        check(("say ", " here"), "so\r", None, ("say so here", ""));
        check(("", "s"), "\x7fye", Some("yes"), ("yes", ""));
        // Until the user types something, nothing is open.
        check(("", ""), "", None, ("", ""));
        check(("", ""), "s", Some("s"), ("s", ""));
        check(("one\n", "two"), "", Some("one\ntwo"), ("one\ntwo", ""));
        check(("one\ntw", ""), "o\r", None, ("one\ntwo", ""));
        let pasted = "\x1b[200~one\ry\r\x1b[201~s\r";
        check(bar, pasted, None, ("make the barone\ny\ns", ""));
    }

    #[test]
    fn a_word_for_a_paste_stays_whole() {
        let mut keys = interrupted("see [pasted 1: 9 lines]", "", true);
        keys.feed(b" an\x7f\x7f\x7f\x7f\x7fnow");
        let whole = "see [pasted 1: 9 lines]now";
        assert_eq!(keys.open_line().as_deref(), Some(whole));
        keys.feed(b"\r");
        assert_eq!(keys.open_line(), None);
        assert_eq!(keys.take_interrupted().as_deref(), Some(whole));
    }

    #[test]
    fn what_was_typed_before_is_no_part_of_the_message() {
        let mut keys = EarlyKeys::default();
        keys.feed(b"one\rtw");
        let parts = ("a message".to_owned(), String::new());
        keys.interrupt(InterruptedLine::new(parts, false));
        keys.feed(b"s\r");
        assert_eq!(keys.take_interrupted().as_deref(), Some("a messages"));
        assert_eq!(typed_line::text(&keys.take()), "one\ntw");
    }
}
