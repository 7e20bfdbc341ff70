//! What a component prints: lines of the log, as if it had said them there.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use super::last_words::{LastWords, reason};
use crate::limits::{MAX_LOG_MESSAGE_BYTES, MAX_LOG_MESSAGES};

/// Bytes that one write takes. What WASI's own hosts take, too.
pub(super) const PERMIT_BYTES: usize = 64 * 1024;

/// A terminal. There is none, so nobody ever holds one.
pub enum NoTerminal {}

/// Of which of the two a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

/// What both have been given until now. Bounded like the log: no more lines, and none longer.
#[derive(Debug, Default)]
pub(crate) struct Output(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The oldest go: where a program fails, the reason stands at the end.
    lines: VecDeque<(Source, String)>,
    dropped: usize,
    /// What has no end of line yet.
    open: [Vec<u8>; 2],
}

impl Output {
    pub(super) fn write(&self, source: Source, bytes: &[u8]) {
        let mut state = self.state();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let open = &mut state.open[source as usize];
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = MAX_LOG_MESSAGE_BYTES.saturating_sub(open.len());
            open.extend(&text[..text.len().min(room)]);
            if ends {
                state.close(source);
            }
        }
    }

    /// All lines, those without an end included, and how many were dropped. Nothing is left.
    pub(crate) fn take(&self) -> (VecDeque<(Source, String)>, usize) {
        let mut state = self.state();
        for source in [Source::Stdout, Source::Stderr] {
            if !state.open[source as usize].is_empty() {
                state.close(source);
            }
        }
        (
            std::mem::take(&mut state.lines),
            std::mem::take(&mut state.dropped),
        )
    }

    /// What says on the standard error why a program ended.
    pub(crate) fn last_words(&self) -> Option<LastWords> {
        let state = self.state();
        let open = String::from_utf8_lossy(&state.open[Source::Stderr as usize]);
        let said = state.lines.iter();
        let said = said.filter(|(source, _)| *source == Source::Stderr);
        let mut lines: Vec<&str> = said.map(|(_, line)| line.as_str()).collect();
        lines.extend(Some(open.as_ref()));
        reason(&lines)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn close(&mut self, source: Source) {
        let line = std::mem::take(&mut self.open[source as usize]);
        if self.lines.len() == MAX_LOG_MESSAGES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        self.lines.push_back((source, line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_last_ones_stay() {
        let output = Output::default();
        output.write(Source::Stdout, b"one\ntw");
        output.write(Source::Stderr, b"Traceback:\n  boom\n\n");
        output.write(Source::Stdout, b"o\n");
        assert_eq!(output.last_words().unwrap().text, "boom");
        output.write(Source::Stderr, &vec![b'x'; 3 * MAX_LOG_MESSAGE_BYTES]);
        let (lines, dropped) = output.take();
        let texts: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(texts[..5], ["one", "Traceback:", "  boom", "", "two"]);
        assert_eq!(texts[5].len(), MAX_LOG_MESSAGE_BYTES);
        assert_eq!(dropped, 0);

        for _ in 0..MAX_LOG_MESSAGES {
            output.write(Source::Stdout, b"again\n");
        }
        output.write(Source::Stdout, b"last\n");
        let (lines, dropped) = output.take();
        assert_eq!((lines.len(), dropped), (MAX_LOG_MESSAGES, 1));
        assert_eq!(lines[lines.len() - 1].1, "last");
    }
}
