//! The arguments of a call while they arrive, and whether they are whole so far.
//!
//! Whether a further piece opens another call depends on that, so it has to be known after each piece. To read all of a
//! long text for each piece would take quadratic time: a server could keep Dunlin busy for as long as it likes. So a long
//! text is read only when a scanner, which looks at each byte once, sees that the braces are closed, and only a few
//! times.

use crate::arguments::{self, Arguments};

/// Up to this length, in bytes, a text is read after each piece: it takes some microseconds.
const SHORT_BYTES: usize = 2 * 1024;

/// How often a longer text is read. A value that was closed and could not be read stays so, except that an empty object
/// may come before the real one.
const MAX_READINGS: usize = 4;

/// A text of arguments that grows.
#[derive(Debug, Default)]
pub(super) struct Growing {
    text: String,
    scanner: Scanner,
    readings: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Whole,
    /// Whole whatever follows.
    Settled,
}

impl Growing {
    /// The first piece.
    pub(super) fn of(piece: String) -> Growing {
        let mut growing = Growing::default();
        growing.push(&piece);
        growing
    }

    pub(super) fn push(&mut self, piece: &str) {
        let is_first = self.text.is_empty();
        self.text.push_str(piece);
        let has_closed = self.scanner.feed(piece);
        if self.state == State::Settled {
            return;
        }
        let is_short = self.text.len() <= SHORT_BYTES;
        let is_due = is_first || (has_closed && self.readings < MAX_READINGS);
        if is_short || is_due {
            self.readings += usize::from(!is_short);
            self.state = self.read();
        } else if !self.scanner.is_outside() {
            // Another value has begun behind the empty object.
            self.state = State::Open;
        }
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text so far can be read, and is not empty.
    pub(super) fn is_whole(&self) -> bool {
        self.state != State::Open
    }

    fn read(&self) -> State {
        if self.text.trim().is_empty() {
            return State::Open;
        }
        match arguments::read(&self.text) {
            Arguments::Read(object) if !object.is_empty() => State::Settled,
            Arguments::Read(_) | Arguments::Repaired(_) => State::Whole,
            Arguments::Unfinished | Arguments::Malformed(_) => State::Open,
        }
    }
}

/// Where in a JSON text one is.
#[derive(Debug, Default)]
struct Scanner {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scanner {
    /// Looks at the next piece. Whether a value ended in it.
    fn feed(&mut self, piece: &str) -> bool {
        let mut has_closed = false;
        for byte in piece.bytes() {
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => {
                        self.is_in_string = false;
                        has_closed |= self.depth == 0;
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    has_closed |= self.depth == 1;
                    self.depth = self.depth.saturating_sub(1);
                }
                _ => {}
            }
        }
        has_closed
    }

    fn is_outside(&self) -> bool {
        self.depth == 0 && !self.is_in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text is after each of these pieces: `+` whole, `-` not.
    #[track_caller]
    fn check(pieces: &[&str], expected: &str) {
        let mut growing = Growing::default();
        let seen = pieces.iter().map(|piece| {
            growing.push(piece);
            if growing.is_whole() { '+' } else { '-' }
        });
        assert_eq!(seen.collect::<String>(), expected, "{pieces:?}");
    }

    #[test]
    fn whole_or_not_at_any_length() {
        let long = format!("{{\"a\":\"{}", "}\\\"{".repeat(SHORT_BYTES));
        let blank = " ".repeat(SHORT_BYTES);
        check(&["", " ", "{", "}", "{\"a\"", ":1}", "x"], "---+-++");
        check(&[&long, "\\", "\"", "\"", "}", "{", "}"], "----+++");
        check(&[&blank, "{}", "{\"a\":", "[1]", "}"], "-+--+");
        check(&[&blank, "[1", "]", "{}"], "----");
        check(&[&blank, "\"{}", "\""], "--+");
        check(&[&blank, "{'a'", ":1}"], "--+");
        check(&[&long, "\"}</tool_call>"], "-+");
    }

    #[test]
    fn no_pieces_have_a_long_text_read_again_and_again() {
        for piece in ["x", "}", "\"", "{}", "[]", "{\"a\":{}}"] {
            let mut growing = Growing::of("{\"a\":".to_owned() + &" ".repeat(SHORT_BYTES));
            for _ in 0..100 {
                growing.push(piece);
            }
            assert!(growing.readings <= MAX_READINGS, "{piece}");
        }
    }
}
