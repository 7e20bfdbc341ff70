//! Collects what was found, as text for a model, within bounds.

use std::fmt::Write as _;
use std::ops::Range;

use dunlin_project_files::{Files, Scope};
use dunlin_sdk::Schema;
use serde::Deserialize;

use crate::lines::{self, FoundLine};
use crate::pattern::Pattern;

/// Bytes of the lines of one answer, about 10,000 tokens.
const MAX_BYTES: usize = 40_000;

/// Bytes of one line that are shown: of longer ones those around the match.
const MAX_LINE_BYTES: usize = 400;

/// Bytes before the match that are shown of such a line.
const LEAD_BYTES: usize = 120;

/// Files that are named because they are too large.
const MAX_NAMED_FILES: usize = 5;

/// What is shown of what was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    show: Show,
    context: usize,
    most: usize,
    text: String,
    /// Matching lines, or files, that are in the text.
    shown: usize,
    /// Whether something had no room.
    is_full: bool,
    matched_lines: usize,
    matched_files: usize,
    binary: usize,
    unreadable: usize,
    too_large: Vec<String>,
    not_searched: usize,
    /// Whether a file was searched in part.
    broke_off: bool,
    files: Files,
    /// Whether a single file was searched.
    is_of_file: bool,
}

impl Report {
    /// Of nothing yet.
    pub fn new(show: Show, context: usize, most: usize) -> Self {
        Self {
            show,
            context,
            most,
            text: String::new(),
            shown: 0,
            is_full: false,
            matched_lines: 0,
            matched_files: 0,
            binary: 0,
            unreadable: 0,
            too_large: Vec::new(),
            not_searched: 0,
            broke_off: false,
            files: Files::default(),
            is_of_file: false,
        }
    }

    /// Searches the content of a file.
    pub fn file(
        &mut self,
        path: &str,
        text: &[u8],
        pattern: &mut Pattern,
        is_late: &dyn Fn() -> bool,
    ) {
        if lines::is_binary(text) {
            self.binary += 1;
            return;
        }
        let mut count = 0;
        let mut shown = ShownFile {
            path: (!self.is_of_file).then_some(path),
            text,
            next: 1,
            last: None,
        };
        let is_whole = lines::search(pattern, text, is_late, |found| {
            count += 1;
            match self.show {
                Show::Lines => self.line(&mut shown, found),
                Show::Files => return false,
                Show::Counts => {}
            }
            true
        });
        self.broke_off |= !is_whole;
        if count == 0 {
            return;
        }
        self.matched_lines += count;
        self.matched_files += 1;
        match self.show {
            Show::Lines => {
                let rest = shown.behind_last(self.context, u64::MAX);
                if self.text.len() + rest.len() <= MAX_BYTES {
                    self.text.push_str(&rest);
                }
            }
            Show::Files => self.push(&format!("{path}\n")),
            Show::Counts => self.push(&format!("{path}: {count}\n")),
        }
    }

    /// Adds a line with those around it.
    fn line(&mut self, shown: &mut ShownFile<'_>, found: FoundLine) {
        self.is_full |= self.shown == self.most;
        if self.is_full {
            return;
        }
        let number = found.number;
        let mut added = shown.behind_last(self.context, number);
        let before = lines::before(shown.text, &found.line, self.context);
        let first = number - before.len() as u64;
        if self.context > 0 && first > shown.next && !(self.text.is_empty() && added.is_empty()) {
            added.push_str("--\n");
        }
        for (number, line) in (first..).zip(&before) {
            shown.push(&mut added, number, '-', line, line.start);
        }
        shown.push(&mut added, number, ':', &found.line, found.found.start);
        self.push(&added);
        if !self.is_full {
            shown.last = Some((number, found.line));
        }
    }

    /// Adds a result, if there is room.
    fn push(&mut self, text: &str) {
        if self.is_full || self.shown == self.most || self.text.len() + text.len() > MAX_BYTES {
            self.is_full = true;
            return;
        }
        self.text.push_str(text);
        self.shown += 1;
    }

    /// Counts a file that is too large to be searched with others.
    pub fn too_large(&mut self, path: String) {
        self.too_large.push(path);
    }

    /// Counts a file that could not be read.
    pub fn unreadable(&mut self) {
        self.unreadable += 1;
    }

    /// Counts files for which there was no time.
    pub fn not_searched(&mut self, count: usize) {
        self.not_searched += count;
    }

    /// These were searched.
    pub fn searched(&mut self, files: Files) {
        self.files = files;
    }

    /// A single file is searched, so its lines need not name it.
    pub fn is_of_file(&mut self) {
        self.is_of_file = true;
    }

    /// The whole answer.
    pub fn text(&self, scope: &Scope) -> String {
        let files = counted(self.matched_files, "file", "files");
        let lines = counted(self.matched_lines, "matching line", "matching lines");
        let mut text = match (self.matched_files, self.show) {
            (0, _) => format!("No match in {}.\n", scope.name()),
            (_, Show::Lines | Show::Counts) if self.is_of_file => format!("{lines}:\n"),
            (_, Show::Lines | Show::Counts) => format!("{lines} in {files}:\n"),
            (1, Show::Files) => "1 file has a match:\n".to_owned(),
            (_, Show::Files) => format!("{files} have a match:\n"),
        };
        text.push_str(&self.text);
        if self.is_full {
            let what = match self.show {
                Show::Lines => "matching lines",
                Show::Files | Show::Counts => "files",
            };
            let _ = writeln!(
                text,
                "[only the first {} {what} shown; narrow the search with path, globs or a longer pattern, or show files or counts]",
                self.shown
            );
        }
        if self.matched_files == 0 && !self.is_of_file {
            text.push_str(&scope.nothing(&self.files));
        }
        for note in self.notes(scope) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{note}]");
        }
        text
    }

    fn notes(&self, scope: &Scope) -> Vec<String> {
        let mut notes = Vec::new();
        if self.broke_off || self.not_searched > 0 {
            let left = match self.not_searched {
                0 => "the rest of a file was".to_owned(),
                files => counted(files, "file was", "files were"),
            };
            notes.push(format!(
                "the search took too long: {left} not searched; narrow it with path or globs"
            ));
        }
        if let Some(first) = self
            .too_large
            .get(..self.too_large.len().min(MAX_NAMED_FILES))
            && !first.is_empty()
        {
            let more = match self.too_large.len() - first.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            notes.push(format!(
                "larger than 1 MiB and not searched: {}{more}; name one as path to search it",
                first.join(", ")
            ));
        }
        if self.is_of_file && self.binary > 0 {
            notes.push("it is a binary file".to_owned());
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "{} not be read",
                counted(self.unreadable, "file could", "files could")
            ));
        }
        notes.extend(scope.notes(&self.files));
        notes
    }
}

/// A file of which lines are shown.
struct ShownFile<'a> {
    /// What its lines begin with, if anything.
    path: Option<&'a str>,
    text: &'a [u8],
    /// The first line that is not shown yet.
    next: u64,
    /// The last match. The lines behind it are shown when it is known where the next one is.
    last: Option<(u64, Range<usize>)>,
}

impl ShownFile<'_> {
    /// The lines behind the last match, as far as they are before this one.
    fn behind_last(&mut self, context: usize, end: u64) -> String {
        let mut added = String::new();
        if let Some((number, line)) = self.last.take() {
            let behind = lines::after(self.text, &line, context);
            for (number, line) in (number + 1..end).zip(&behind) {
                self.push(&mut added, number, '-', line, line.start);
            }
        }
        added
    }

    /// Adds a line, unless it is shown already. `place`: what has to be seen of a long one.
    fn push(
        &mut self,
        added: &mut String,
        number: u64,
        mark: char,
        line: &Range<usize>,
        place: usize,
    ) {
        if number >= self.next {
            let line = cut(self.text, line, place);
            // Without a space before the line: it would look like a part of its indentation. Writing to a string cannot fail.
            let _ = match self.path {
                Some(path) => writeln!(added, "{path}{mark}{number}{mark}{line}"),
                None => writeln!(added, "{number}{mark}{line}"),
            };
            self.next = number + 1;
        }
    }
}

/// A line, or what is around a place of it.
fn cut(text: &[u8], line: &Range<usize>, place: usize) -> String {
    let bytes = text.get(line.clone()).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() <= MAX_LINE_BYTES {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let place = place.saturating_sub(line.start).min(bytes.len());
    let first = place
        .saturating_sub(LEAD_BYTES)
        .min(bytes.len() - MAX_LINE_BYTES);
    // Not within a character.
    let is_within = |at: &usize| {
        bytes
            .get(*at)
            .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    };
    let first = (first..bytes.len())
        .find(|at| !is_within(at))
        .unwrap_or(first);
    let last = first + MAX_LINE_BYTES;
    let last = (first..=last.min(bytes.len()))
        .rev()
        .find(|at| !is_within(at))
        .unwrap_or(last);
    let shown = String::from_utf8_lossy(bytes.get(first..last).unwrap_or_default());
    let before = if first > 0 { "…" } else { "" };
    let after = if last < bytes.len() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    }
}
