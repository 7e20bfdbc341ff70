//! The answer to an edit: what changed, and where the new lines stand now.

use std::fmt::Write as _;

use dunlin_sdk::Error;
use dunlin_sdk::files::{Edited, Line};

use crate::places::Place;

/// Lines around each edit that are shown with it.
const CONTEXT_LINES: u64 = 3;

/// Lines of the answer. The model wrote the new lines itself and needs their numbers, not their text.
const MAX_LINES: u64 = 120;

/// New lines of one edit that are shown from either end.
const MAX_END_LINES: u64 = 10;

/// Bytes of one line that are shown.
pub const MAX_LINE_BYTES: u32 = 500;

/// Bytes that are fetched from the host at once.
pub const MAX_BYTES: u32 = 256 * 1024;

/// Lines of the new file, `first..end`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    first: u64,
    end: u64,
}

/// What the model is told. `read` gives lines of the file as it is now: the first, and how many.
///
/// The edit has happened: if the lines cannot be read, that is said and nothing else is wrong.
pub fn report(
    path: &str,
    places: &[Place],
    edited: Edited,
    mut read: impl FnMut(u64, u32) -> Result<Vec<Line>, Error>,
) -> String {
    let mut text = if edited.created {
        format!("Created '{path}' with {}.\n", lines(edited.lines_after))
    } else {
        format!(
            "Edited '{path}': {} before, {} now. The numbers below are the new ones.\n",
            lines(edited.lines_before),
            lines(edited.lines_after)
        )
    };
    if edited.created {
        return text;
    }
    let mut shown = 0;
    let mut next = 1;
    for piece in pieces(places, edited.lines_after) {
        if shown >= MAX_LINES {
            text.push_str("[more changes not shown; read the file to see them]\n");
            return text;
        }
        if piece.first > next {
            text.push_str("...\n");
        }
        // At most some dozens, by the constants above.
        let count = u32::try_from(piece.end - piece.first).unwrap_or(u32::MAX);
        match read(piece.first, count) {
            Ok(lines) => {
                for (number, line) in (piece.first..).zip(&lines) {
                    push(&mut text, number, line);
                }
            }
            Err(error) => {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "[the new lines cannot be shown: {error}]");
                return text;
            }
        }
        shown += piece.end - piece.first;
        next = piece.end;
    }
    if next <= edited.lines_after {
        text.push_str("...\n");
    }
    text
}

/// The lines of a file that are worth showing: those of each place, or both ends of them, with some around; what touches is
/// joined.
fn pieces(places: &[Place], lines_after: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut push = |first: u64, end: u64| {
        let first = first.max(1);
        let end = end.min(lines_after + 1);
        match pieces.last_mut() {
            Some(last) if first <= last.end => last.end = last.end.max(end),
            _ if first < end => pieces.push(Piece { first, end }),
            _ => {}
        }
    };
    for &Place { first, lines } in places {
        let end = first + lines;
        if lines > 2 * MAX_END_LINES {
            push(first.saturating_sub(CONTEXT_LINES), first + MAX_END_LINES);
            push(end - MAX_END_LINES, end + CONTEXT_LINES);
        } else {
            push(first.saturating_sub(CONTEXT_LINES), end + CONTEXT_LINES);
        }
    }
    pieces
}

fn push(text: &mut String, number: u64, line: &Line) {
    // A byte order mark belongs to no line.
    let shown = match number {
        1 => line.text.trim_start_matches('\u{feff}'),
        _ => &line.text,
    };
    let more = if line.omitted_bytes > 0 { "…" } else { "" };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{number:>6}\t{shown}{more}");
}

fn lines(count: u64) -> String {
    match count {
        0 => "no lines".to_owned(),
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
