//! What is typed during a turn: text that is kept for the next message, and the keys that act at once: Esc ends
//! the turn, Ctrl-V shows or hides its steps, Shift+Tab chooses the next mode.
//!
//! Esc is one byte, and so do arrows, keys with Alt and pasted text begin. What tells them apart is what
//! follows within a moment, which only whoever watches the clock can say: [`EarlyKeys::waits`] tells how long
//! to wait, [`EarlyKeys::take_escape`] that nothing came.

use std::time::Duration;

use super::decoder::{PASTE_END, PASTE_MARK, State};
use super::interrupted_line::InterruptedLine;
use super::typed_line;

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

/// Shift+Tab.
const BACK_TAB: &[u8] = b"\x1b[Z";

/// The keys among what was typed that act at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActingKeys {
    /// Whether the steps are to be turned on or off: Ctrl-V.
    pub steps: bool,
    /// How often the next mode was chosen: Shift+Tab.
    pub modes: usize,
}

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
    pub(super) bytes: Vec<u8>,
    /// Up to where they are messages that are sent after the turn: lines that were ended before the user's eyes. Lines
    /// behind them were ended while something else was asked.
    pub(super) queued: usize,
    /// Where in them the line begins that is being typed: behind the last Enter that was a key.
    pub(super) line: usize,
    /// A message that was being typed. As long as it is open, that line goes on with it.
    pub(super) interrupted: Option<InterruptedLine>,
    /// Lines that were ended for a question, or before a prompt that begins with others; each list is text of one prompt. They
    /// come back with a later one: nothing that is typed since becomes a part of them.
    pub(super) waiting: Vec<Vec<u8>>,
    /// What the terminal is in the middle of, whoever got the bytes.
    pub(super) state: State,
}

impl EarlyKeys {
    /// Takes in what was typed. In pasted text no key acts.
    pub fn feed(&mut self, typed: &[u8]) -> ActingKeys {
        let mut acting = ActingKeys::default();
        for &byte in typed {
            let is_key = matches!(self.state, State::Text | State::Late(_));
            match byte {
                CTRL_V if is_key => {
                    acting.steps = !acting.steps;
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
            let ends_sequence = matches!(before, State::Control(_)) && self.state == State::Text;
            if ends_sequence && self.bytes.ends_with(BACK_TAB) {
                let begin = self.bytes.len() - BACK_TAB.len();
                self.bytes.truncate(begin);
                self.line = self.line.min(begin);
                acting.modes += 1;
            }
        }
        acting
    }

    /// Enter was pressed, and taken in.
    pub(super) fn end_line(&mut self) {
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

    pub(super) fn line_so_far(&self) -> String {
        let typed = self.bytes.get(self.line..).unwrap_or_default();
        match self.interrupted().filter(|it| it.is_open()) {
            Some(message) => message.with(typed),
            None => typed_line::text(typed),
        }
    }

    /// Where that line begins.
    pub(super) fn line_start(&self) -> usize {
        self.line
    }

    /// The lines that were typed behind so many bytes.
    pub(super) fn lines_from(&self, at: usize) -> Vec<String> {
        let lines = typed_line::split(self.bytes.get(at..).unwrap_or_default());
        lines
            .into_iter()
            .map(|line| typed_line::edit(line).text)
            .collect()
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
        // What was begun before is another line.
        if self.line < self.bytes.len() {
            self.bytes.push(b'\n');
            self.end_line();
        }
        self.bytes.extend(EarlyKeys::typed(line));
        self.line = self.bytes.len();
    }

    /// Adds a message that was not sent before everything that was typed since, of which nothing is sent by itself then.
    pub fn keep_message(&mut self, text: &str) {
        self.put_back(EarlyKeys::typed(text));
    }

    /// A text as if it was typed. Of several lines, as of a paste, none is a line of its own.
    pub(super) fn typed(line: &str) -> Vec<u8> {
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
        self.queued = self.queued.min(at);
        self.bytes.split_off(at)
    }

    /// What was typed for the next line, given once: a line that is a command by itself, or all lines up to such a one. A line
    /// that has not ended is still being typed: where it belongs to none before it, it comes first. The others wait for the
    /// lines after that; what is typed until then comes before them.
    pub fn take_next(&mut self, lines: &dyn EarlyLines) -> Vec<u8> {
        let typed = match self.take() {
            typed if typed.is_empty() && !self.waiting.is_empty() => {
                let typed = self.waiting.remove(0);
                return self.next_of(typed, 0, lines);
            }
            typed => typed,
        };
        self.next_of(typed, self.waiting.len(), lines)
    }

    /// The next of these lines; what is left of them waits at this place.
    fn next_of(&mut self, typed: Vec<u8>, place: usize, lines: &dyn EarlyLines) -> Vec<u8> {
        let (next, left) = next_line(typed, lines);
        if !left.is_empty() {
            self.waiting.insert(place, left);
        }
        next
    }

    /// Has lines wait for the prompt after the next one.
    pub(super) fn wait_first(&mut self, typed: Vec<u8>) {
        self.waiting.insert(0, typed);
    }

    /// How many lines wait.
    pub(super) fn count_waiting(&self) -> usize {
        let lines = self.waiting.iter().flat_map(|it| typed_line::split(it));
        lines.filter(|line| !line.is_empty()).count()
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
            let line = typed_line::text(self.bytes.get(begin..at).unwrap_or_default());
            if !line.contains('\n') && wanted(&line) {
                self.bytes.drain(begin..=at);
                let length = at + 1 - begin;
                self.line = self.line.saturating_sub(length);
                if at < self.queued {
                    self.queued = self.queued.saturating_sub(length);
                }
                return Some(line);
            }
            begin = at + 1;
        }
        None
    }

    /// Puts back what was taken for the next line. Nothing is sent by itself then.
    pub fn put_back(&mut self, typed: Vec<u8>) {
        self.unqueue();
        // A line that had not ended is still being typed.
        if !self.bytes.is_empty() || matches!(typed.last(), Some(b'\r' | b'\n')) {
            self.line += typed.len();
        }
        self.bytes.splice(0..0, typed);
    }

    /// Everything that was typed, given once.
    pub fn take(&mut self) -> Vec<u8> {
        (self.line, self.queued) = (0, 0);
        std::mem::take(&mut self.bytes)
    }
}

/// The next line of what was typed, and what is left of that.
fn next_line(mut typed: Vec<u8>, lines: &dyn EarlyLines) -> (Vec<u8>, Vec<u8>) {
    let mut next = String::new();
    let (mut state, mut begin, mut first) = (State::Text, 0, None);
    for (at, byte) in typed.iter().enumerate() {
        let ends = state == State::Text && matches!(byte, b'\r' | b'\n');
        state = state.after(*byte);
        let is_last = at + 1 == typed.len();
        if !ends && !is_last {
            continue;
        }
        let line = typed_line::text(typed.get(begin..=at).unwrap_or_default());
        let is_alone = lines.is_alone(&line) && lines.is_complete(&next);
        let is_first = next.trim().is_empty();
        if first.is_none() && is_alone && !is_first {
            first = Some(begin);
        } else if first.is_none() && is_alone && !is_last {
            first = Some(at + 1);
        }
        if is_last && !ends && first.is_some() {
            let open = typed.split_off(begin);
            return (open, typed);
        }
        next = format!("{next}{line}\n");
        begin = at + 1;
    }
    let left = first.map_or_else(Vec::new, |first| typed.split_off(first));
    (typed, left)
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
