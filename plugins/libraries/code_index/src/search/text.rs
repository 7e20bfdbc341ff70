//! The text of a file that has hits, of which only what lies about them is looked at closely.

use std::ops::Range;

use dunlin_code::{Language, Source, language_of};

use super::functions::{self, Function, Wanted};
use crate::chunks::{Line, LineKind, Reader, Style};
use crate::words::Stems;

/// Lines of the longest hit. A longer function is shown around what was found in it.
const MAX_LINES: usize = 80;

/// Bytes of the longest hit.
const MAX_BYTES: usize = 6_000;

/// Lines before and after a chunk that are looked at: a function that is longer is not shown whole anyway.
const AROUND: usize = 120;

/// How much more a line counts that declares something.
const DECLARING: f32 = 1.5;

/// A file that has hits.
#[derive(Debug)]
pub(super) struct Text {
    bytes: Vec<u8>,
    /// Where each line begins, and the end.
    starts: Vec<usize>,
    style: Style,
    language: Option<Language>,
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first line, counted from 0.
    pub(super) start: usize,
    /// The line after its last.
    pub(super) end: usize,
    /// The function, type or heading that it is or stands in.
    pub(super) symbol: Option<String>,
    /// Its lines.
    pub(super) text: String,
}

impl Text {
    /// Bytes that one question parses: more would take longer than the search itself.
    pub(super) const MAX_PARSED_BYTES: usize = 96 << 10;

    /// Takes a text, `None` if there is nothing in it.
    pub(super) fn new(path: &str, bytes: Vec<u8>) -> Option<Self> {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1));
        if starts.last() != Some(&bytes.len()) {
            starts.push(bytes.len());
        }
        (starts.len() > 1).then(|| Self {
            bytes,
            starts,
            style: Style::of(path),
            language: language_of(path),
        })
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn bytes(&self, lines: Range<usize>) -> &[u8] {
        &self.bytes[self.starts[lines.start]..self.starts[lines.end]]
    }

    fn line(&self, number: usize) -> &[u8] {
        let line = self.bytes(number..number + 1);
        line.strip_suffix(b"\n").unwrap_or(line)
    }

    /// How many bytes it has.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The functions whose declarations have most of what is wanted.
    pub(super) fn functions(&self, wanted: &Wanted, stems: &Stems) -> Vec<Function> {
        let mut reader = Reader::new(self.style);
        let lines: Vec<Line<'_>> = (0..self.count())
            .map(|number| reader.line(self.line(number)))
            .collect();
        functions::best(&lines, wanted, stems)
    }

    /// What is shown of a chunk: the function about the line that fits best, whole if it is not too long.
    pub(super) fn piece(
        &self,
        start: usize,
        length: usize,
        fit: &dyn Fn(&[u8]) -> f32,
        parse: &mut usize,
    ) -> Piece {
        let start = start.min(self.count() - 1);
        let end = (start + length.max(1)).min(self.count());
        let around = start.saturating_sub(AROUND)..(end + AROUND).min(self.count());
        let mut reader = Reader::new(self.style);
        let lines: Vec<Line<'_>> = around
            .clone()
            .map(|number| reader.line(self.line(number)))
            .collect();
        let near = Near {
            text: self,
            first: around.start,
            lines,
        };
        let line = near.best_line(start..end, fit);
        let (range, symbol) = near
            .parsed(line, start..end, parse)
            .unwrap_or_else(|| (near.guessed(line, start..end), near.declared(line)));
        let range = near.trimmed(range);
        Piece {
            text: self.cut(range.clone()),
            start: range.start,
            end: range.end,
            symbol,
        }
    }

    /// Lines as text, no longer than a hit may be.
    fn cut(&self, lines: Range<usize>) -> String {
        let bytes = self.bytes(lines);
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_BYTES)]);
        let mut text = text
            .trim_end_matches(char::REPLACEMENT_CHARACTER)
            .to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

/// The lines about a chunk.
struct Near<'a> {
    text: &'a Text,
    /// The number of the first of the lines.
    first: usize,
    lines: Vec<Line<'a>>,
}

impl Near<'_> {
    fn line(&self, number: usize) -> &Line<'_> {
        &self.lines[number - self.first]
    }

    fn indent(&self, number: usize) -> usize {
        let text = self.line(number).text;
        text.len() - text.trim_ascii_start().len()
    }

    /// The number after the last line that is there.
    fn end(&self) -> usize {
        self.first + self.lines.len()
    }

    /// The line of a chunk about which most of what is wanted stands.
    fn best_line(&self, chunk: Range<usize>, fit: &dyn Fn(&[u8]) -> f32) -> usize {
        let scores: Vec<f32> = chunk
            .clone()
            .map(|number| {
                let line = self.line(number);
                let score = fit(line.text);
                if line.declares.is_some() {
                    DECLARING * score
                } else {
                    score
                }
            })
            .collect();
        let around = |at: usize| -> f32 {
            let near = at.saturating_sub(2)..(at + 3).min(scores.len());
            2.0 * scores[at] + scores[near].iter().sum::<f32>()
        };
        let best = (0..scores.len())
            .max_by(|a, b| around(*a).total_cmp(&around(*b)).then(b.cmp(a)))
            .unwrap_or(0);
        chunk.start + best
    }

    /// The function about a line and its name, as the grammar knows them.
    fn parsed(
        &self,
        line: usize,
        chunk: Range<usize>,
        parse: &mut usize,
    ) -> Option<(Range<usize>, Option<String>)> {
        let language = self.text.language?;
        let slice = self.slice(line);
        let bytes = self.text.bytes(slice.clone());
        *parse = parse.checked_sub(bytes.len())?;
        let source = Source::parse(language, &String::from_utf8_lossy(bytes))?;
        let symbol = source.enclosing((line - slice.start) as u64 + 1)?;
        let start = (slice.start + (symbol.start_line as usize).saturating_sub(1)).min(line);
        let end = (slice.start + symbol.end_line as usize).clamp(line + 1, slice.end);
        let name = match self.outer(slice.start) {
            Some(outer) if symbol.is_function => format!("{outer}.{}", symbol.name),
            _ => symbol.name,
        };
        Some((fit_in(start..end, line, chunk), Some(name)))
    }

    /// The lines that are parsed: from the declaration above a line that is indented least to the next such below.
    fn slice(&self, line: usize) -> Range<usize> {
        let declarations = (self.first..=line)
            .rev()
            .filter(|n| self.line(*n).declares.is_some());
        let start = declarations.min_by_key(|number| (self.indent(*number), line - number));
        let start = start.unwrap_or(self.first);
        let indent = self.indent(start);
        let below = (line + 1..self.end())
            .find(|n| self.line(*n).declares.is_some() && self.indent(*n) <= indent);
        self.above(start)..below.map_or(self.end(), |number| self.above(number).max(line + 1))
    }

    /// The first of the comments and attributes right above a line.
    fn above(&self, mut line: usize) -> usize {
        while line > self.first && self.line(line - 1).kind == LineKind::Comment {
            line -= 1;
        }
        line
    }

    /// What a line that is indented is part of, if that begins further above.
    fn outer(&self, line: usize) -> Option<String> {
        let mut most = self.indent(line);
        if most == 0 {
            return None;
        }
        for number in (0..line).rev().take(10 * AROUND) {
            let text = self.text.line(number);
            let indent = text.len() - text.trim_ascii_start().len();
            if text.trim_ascii().is_empty() || indent >= most {
                continue;
            }
            most = indent;
            let line = Reader::new(self.text.style).line(text);
            if let Some(name) = line.name() {
                return Some(String::from_utf8_lossy(name).into_owned());
            }
        }
        None
    }

    /// The function about a line by how the lines are indented.
    fn guessed(&self, line: usize, chunk: Range<usize>) -> Range<usize> {
        let Some(start) = self.declaration(line) else {
            return chunk.start..chunk.end.min(chunk.start + MAX_LINES);
        };
        let indent = self.indent(start);
        let next = (line + 1..self.end())
            .find(|number| self.line(*number).declares.is_some() && self.indent(*number) <= indent);
        let end = next.map_or(self.end(), |number| self.above(number).max(line + 1));
        fit_in(self.above(start)..end, line, chunk)
    }

    /// The line that declares what a line is part of.
    fn declaration(&self, line: usize) -> Option<usize> {
        let mut most = usize::MAX;
        for number in (self.first..=line).rev() {
            if self.line(number).text.trim_ascii().is_empty() {
                continue;
            }
            if self.line(number).declares.is_some() && self.indent(number) <= most {
                return Some(number);
            }
            most = most.min(self.indent(number));
        }
        None
    }

    /// The name of what a line is part of.
    fn declared(&self, line: usize) -> Option<String> {
        let name = self.line(self.declaration(line)?).name()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// Without the empty lines at both ends.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let is_empty = |number: &usize| self.line(*number).text.trim_ascii().is_empty();
        let start = range
            .clone()
            .find(|number| !is_empty(number))
            .unwrap_or(range.start);
        let end = range
            .rev()
            .find(|number| !is_empty(number))
            .map_or(start + 1, |last| last + 1);
        start..end
    }
}

/// A function, or of a long one the part that lies in the chunk.
fn fit_in(function: Range<usize>, line: usize, chunk: Range<usize>) -> Range<usize> {
    if function.len() <= MAX_LINES {
        return function;
    }
    let start = chunk.start.clamp(function.start, line);
    let start = start.max(line.saturating_sub(MAX_LINES - 1));
    let end = chunk.end.clamp(line + 1, function.end.max(line + 1));
    start..end.min(start + MAX_LINES).max(line + 1)
}
