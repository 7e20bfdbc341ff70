//! Cuts a file into chunks of a function or a few small ones, without a grammar.
//!
//! Line by line: where a declaration begins, a chunk may begin, together with the comment above it. Small neighbours
//! are joined and large ones are cut at empty lines, so that a chunk is about a screenful. This is quick enough to
//! read a whole tree; what is shown is afterwards widened to whole functions with a grammar.

mod landmark;

pub use landmark::{Reader, Style};

/// Lines up to which neighbours are joined.
const JOINED_LINES: usize = 30;

/// Lines after which a long function is cut at the next empty line.
const LONG_LINES: usize = 60;

/// Lines after which it is cut wherever it is.
const LONGEST_LINES: usize = 90;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Nothing but space.
    Empty,
    /// A comment, or a line of a documentation string.
    Comment,
    Code,
}

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Without the line break.
    pub text: &'a [u8],
    pub kind: LineKind,
    /// The name that it declares, as a range of the text.
    pub declares: Option<(usize, usize)>,
}

impl<'a> Line<'a> {
    /// The declared name.
    pub fn name(&self) -> Option<&'a [u8]> {
        self.declares
            .and_then(|(start, end)| self.text.get(start..end))
    }
}

/// Some lines of a file, counted from 0, the end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub start: usize,
    /// The line after the last.
    pub end: usize,
    /// Whether it is a test within a file of source.
    pub is_test: bool,
}

/// Reads the lines of a file.
pub fn lines<'a>(path: &str, text: &'a [u8]) -> Vec<Line<'a>> {
    let style = Style::of(path);
    let mut reader = Reader::new(style);
    let mut lines = Vec::with_capacity(text.len() / 32);
    let mut rest = text;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        lines.push(reader.line(line));
    }
    lines
}

/// Cuts lines into chunks that cover them all, in order.
pub fn chunks(lines: &[Line<'_>]) -> Vec<Chunk> {
    let tests = tests(lines);
    let mut all = Vec::new();
    join(&lines[..tests], 0, false, &mut all);
    join(&lines[tests..], tests, true, &mut all);
    all
}

/// Where the tests of a file of Rust begin that stand in it; its end if none do.
fn tests(lines: &[Line<'_>]) -> usize {
    let marks = |line: &Line<'_>| line.text.starts_with(b"#[cfg(test)]");
    let begins = |at: usize| {
        let next = lines[at + 1..].iter().find(|line| !is_attribute(line.text));
        // `mod tests;` stands elsewhere.
        next.is_some_and(|line| {
            line.text.starts_with(b"mod ") && line.text.trim_ascii_end().ends_with(b"{")
        })
    };
    (0..lines.len())
        .find(|at| marks(&lines[*at]) && begins(*at))
        .unwrap_or(lines.len())
}

/// Joins small pieces.
fn join(lines: &[Line<'_>], first: usize, is_test: bool, all: &mut Vec<Chunk>) {
    let mut open = first..first;
    let mut close = |lines: std::ops::Range<usize>| {
        if !lines.is_empty() {
            all.push(Chunk {
                start: lines.start,
                end: lines.end,
                is_test,
            });
        }
    };
    for piece in pieces(lines) {
        let (start, end) = (piece.start + first, piece.end + first);
        if !open.is_empty() && end - open.start > JOINED_LINES {
            close(open);
            open = start..end;
        } else {
            open.end = end;
        }
    }
    close(open);
}

/// Cuts at every declaration, and long stretches between at empty lines.
fn pieces(lines: &[Line<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut cut = |start: &mut usize, at: usize| {
        if at > *start {
            pieces.push(*start..at);
            *start = at;
        }
    };
    for (number, line) in lines.iter().enumerate() {
        if line.declares.is_some() {
            let first = above(lines, start, number);
            cut(&mut start, first);
        }
        let length = number - start;
        if length >= LONGEST_LINES || (length >= LONG_LINES && line.kind == LineKind::Empty) {
            cut(&mut start, number);
        }
    }
    cut(&mut start, lines.len());
    pieces
}

/// The first line of the comments and attributes that stand right above a declaration.
fn above(lines: &[Line<'_>], start: usize, declaration: usize) -> usize {
    let mut first = declaration;
    while first > start {
        let line = &lines[first - 1];
        let belongs = line.kind == LineKind::Comment
            || (line.kind == LineKind::Code && is_attribute(line.text));
        if !belongs {
            break;
        }
        first -= 1;
    }
    first
}

/// `@decorator`, `#[attribute]`, `[Attribute]`, `template <…>`.
fn is_attribute(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"@")
        || line.starts_with(b"#[")
        || line.starts_with(b"template")
        || (line.starts_with(b"[") && line.ends_with(b"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_file_and_begin_where_a_function_does() {
        let mut text = String::from("use a;\n\n");
        for number in 0..6 {
            text.push_str(&format!("/// Says {number}.\nfn say_{number}() {{\n"));
            text.push_str(&"    work();\n".repeat(20));
            text.push_str("}\n\n");
        }
        let lines = lines("a.rs", text.as_bytes());
        let chunks = chunks(&lines);
        assert_eq!(chunks.len(), 6);
        assert_eq!(chunks[0].start, 0);
        assert_eq!(chunks[5].end, lines.len());
        for (a, b) in chunks.iter().zip(&chunks[1..]) {
            assert_eq!(a.end, b.start);
            assert!(lines[b.start].text.starts_with(b"/// Says"));
        }
    }

    #[test]
    fn tests_within_a_file_are_told_apart() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let cut = chunks(&lines("a.rs", text.as_bytes()));
        let cut: Vec<(usize, usize, bool)> =
            cut.iter().map(|c| (c.start, c.end, c.is_test)).collect();
        assert_eq!(cut, [(0, 2, false), (2, 6, true)]);
        let text = "fn a() {}\n#[cfg(test)]\nmod tests;\nfn c() {}\n";
        assert_eq!(chunks(&lines("a.rs", text.as_bytes())).len(), 1);
    }

    #[test]
    fn long_stretches_are_cut() {
        let text = "x\n".repeat(1_000);
        let lines = lines("a.txt", text.as_bytes());
        let chunks = chunks(&lines);
        assert!(chunks.iter().all(|c| c.end - c.start <= LONGEST_LINES));
        assert_eq!(chunks.iter().map(|c| c.end - c.start).sum::<usize>(), 1_000);
    }
}
