//! The last lines of output that comes in pieces.

use std::collections::VecDeque;

use super::stream::Filter;

/// Lines that are shown: enough to see that it moves and where, without pushing the chat away.
const LINES: usize = 5;

/// Bytes of the newest output that are kept for a model whose call is interrupted.
const MAX_TEXT_BYTES: usize = 16 * 1024;

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
    /// Bytes of `lines`.
    bytes: usize,
    /// Whether lines before these are gone.
    pub(super) is_cut: bool,
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
                self.bytes += line.len() + 1;
                self.lines.push_back(line);
                while self.bytes > MAX_TEXT_BYTES {
                    let Some(line) = self.lines.pop_front() else {
                        break;
                    };
                    self.bytes -= line.len() + 1;
                    self.is_cut = true;
                }
            }
        }
    }

    /// The last line that says something.
    pub fn last(&self) -> Option<&str> {
        self.lines().last().copied()
    }

    /// All that is kept, as text; `None`: nothing was printed.
    pub fn text(&self) -> Option<String> {
        let mark = self.is_cut.then_some("…");
        let lines = self.lines.iter().chain([&self.open]).map(String::as_str);
        let text = mark.into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then_some(text)
    }

    /// The last lines, the oldest first; empty ones say nothing.
    pub(super) fn lines(&self) -> Vec<&str> {
        self.all()
            .take(LINES)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect()
    }

    /// The lines that say something, the newest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        let open = std::iter::once(&self.open);
        let lines = open.chain(self.lines.iter().rev());
        lines
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty())
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
