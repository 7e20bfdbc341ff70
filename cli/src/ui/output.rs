//! The newest output of a running command, below the line of its call. It goes when the call ends: the model has the
//! output, and the user can look at it whole.

use std::collections::VecDeque;

use super::calls::{self, fit};
use super::stream::Filter;
use super::style::Label;
use super::{Ui, terminal};
use crate::approval::text::BAR;
use crate::turn::CallView;

/// Lines that are shown: enough to see that it moves and where, without pushing the chat away.
const LINES: usize = 5;

/// Characters of a line that are kept; no terminal is wider.
const MAX_LINE_CHARS: usize = 1_000;

/// The last lines of output that comes in pieces.
#[derive(Debug, Default)]
pub struct Tail {
    filter: Filter,
    /// The beginning of a character whose rest has not come yet.
    part: Vec<u8>,
    lines: VecDeque<String>,
    /// The line that is being written, from its start.
    open: String,
}

impl Tail {
    /// Takes the next piece.
    pub fn push(&mut self, bytes: &[u8]) {
        self.part.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.part);
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.part = bytes[whole..].to_vec();
        let text = self.filter.piece(&String::from_utf8_lossy(&bytes[..whole]));
        for piece in text.split_inclusive('\n') {
            let room = MAX_LINE_CHARS.saturating_sub(self.open.chars().count());
            self.open
                .extend(piece.trim_end_matches('\n').chars().take(room));
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.open);
                self.lines.push_back(line);
                if self.lines.len() > LINES {
                    self.lines.pop_front();
                }
            }
        }
    }

    /// The last line that says something.
    pub fn last(&self) -> Option<&str> {
        self.lines().last().copied()
    }

    /// The last lines, the oldest first; empty ones say nothing.
    fn lines(&self) -> Vec<&str> {
        let open = std::iter::once(&self.open);
        let all = self.lines.iter().chain(open).map(|line| line.trim_end());
        let all: Vec<&str> = all.filter(|line| !line.is_empty()).collect();
        all[all.len().saturating_sub(LINES)..].to_vec()
    }
}

impl Ui {
    /// Shows the newest output of a running call below its line.
    pub fn call_output(&self, call: &CallView, tail: &Tail) {
        if self.quiet || !self.redraws || call.state.is_settled() {
            return;
        }
        let (columns, rows) = terminal::size();
        // What scrolls off the screen cannot be taken away again.
        let room = rows.saturating_sub(2);
        let lines = tail.lines();
        let mut text = calls::line(call, self.status_styles, columns);
        for line in &lines[lines.len().saturating_sub(room)..] {
            let line = fit(line, columns.saturating_sub(6));
            // Behind the bar of foreign text: no command can draw a row of Dunlin's own.
            text.push_str("\n  ");
            let line = format!("{BAR}{line}");
            text.push_str(&self.status_styles.paint(Label::Quiet, &line));
        }
        self.draw_live(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_stay() {
        let check = |pieces: &[&[u8]], expected: &[&str]| {
            let mut tail = Tail::default();
            pieces.iter().for_each(|piece| tail.push(piece));
            assert_eq!(tail.lines(), expected);
        };
        check(&[], &[]);
        check(&[b"one\ntw", b"o\n\nthree"], &["one", "two", "three"]);
        check(&[b"1\n2\n3\n4\n5\n6\n7"], &["3", "4", "5", "6", "7"]);
        check(&[b"\x1b[31mred\x1b", b"[0m\n"], &["red"]);
        check(&[b"\xc3", b"\xa4\n\xff\n"], &["\u{e4}", "\u{fffd}"]);
        check(&[b"10%\r20%"], &["10%", "20%"]);
        check(&[b"\x1b]0;title\x07x\n"], &["x"]);
    }
}
