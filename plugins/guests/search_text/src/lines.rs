//! Finds the lines of a text that have a match.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use crate::pattern::Pattern;

/// Bytes that are searched before it is looked whether there is time left: milliseconds for nearly all patterns.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of the beginning that tell whether a file is text.
const HEAD_BYTES: usize = 8 * 1024;

/// A line that has a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// Counted from 1.
    pub number: u64,
    /// Its bytes, without its end.
    pub line: Range<usize>,
    /// The first match in it.
    pub found: Range<usize>,
}

/// Whether a file is not text.
pub fn is_binary(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    memchr(0, head).is_some()
}

/// Hands each line that has a match to `each`, until that is enough or `is_late`. Whether all was searched.
pub fn search(
    pattern: &mut Pattern,
    text: &[u8],
    is_late: &dyn Fn() -> bool,
    mut each: impl FnMut(FoundLine) -> bool,
) -> bool {
    let mut at = 0;
    let mut number = 1;
    // Up to where lines were counted.
    let mut counted = 0;
    while at < text.len() {
        let end = chunk_end(text, at);
        // Nothing at all can match where the last line ends, but behind a line break there is no line.
        let ends_open = end == text.len() && !text.ends_with(b"\n");
        let Some(found) = pattern
            .find(text, at..end)
            .filter(|found| found.start() < end || ends_open)
        else {
            at = end;
            if at < text.len() && is_late() {
                return false;
            }
            continue;
        };
        let before = text.get(at..found.start()).unwrap_or_default();
        let begin = memrchr(b'\n', before).map_or(at, |newline| at + newline + 1);
        let rest = text.get(found.end()..).unwrap_or_default();
        let close = memchr(b'\n', rest).map_or(text.len(), |newline| found.end() + newline);
        let skipped = text.get(counted..begin).unwrap_or_default();
        number += memchr_iter(b'\n', skipped).count() as u64;
        counted = begin;
        let line = begin..close;
        at = close + 1;
        let found = found.range();
        let wants_more = each(FoundLine {
            number,
            line,
            found,
        });
        if !wants_more {
            break;
        }
    }
    true
}

/// Where the lines end that are searched together.
fn chunk_end(text: &[u8], at: usize) -> usize {
    let from = at.saturating_add(CHUNK_BYTES).min(text.len());
    let rest = text.get(from..).unwrap_or_default();
    memchr(b'\n', rest).map_or(text.len(), |newline| from + newline + 1)
}

/// The lines right before a line, at most so many, the nearest last; each without its end.
pub fn before(text: &[u8], line: &Range<usize>, count: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut begin = line.start;
    while lines.len() < count && begin > 0 {
        let end = begin - 1;
        let above = text.get(..end).unwrap_or_default();
        begin = memrchr(b'\n', above).map_or(0, |newline| newline + 1);
        lines.push(begin..end);
    }
    lines.reverse();
    lines
}

/// The lines right behind a line, at most so many; each without its end.
pub fn after(text: &[u8], line: &Range<usize>, count: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut begin = line.end + 1;
    while lines.len() < count && begin < text.len() {
        let rest = text.get(begin..).unwrap_or_default();
        let end = memchr(b'\n', rest).map_or(text.len(), |newline| begin + newline);
        lines.push(begin..end);
        begin = end + 1;
    }
    lines
}
