//! Applies edits to the bytes of a file, the way a person's editor would.
//!
//! Lines that no edit names keep every byte. New lines get the ending that most lines of the file have.
//! The last line of a file may lack its newline; new last lines are as they were given then, and complete
//! everywhere else. A byte order mark stays where it is and belongs to no line.

use std::ops::Range;

use memchr::memchr;

use super::texts::TextError;

/// Bytes of a file that can be edited, before and after: texts that people write are smaller by far, and
/// everything here happens in memory.
pub const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;

/// What some editors put before the first line.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// One change: the lines `first..end` are replaced. Lines count from 1, all of them before any edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// The first line that goes. The same as `end` inserts before it; one behind the last line appends.
    pub first: u64,
    /// The first line that stays.
    pub end: u64,
    /// Whole lines; the newline behind the last of them may be left out. Empty removes.
    pub replacement: String,
}

/// A file after its edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Its content.
    pub bytes: Vec<u8>,
    /// How many lines it had.
    pub lines_before: u64,
    /// How many it has.
    pub lines_after: u64,
}

/// Why edits cannot be applied. Edits are named by their number, which counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Nothing to do.
    #[error("there is no edit in the list")]
    Empty,
    /// Lines count from 1.
    #[error("edit {number} [{first}, {end}] names line 0; lines count from 1")]
    Zero {
        /// Which edit.
        number: usize,
        /// Its range.
        first: u64,
        /// Its range.
        end: u64,
    },
    /// The range runs backwards.
    #[error(
        "edit {number} [{first}, {end}] ends before it starts; the end is the first line that stays"
    )]
    Backwards {
        /// Which edit.
        number: usize,
        /// Its range.
        first: u64,
        /// Its range.
        end: u64,
    },
    /// A line behind the last one.
    #[error(
        "edit {number} [{first}, {end}] is out of range: the file has {}, so the end is at most {}", count(.lines), .lines + 1
    )]
    OutOfRange {
        /// Which edit.
        number: usize,
        /// Its range.
        first: u64,
        /// Its range.
        end: u64,
        /// How many lines there are.
        lines: u64,
    },
    /// An edit stands behind one of later lines.
    #[error(
        "edit {number} [{first}, {end}] comes after edit {} [{}, {}] and names earlier lines; sort the edits", .number - 1, .before.start, .before.end
    )]
    Unsorted {
        /// Which edit.
        number: usize,
        /// Its range.
        first: u64,
        /// Its range.
        end: u64,
        /// The range of the edit before.
        before: Range<u64>,
    },
    /// Two edits name the same line.
    #[error(
        "edit {number} [{first}, {end}] overlaps edit {} [{}, {}]; join them into one", .number - 1, .before.start, .before.end
    )]
    Overlap {
        /// Which edit.
        number: usize,
        /// Its range.
        first: u64,
        /// Its range.
        end: u64,
        /// The range of the edit before.
        before: Range<u64>,
    },
    /// Bytes that are not text.
    #[error("line {line} of the file is not UTF-8 text")]
    NotText {
        /// The first such line.
        line: u64,
    },
    /// The file is too large, or would be.
    #[error("the file {} {bytes} bytes; at most {MAX_FILE_BYTES} can be edited", has(.after))]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// Whether the edits make it so.
        after: bool,
    },
    /// A text to replace is none, or is not where it has to be.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Everything stays as it is.
    #[error("the edits change nothing: the file already reads like this")]
    Unchanged,
}

/// Applies edits to the content of a file; `None`: there is no file yet.
///
/// Takes time and memory in proportion to the file and the edits.
pub fn apply(base: Option<&[u8]>, edits: &[LineEdit]) -> Result<Applied, ApplyError> {
    let bytes = base.unwrap_or_default();
    if bytes.len() > MAX_FILE_BYTES {
        return Err(ApplyError::TooLarge {
            bytes: bytes.len(),
            after: false,
        });
    }
    let text = text_of(bytes)?;
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (BYTE_ORDER_MARK, rest),
        None => ("", text),
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    check(edits, lines.len() as u64)?;
    let after = bytes.len()
        + edits
            .iter()
            .map(|edit| edit.replacement.len())
            .sum::<usize>();
    let mut out = Output {
        text: String::with_capacity(after.min(MAX_FILE_BYTES)),
        newline: newline(text, edits.iter().map(|edit| edit.replacement.as_str())),
        lines: 0,
    };
    out.text.push_str(mark);
    // A file without a newline at its end goes on like that.
    let open_end = lines.last().is_some_and(|last| !last.ends_with('\n'));
    let mut next = 0;
    for edit in edits {
        // Both were checked against the number of lines.
        let (first, end) = (edit.first as usize - 1, edit.end as usize - 1);
        out.keep(&lines[next..first]);
        next = end;
        let replacement = match (edit.first, mark) {
            (1, BYTE_ORDER_MARK) => edit
                .replacement
                .strip_prefix(BYTE_ORDER_MARK)
                .unwrap_or(&edit.replacement),
            _ => &edit.replacement,
        };
        out.insert(replacement, open_end && end == lines.len());
    }
    out.keep(&lines[next..]);
    if out.text.len() > MAX_FILE_BYTES {
        return Err(ApplyError::TooLarge {
            bytes: out.text.len(),
            after: true,
        });
    }
    if base.is_some_and(|base| base == out.text.as_bytes()) {
        return Err(ApplyError::Unchanged);
    }
    Ok(Applied {
        bytes: out.text.into_bytes(),
        lines_before: lines.len() as u64,
        lines_after: out.lines,
    })
}

/// Puts a text in the place of all lines, as one edit of all of them does.
pub(super) fn apply_to_all(base: Option<&[u8]>, text: &str) -> Result<Applied, ApplyError> {
    let before = text_of(base.unwrap_or_default())?;
    let before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
    let lines = before.split_inclusive('\n').count() as u64;
    let edit = LineEdit {
        first: 1,
        end: lines + 1,
        replacement: text.to_owned(),
    };
    apply(base, &[edit])
}

/// The file as it grows.
struct Output {
    text: String,
    newline: &'static str,
    lines: u64,
}

impl Output {
    /// Adds lines as they are.
    fn keep(&mut self, lines: &[&str]) {
        for line in lines {
            self.close();
            self.text.push_str(line);
            self.lines += 1;
        }
    }

    /// Adds new lines; the last of them is left open if it was given so and `may_stay_open`.
    fn insert(&mut self, replacement: &str, may_stay_open: bool) {
        for line in replacement.split_inclusive('\n') {
            self.close();
            match line.strip_suffix('\n') {
                Some(line) => {
                    self.text.push_str(line.strip_suffix('\r').unwrap_or(line));
                    self.text.push_str(self.newline);
                }
                None => {
                    self.text.push_str(line);
                    if !may_stay_open {
                        self.text.push_str(self.newline);
                    }
                }
            }
            self.lines += 1;
        }
    }

    /// Ends the last line, before another.
    fn close(&mut self) {
        if self.lines > 0 && !self.text.ends_with('\n') {
            self.text.push_str(self.newline);
        }
    }
}

/// Whether the edits are in order and fit into so many lines.
fn check(edits: &[LineEdit], lines: u64) -> Result<(), ApplyError> {
    if edits.is_empty() {
        return Err(ApplyError::Empty);
    }
    let mut before = 0..0;
    for (index, &LineEdit { first, end, .. }) in edits.iter().enumerate() {
        let number = index + 1;
        if first == 0 || end == 0 {
            return Err(ApplyError::Zero { number, first, end });
        }
        if end < first {
            return Err(ApplyError::Backwards { number, first, end });
        }
        if end > lines + 1 {
            return Err(ApplyError::OutOfRange {
                number,
                first,
                end,
                lines,
            });
        }
        if first < before.start {
            return Err(ApplyError::Unsorted {
                number,
                first,
                end,
                before,
            });
        }
        if first < before.end {
            return Err(ApplyError::Overlap {
                number,
                first,
                end,
                before,
            });
        }
        before = first..end;
    }
    Ok(())
}

pub(super) fn text_of(bytes: &[u8]) -> Result<&str, ApplyError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        ApplyError::NotText { line }
    })
}

/// How lines end: as most of the file's do, or, where it has no newline yet, as the first new one.
pub(super) fn newline<'a>(text: &str, added: impl IntoIterator<Item = &'a str>) -> &'static str {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let (mut lf, mut crlf) = (0_usize, 0_usize);
    for end in ends {
        match end.checked_sub(1).map(|at| text.as_bytes()[at]) {
            Some(b'\r') => crlf += 1,
            _ => lf += 1,
        }
    }
    if lf + crlf == 0 {
        let new = added.into_iter().find_map(|added| {
            let bytes = added.as_bytes();
            memchr(b'\n', bytes).map(|at| at > 0 && bytes[at - 1] == b'\r')
        });
        crlf = usize::from(new == Some(true));
    }
    if crlf > lf { "\r\n" } else { "\n" }
}

fn has(after: &bool) -> &'static str {
    if *after { "would have" } else { "has" }
}

fn count(lines: &u64) -> String {
    match lines {
        0 => "no lines".to_owned(),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

#[cfg(test)]
mod tests;
