//! The messages among what was typed early: lines that were ended before the user's eyes while a turn ran.

use super::decoder::State;
use super::keys::{EarlyKeys, EarlyLines};
use super::typed_line::{self, TypedLine};

/// Ctrl-E.
const END: u8 = 0x05;

/// The arrow upwards.
const UP: [&[u8]; 2] = [b"\x1b[A", b"\x1bOA"];

impl EarlyKeys {
    /// The line that is being typed, with the cursor.
    pub(super) fn input(&self) -> TypedLine {
        typed_line::edit(self.bytes.get(self.line..).unwrap_or_default())
    }

    /// The lines that are kept: they come back at a prompt, or when the user takes them back.
    pub(super) fn kept(&self) -> Vec<String> {
        let ended = self.bytes.get(self.queued..self.line).unwrap_or_default();
        let kept = self.waiting.iter().map(Vec::as_slice).chain([ended]);
        let lines = kept.flat_map(typed_line::split);
        lines
            .map(|line| typed_line::edit(line).text)
            .filter(|text| !text.trim().is_empty())
            .collect()
    }

    /// The lines that are queued.
    pub(super) fn queued(&self) -> Vec<String> {
        self.queued_lines()
            .map(|line| typed_line::edit(line).text)
            .collect()
    }

    fn queued_lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let queued = self.bytes.get(..self.queued).unwrap_or_default();
        typed_line::split(queued)
            .into_iter()
            .filter(|line| !line.is_empty())
    }

    /// Keeps lines that were ended while something else was asked: they are no messages, and nothing that is typed from now on
    /// becomes a part of them.
    pub(super) fn keep_ended(&mut self) {
        if self.queued == self.line || self.interrupted.is_some() {
            return;
        }
        let ended: Vec<u8> = self.bytes.drain(self.queued..self.line).collect();
        self.line = self.queued;
        if !typed_line::text(&ended).trim().is_empty() {
            self.waiting.push(ended);
        }
    }

    /// Queues the lines that have ended.
    pub(super) fn queue_lines(&mut self) {
        if self.interrupted.is_some() {
            return;
        }
        let ended = self.bytes.get(self.queued..self.line).unwrap_or_default();
        let lines = typed_line::split(ended).into_iter();
        let lines = lines.filter(|line| !typed_line::edit(line).text.trim().is_empty());
        let lines: Vec<u8> = lines.flat_map(|line| [line, b"\n"].concat()).collect();
        let length = lines.len();
        self.bytes.splice(self.queued..self.line, lines);
        self.queued += length;
        self.line = self.queued;
        // What erased itself is nothing, and an arrow behind it finds an empty line.
        if self.state == State::Text && self.line_so_far().is_empty() {
            self.bytes.truncate(self.line);
        }
    }

    /// Queues the line that is being typed, as with Enter. Whether anything is queued then.
    pub(super) fn queue_all(&mut self) -> bool {
        self.keep_ended();
        self.bytes.push(b'\n');
        self.end_line();
        self.queue_lines();
        self.queued > 0
    }

    /// Goes back to the message that was kept last, or else queued, if an arrow upwards is all that was typed so far. It has
    /// several lines where `is_complete` does not hold for the first of them.
    pub(super) fn recall(&mut self, is_complete: &dyn Fn(&str) -> bool) {
        if self.queued != self.line {
            return;
        }
        let typed = self.bytes.get(self.line..).unwrap_or_default();
        let Some(arrow) = UP.iter().find(|arrow| typed.starts_with(arrow)) else {
            return;
        };
        let rest = typed.get(arrow.len()..).unwrap_or_default().to_vec();
        let last = match self.take_kept(is_complete) {
            Some(last) => last,
            None => {
                let lines: Vec<&[u8]> = self.queued_lines().collect();
                let last = lines.get(last_message(&lines, is_complete)..);
                let Some(last) = last.filter(|last| !last.is_empty()) else {
                    return;
                };
                let length: usize = last.iter().map(|line| line.len() + 1).sum();
                let last = in_one_line(last);
                self.queued = self.queued.saturating_sub(length);
                last
            }
        };
        self.line = self.queued;
        self.bytes.truncate(self.line);
        self.bytes.extend([&last, &[END][..], &rest].concat());
    }

    /// The message that was kept last, as one line; given once.
    fn take_kept(&mut self, is_complete: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
        while let Some(kept) = self.waiting.pop() {
            let mut lines: Vec<&[u8]> = typed_line::split(&kept);
            let is_text = |line: &&[u8]| !typed_line::edit(line).text.trim().is_empty();
            lines.retain(is_text);
            if lines.is_empty() {
                continue;
            }
            let last = lines.split_off(last_message(&lines, is_complete));
            if !lines.is_empty() {
                let left = lines.iter().flat_map(|line| [line, &b"\n"[..]].concat());
                let left = left.collect();
                self.waiting.push(left);
            }
            return Some(in_one_line(&last));
        }
        None
    }

    /// Nothing is queued any more: what was comes back with the next line.
    pub(super) fn unqueue(&mut self) {
        self.queued = 0;
    }

    /// The message that was queued first; given once. `None`: there is none, or what stands first is a command or goes on in
    /// the next line.
    pub(super) fn take_message(&mut self, lines: &dyn EarlyLines) -> Option<String> {
        let (mut text, mut length) = (String::new(), 0);
        let is_whole = self.queued_lines().any(|line| {
            length += line.len() + 1;
            text.push_str(&typed_line::edit(line).text);
            text.push('\n');
            lines.is_complete(&text)
        });
        text.pop();
        if !is_whole || lines.is_alone(&text) {
            return None;
        }
        self.remove(length);
        Some(text)
    }

    /// Drops the first so many bytes.
    fn remove(&mut self, length: usize) {
        let length = length.min(self.bytes.len());
        self.line = self.line.saturating_sub(length);
        self.queued = self.queued.saturating_sub(length);
        self.bytes.drain(..length);
    }

    /// Drops the lines that are answers, and says which. A paste of several lines stays whole: none of them was typed to
    /// answer something.
    pub(super) fn drop_answers(&mut self, is_answer: impl Fn(&str) -> bool) -> Vec<String> {
        let mut dropped = Vec::new();
        let mut keep = |line: &str| {
            let drops = is_answer(line);
            if drops {
                dropped.push(line.to_owned());
            }
            !drops
        };
        let mut kept = Vec::new();
        for line in self.queued_lines() {
            if keep(&typed_line::edit(line).text) {
                kept.extend(line);
                kept.push(b'\n');
            }
        }
        let queued = kept.len();
        let others = self.bytes.get(self.queued..self.line).unwrap_or_default();
        for line in typed_line::split(others) {
            let text = typed_line::edit(line).text;
            if !text.trim().is_empty() && keep(&text) {
                kept.extend(line);
                kept.push(b'\n');
            }
        }
        if dropped.is_empty() {
            return dropped;
        }
        let line = kept.len();
        kept.extend(self.bytes.get(self.line..).unwrap_or_default());
        (self.bytes, self.queued, self.line) = (kept, queued, line);
        dropped
    }
}

/// Where the last message of these lines begins.
fn last_message(lines: &[&[u8]], is_complete: &dyn Fn(&str) -> bool) -> usize {
    let (mut begin, mut text) = (0, String::new());
    for (at, line) in lines.iter().enumerate() {
        if is_complete(&text) {
            begin = at;
            text.clear();
        }
        text.push_str(&typed_line::edit(line).text);
        text.push('\n');
    }
    begin
}

/// Lines as one that is being typed.
fn in_one_line(lines: &[&[u8]]) -> Vec<u8> {
    if let [line] = lines {
        return line.to_vec();
    }
    let lines: Vec<String> = lines.iter().map(|it| typed_line::edit(it).text).collect();
    let mut line = EarlyKeys::typed(&lines.join("\n"));
    line.pop_if(|byte| *byte == b'\n');
    line
}

#[cfg(test)]
#[path = "turn_input_tests.rs"]
mod turn_input_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that begin with a slash are commands, and a backslash continues a line.
    struct Slashes;

    impl EarlyLines for Slashes {
        fn is_alone(&self, line: &str) -> bool {
            line.starts_with('/')
        }

        fn is_complete(&self, lines: &str) -> bool {
            !lines.ends_with("\\\n")
        }
    }

    /// Types pieces while a turn runs.
    fn type_in(keys: &mut EarlyKeys, pieces: &[&str]) {
        for piece in pieces {
            keys.keep_ended();
            keys.feed(piece.as_bytes());
            keys.recall(&|lines| Slashes.is_complete(lines));
            keys.queue_lines();
        }
    }

    fn typed(pieces: &[&str]) -> EarlyKeys {
        let mut keys = EarlyKeys::default();
        type_in(&mut keys, pieces);
        keys
    }

    #[test]
    fn enter_queues_a_line() {
        let check = |pieces: &[&str], queued: &[&str], line: &str| {
            let keys = typed(pieces);
            assert_eq!(keys.queued(), queued, "{pieces:?}");
            assert_eq!(keys.input().text, line, "{pieces:?}");
        };
        check(&[], &[], "");
        check(&["fix"], &[], "fix");
        check(&["fix\r"], &["fix"], "");
        check(&["one\rtwo\rthr", "ee"], &["one", "two"], "three");
        check(&["\r", " \r", "\x15\r", "a\x7f\r"], &[], "");
        check(&["one\x1b[D\x1b[D", "\x7f", "O\r"], &["One"], "");
        check(&["on\x1b\re\r"], &["on\ne"], "");
        check(
            &["\x1b[200~one\r", "two\r\x1b[201~", "!\r"],
            &["one\ntwo\n!"],
            "",
        );
        check(&["\x1b[200~one\rtwo"], &[], "one\ntwo");
        check(&["one\r", "two\x15"], &["one"], "");
    }

    #[test]
    fn an_arrow_upwards_takes_the_last_one_back() {
        let check = |pieces: &[&str], queued: &[&str], line: &str, cursor: usize| {
            let keys = typed(pieces);
            assert_eq!(keys.queued(), queued, "{pieces:?}");
            let expected = TypedLine {
                text: line.to_owned(),
                cursor,
            };
            assert_eq!(keys.input(), expected, "{pieces:?}");
        };
        check(&["one\r", "two\x1b[D\r", "\x1b[A"], &["one"], "two", 3);
        check(&["one\rtwo\r", "\x1bOA", "!\r"], &["one", "two!"], "", 0);
        check(&["one\r", "\x1b[A", "\x15", "\x1b[A"], &[], "", 0);
        check(&["one\rtwo\r", "\x1b[A", "\x15", "\x1b[A"], &[], "one", 3);
        check(&["one\r", "x", "\x7f", "\x1b[A"], &[], "one", 3);
        // Only in an empty line.
        check(&["one\r", "two", "\x1b[A"], &["one"], "two", 3);
        check(&["\x1b[A", "one"], &[], "one", 3);
        check(
            &["\x1b[200~one\rtwo\x1b[201~\r", "\x1b[A"],
            &[],
            "one\ntwo",
            7,
        );
    }

    #[test]
    fn messages_are_sent_one_after_the_other() {
        let check = |pieces: &[&str], sent: &[&str], line: &str| {
            let mut keys = typed(pieces);
            let messages: Vec<String> =
                std::iter::from_fn(|| keys.take_message(&Slashes)).collect();
            assert_eq!(messages, sent, "{pieces:?}");
            assert_eq!(keys.input().text, line, "{pieces:?}");
        };
        check(&["one\rtwo\rthr"], &["one", "two"], "thr");
        check(&["one\\\rtwo\rthree\r"], &["one\\\ntwo", "three"], "");
        check(&["\x1b[200~one\r/a\x1b[201~\r"], &["one\n/a"], "");
        // A command waits for the user, and so does what comes after it, and a message that goes on.
        check(&["one\r/a\rtwo\r"], &["one"], "");
        check(&["one\\\rtw"], &[], "tw");
    }

    /// Lines that a question took the keys of, and `one` that was queued before.
    fn kept() -> EarlyKeys {
        let mut keys = typed(&["one\rtw"]);
        keys.feed(b"o\rthree\r");
        keys.keep_line("four\nlines");
        keys
    }

    #[test]
    fn what_was_ended_elsewhere_is_kept_apart() {
        let mut keys = kept();
        assert_eq!(keys.queued(), ["one"]);
        assert_eq!(keys.kept(), ["two", "three", "four\nlines"]);
        assert_eq!(keys.input().text, "");
        type_in(&mut keys, &["new", "\r", "ne"]);
        assert_eq!(keys.kept(), ["two", "three", "four\nlines"]);
        assert_eq!(keys.queued(), ["one", "new"]);
        assert_eq!(keys.input().text, "ne");
        // A line that is being typed comes first, and what is kept by itself.
        let given = [(); 4].map(|()| match keys.take_message(&Slashes) {
            Some(message) => message,
            None => typed_line::text(&keys.take_next(&Slashes)),
        });
        assert_eq!(given, ["one", "new", "ne", "two\nthree\nfour\nlines"]);
        assert_eq!(keys.kept(), [""; 0]);
    }

    #[test]
    fn an_arrow_upwards_takes_what_is_kept_back_first() {
        let mut keys = kept();
        type_in(&mut keys, &["\x1b[A", "!\r"]);
        assert_eq!(keys.queued(), ["one", "four\nlines!"]);
        assert_eq!(keys.kept(), ["two", "three"]);
        type_in(&mut keys, &["\x1b[A", "\x15", "\x1b[A", "\x15", "\x1b[A"]);
        assert_eq!(keys.queued(), ["one"]);
        assert_eq!(keys.kept(), [""; 0]);
        assert_eq!(keys.input().text, "four\nlines!");
    }

    #[test]
    fn an_arrow_upwards_takes_all_lines_of_a_message_back() {
        let mut keys = EarlyKeys::default();
        keys.feed(b"one\rtwo\\\rthree\\\rfour\r");
        type_in(&mut keys, &["\x1b[A"]);
        assert_eq!(keys.input().text, "two\\\nthree\\\nfour");
        assert_eq!(keys.kept(), ["one"]);
        type_in(&mut keys, &["!\r", "\x1b[A"]);
        assert_eq!(keys.queued(), ["two\\\nthree\\\nfour!"]);
        assert_eq!(keys.input().text, "one");
        type_in(&mut keys, &["\x15", "\x1b[A"]);
        assert_eq!(keys.input().text, "two\\\nthree\\\nfour!");
        let mut keys = typed(&["one\r", "two\\\rthree\r", "\x1b[A", "!"]);
        assert_eq!(keys.queued(), ["one"]);
        assert_eq!(keys.input().text, "two\\\nthree!");
        type_in(&mut keys, &["\r"]);
        assert_eq!(keys.take_message(&Slashes).as_deref(), Some("one"));
        assert_eq!(
            keys.take_message(&Slashes).as_deref(),
            Some("two\\\nthree!")
        );
    }

    #[test]
    fn esc_queues_what_is_being_typed() {
        let mut keys = EarlyKeys::default();
        assert!(!keys.queue_all());
        type_in(&mut keys, &["one\rtw\x1b"]);
        assert!(keys.take_escape() && keys.queue_all());
        assert_eq!(keys.queued(), ["one", "tw"]);
        assert_eq!(keys.input().text, "");
        let mut keys = EarlyKeys::default();
        keys.keep_line("kept");
        assert!(!keys.queue_all(), "whoever ended it wanted to answer");
        assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "kept");
    }

    #[test]
    fn what_is_not_sent_comes_back_in_order() {
        let mut keys = typed(&["one\rtwo\rthr"]);
        keys.unqueue();
        assert_eq!(keys.take_message(&Slashes), None);
        assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "one\ntwo\nthr");
        let mut keys = typed(&["one\r"]);
        keys.keep_message("not sent");
        assert_eq!(keys.take_message(&Slashes), None);
        assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "not sent\none");
    }

    #[test]
    fn answers_are_dropped_and_pastes_stay_whole() {
        let mut keys = typed(&["y\rone\r\x1b[200~a\ry\x1b[201~\r"]);
        keys.feed(b"\x1b[200~b\ry\rc\x1b[201~\ry\r");
        let dropped = keys.drop_answers(|line| line == "y");
        assert_eq!(dropped, ["y", "y"]);
        assert_eq!(keys.queued(), ["one", "a\ny"]);
        assert_eq!(keys.kept(), ["b\ny\nc"]);
        assert_eq!(keys.drop_answers(|line| line == "y"), [""; 0]);
    }
}
