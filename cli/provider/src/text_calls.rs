//! Recovers calls that a model has written into its text.
//!
//! Models that were not trained for the server's template, and servers that do not know the model's, let a
//! call through as text. It is taken for a call only where nothing speaks against that:
//!
//! - there is no call of the protocol in the reply, and the reply is whole;
//! - it is the whole message, or its end: an object, a fence or a pair of tags; an example with an explanation
//!   behind it stays text;
//! - it names a tool that was offered, and its arguments fit the tool's schema;
//! - if there are several, all that holds for each.
//!
//! Text is held back only while it can still become such calls, and `reader` sees early that it cannot: at the
//! first wrong key or name. What was held back is then printed as it was written, to the byte.
//! However the text is cut into pieces, the same comes out.

mod reader;

use std::sync::Arc;

use dunlin_host::Tool;
use serde_json::{Map, Value};

use super::markdown::Code;
use reader::{Reader, Verdict};

/// The longest text that is held back, in bytes. The largest real calls write a file of some ten
/// thousand lines.
const MAX_HELD_BYTES: usize = 1024 * 1024;

/// How many beginnings may come to nothing before nothing is looked for any more. Each was read again from its
/// start; a reply has as many as it has blocks of code.
const MAX_REFUSED: usize = 256;

/// How much is taken at once, so that it makes no difference whether a server sends a book in one piece.
const SLICE_BYTES: usize = 4 * 1024;

/// The longest white space at the start of a reply that is held back, in bytes.
const MAX_BLANK_BYTES: usize = 4096;

/// What a call within tags begins with, wherever it stands.
const TAGS: [&str; 9] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function=",
    "<|tool_call|>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜>",
];

/// What else a message that is a call and nothing else begins with.
const STARTS: [&str; 4] = ["{", "[", "functions.", "<|python_tag|>"];

/// What a call in JSON begins with.
const OBJECT: char = '{';

/// A fence may be longer, and be made of tildes; models write this one.
const FENCE: &str = "```";

/// A call that was written as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// The tool's name.
    pub tool: String,
    /// Arguments that fit its schema.
    pub arguments: Map<String, Value>,
}

/// Reads the text of one reply.
#[derive(Debug)]
pub struct TextCalls {
    tools: Arc<[Tool]>,
    /// What may become a call, from its beginning on; or the end of the text that may be the beginning.
    held: String,
    state: State,
    code: Code,
    /// Whether anything but white space was let through.
    spoken: bool,
    /// The last character that was let through.
    before: char,
    /// How many beginnings came to nothing.
    refused: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looking for a beginning.
    Text,
    /// What is held may become calls; it is looked at again when it has so many bytes.
    Held { look_at: usize },
    /// Nothing is looked for.
    Off,
}

impl TextCalls {
    /// For a reply to a request that offered these tools.
    pub fn new(tools: Arc<[Tool]>) -> TextCalls {
        TextCalls {
            held: String::new(),
            state: if tools.is_empty() {
                State::Off
            } else {
                State::Text
            },
            tools,
            code: Code::default(),
            spoken: false,
            before: '\n',
            refused: 0,
        }
    }

    /// Takes the next piece, and adds to `out` what is text for sure.
    pub fn text(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (slice, behind) = rest.split_at(rest.floor_char_boundary(SLICE_BYTES));
            self.held.push_str(slice);
            while self.advance(false, out) {}
            rest = behind;
        }
    }

    /// Looks for nothing any more: there are calls of the protocol.
    pub fn off(&mut self, out: &mut String) {
        self.state = State::Off;
        out.push_str(&std::mem::take(&mut self.held));
    }

    /// What came so far was not an answer: the answer begins now.
    pub fn begin_anew(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.held));
        if self.state != State::Off {
            *self = TextCalls {
                refused: self.refused,
                ..TextCalls::new(Arc::clone(&self.tools))
            };
        }
    }

    /// The text is over. `whole`: the reply is complete, and has no other calls.
    pub fn end(&mut self, whole: bool, out: &mut String) -> Vec<Recovered> {
        if whole {
            // What is refused may hold another beginning.
            while self.advance(true, out) {}
            if matches!(self.state, State::Held { .. })
                && let Verdict::Calls(calls) = self.read(true)
            {
                self.held.clear();
                return calls;
            }
        }
        self.off(out);
        Vec::new()
    }

    /// Does one step; `false` once more text is needed. `last`: there will be none.
    fn advance(&mut self, last: bool, out: &mut String) -> bool {
        match self.state {
            State::Off => {
                out.push_str(&std::mem::take(&mut self.held));
                false
            }
            State::Text => self.look_for_beginning(last, out),
            State::Held { look_at } => {
                if !last && self.held.len() < look_at {
                    return false;
                }
                if self.held.len() > MAX_HELD_BYTES {
                    self.state = State::Off;
                    return true;
                }
                match self.read(last) {
                    Verdict::Wrong(_) if self.refused == MAX_REFUSED => {
                        self.state = State::Off;
                        true
                    }
                    Verdict::Wrong(at) => {
                        self.refused += 1;
                        // Goes on behind the place where it went wrong; what lies before was read as the
                        // beginning of a call, and no other one begins in it.
                        let first = self.held.chars().next().map_or(0, char::len_utf8);
                        let end = self.held.ceil_char_boundary(at.max(first));
                        self.state = State::Text;
                        self.let_through(end, out);
                        true
                    }
                    // Looking at all of it with every piece would take time by the square of its length.
                    Verdict::Open | Verdict::Calls(_) => {
                        let look_at = self.held.len() + 1 + self.held.len() / 16;
                        self.state = State::Held { look_at };
                        false
                    }
                }
            }
        }
    }

    fn read(&self, last: bool) -> Verdict {
        let bare = !self.spoken || self.held.starts_with(OBJECT);
        Reader::new(&self.held, &self.tools, bare, last).read()
    }

    /// Lets everything through up to where calls may begin; `false` where that cannot be told yet, or there is
    /// nothing left.
    fn look_for_beginning(&mut self, last: bool, out: &mut String) -> bool {
        if !self.spoken {
            // White space before a call goes with the call.
            let blank = self.held.len() - self.held.trim_start().len();
            if blank == self.held.len() {
                if blank > MAX_BLANK_BYTES {
                    self.let_through(blank, out);
                }
                return false;
            }
            return match self.beginning(&self.held[blank..], '\n') {
                Beginning::Whole => {
                    self.state = State::Held { look_at: 0 };
                    true
                }
                Beginning::Part if !last => false,
                _ => {
                    let first = self.held[blank..].chars().next();
                    self.let_through(blank + first.map_or(0, char::len_utf8), out);
                    self.spoken = true;
                    true
                }
            };
        }
        let mut at = 0;
        let mut begun = false;
        while let Some(c) = self.held[at..].chars().next() {
            match self.beginning(&self.held[at..], self.before) {
                Beginning::Whole => {
                    self.state = State::Held { look_at: 0 };
                    begun = true;
                    break;
                }
                Beginning::Part if !last => break,
                _ => {}
            }
            self.code.next(c);
            self.before = c;
            at += c.len_utf8();
        }
        out.extend(self.held.drain(..at));
        begun
    }

    /// Whether calls may begin with this, behind that character.
    fn beginning(&self, text: &str, before: char) -> Beginning {
        if self.spoken && !text.starts_with(['<', '[', '`', OBJECT]) {
            return Beginning::No;
        }
        // Behind prose an object may follow, on a line of its own: within one it is an example.
        let is_object = before == '\n' && !self.code.inside();
        if self.spoken && text.starts_with(OBJECT) {
            return match is_object {
                true => Beginning::Whole,
                false => Beginning::No,
            };
        }
        let tags = TAGS.iter().filter(|_| !self.code.inside());
        let fence = self.code.at_line_start() && !self.code.inside_fence();
        let fence = [FENCE].into_iter().filter(|_| fence);
        let starts = STARTS.iter().filter(|_| !self.spoken);
        let mut known = tags.chain(starts).copied().chain(fence);
        if known.clone().any(|known| text.starts_with(known)) {
            Beginning::Whole
        } else if known.any(|known| known.starts_with(text)) {
            Beginning::Part
        } else {
            Beginning::No
        }
    }

    fn let_through(&mut self, end: usize, out: &mut String) {
        let text: String = self.held.drain(..end).collect();
        self.code.pass(&text);
        self.before = text.chars().next_back().unwrap_or(self.before);
        self.spoken |= !text.trim().is_empty();
        out.push_str(&text);
    }
}

enum Beginning {
    Whole,
    /// As far as there is text.
    Part,
    No,
}

#[cfg(test)]
mod tests;
