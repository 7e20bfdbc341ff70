//! Replaces texts of a file, and says where they are if that is not clear.
//!
//! A model writes the text down from memory. Where it is not there, what it most likely meant is said, so that it need not read
//! the file again.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use memchr::memmem::Finder;

use super::apply::{ApplyError, MAX_FILE_BYTES, newline};

/// Bytes that are searched for all texts together, a tenth of a second: a plugin may declare thousands of texts.
const MAX_SEARCHED_BYTES: usize = 512 * 1024 * 1024;

/// Places of one file at which a text is replaced. More would be a letter of a large file.
const MAX_PLACES: usize = 100_000;

/// Lines that are named in an error.
const MAX_NAMED_LINES: usize = 8;

/// Lines that are compared with a text that is not there, and characters of each: some ten milliseconds.
const MAX_COMPARED_LINES: usize = 20_000;
const MAX_COMPARED_CHARS: usize = 120;

/// How alike a line has to be to be named (1 is equal).
const SIMILAR: f64 = 0.6;

/// One text that is replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The text, exactly.
    pub old: String,
    /// What takes its place.
    pub new: String,
    /// Whether each occurrence is replaced; otherwise there has to be exactly one.
    pub every: bool,
}

/// Why a text cannot be replaced. Texts are named by their number, which counts from 1; of a single one it is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// There is no text to look for.
    #[error("{}the text to replace is empty", edit(*.number))]
    Empty {
        /// Which one.
        number: Option<usize>,
    },
    /// The text is not in the file.
    #[error("{}the text to replace is not in the file{hint}", edit(*.number))]
    NotThere {
        /// Which one.
        number: Option<usize>,
        /// What may have been meant, if anything.
        hint: String,
    },
    /// Nobody knows which one is meant.
    #[error(
        "{}the text to replace is in the file {count} times, at {}; give more of what is around it, or replace every occurrence",
        edit(*.number), named(.lines)
    )]
    Several {
        /// Which one.
        number: Option<usize>,
        /// How often it is there.
        count: usize,
        /// Where the first of them begin.
        lines: Vec<u64>,
    },
    /// Two edits want the same place.
    #[error("edits {} and {} overlap at line {line}; join them into one", .numbers.0, .numbers.1)]
    Overlap {
        /// Which ones.
        numbers: (usize, usize),
        /// Where.
        line: u64,
    },
    /// It would take too long, or too much memory.
    #[error("there is too much to replace at once: {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
}

/// The text of a file with these texts replaced. Line ends are taken as most of the file's are.
pub(super) fn replaced(text: &str, edits: &[TextEdit]) -> Result<String, ApplyError> {
    let newline = newline(text, edits.iter().map(|edit| edit.new.as_str()));
    if edits.is_empty() {
        return Err(ApplyError::Empty);
    }
    if edits.len().saturating_mul(text.len()) > MAX_SEARCHED_BYTES {
        let what = "use several calls, with fewer texts each";
        return Err(TextError::TooMany { what }.into());
    }
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    let news: Vec<Cow<'_, str>> = edits
        .iter()
        .map(|edit| with_newlines(&edit.new, newline))
        .collect();
    for (index, edit) in edits.iter().enumerate() {
        let number = (edits.len() > 1).then_some(index + 1);
        let old = with_newlines(&edit.old, newline);
        let found = match edit.every {
            true => occurrences(text, &old, old.len()),
            false => only(text, &old, number)?,
        };
        if old.is_empty() {
            return Err(TextError::Empty { number }.into());
        }
        if found.is_empty() {
            let hint = hint(text, &old);
            return Err(TextError::NotThere { number, hint }.into());
        }
        places.extend(found.into_iter().map(|at| (at..at + old.len(), index)));
        if places.len() > MAX_PLACES {
            let what = "a text is there very often; give more of what is around it";
            return Err(TextError::TooMany { what }.into());
        }
    }
    places.sort_by_key(|(range, _)| range.start);
    for pair in places.windows(2) {
        if let [(before, first), (after, second)] = pair
            && after.start < before.end
        {
            let numbers = (first.min(second) + 1, first.max(second) + 1);
            let line = line_at(text, after.start);
            return Err(TextError::Overlap { numbers, line }.into());
        }
    }
    let new_of = |index: usize| news.get(index).map_or("", |new| &**new);
    let gone: usize = places.iter().map(|(range, _)| range.len()).sum();
    let come = places.iter().fold(0_usize, |sum, (_, edit)| {
        sum.saturating_add(new_of(*edit).len())
    });
    let bytes = (text.len() - gone).saturating_add(come);
    if bytes > MAX_FILE_BYTES {
        return Err(ApplyError::TooLarge { bytes, after: true });
    }
    let mut out = String::with_capacity(bytes);
    let mut next = 0;
    for (range, edit) in &places {
        out.push_str(&text[next..range.start]);
        out.push_str(new_of(*edit));
        next = range.end;
    }
    out.push_str(&text[next..]);
    Ok(out)
}

/// Bytes that are compared in looking for all places of one text: a tenth of a second.
const MAX_COMPARED_BYTES: usize = 256 * 1024 * 1024;

/// Where a text is: nowhere or at one place.
fn only(text: &str, old: &str, number: Option<usize>) -> Result<Vec<usize>, TextError> {
    // They may overlap: `aa` is twice in `aaa`.
    let step = old.chars().next().map_or(0, char::len_utf8);
    let found = occurrences(text, old, step);
    if found.len() < 2 {
        return Ok(found);
    }
    let first = found.iter().take(MAX_NAMED_LINES);
    Err(TextError::Several {
        number,
        count: found.len(),
        lines: first.map(|at| line_at(text, *at)).collect(),
    })
}

/// Where a text is, each time so many bytes behind the last one at least; not many more than can be replaced.
fn occurrences(text: &str, old: &str, step: usize) -> Vec<usize> {
    if old.is_empty() {
        return Vec::new();
    }
    let finder = Finder::new(old);
    let mut found = Vec::new();
    let mut next = 0;
    // Each place costs as much as the text is long, and places may overlap.
    let most = (MAX_COMPARED_BYTES / old.len()).clamp(2, MAX_PLACES + 1);
    while found.len() < most
        && let Some(at) = text
            .as_bytes()
            .get(next..)
            .and_then(|rest| finder.find(rest))
    {
        found.push(next + at);
        next += at + step.max(1);
    }
    found
}

/// What may have been meant by a text that is not there.
fn hint(text: &str, old: &str) -> String {
    let wanted: Vec<String> = old.lines().map(without_space).collect();
    let begins = wanted.iter().position(|line| !line.is_empty());
    let ends = wanted.iter().rposition(|line| !line.is_empty());
    let (Some(begins), Some(ends)) = (begins, ends) else {
        return String::new();
    };
    let wanted = &wanted[begins..=ends];
    let lines: Vec<&str> = text.lines().take(MAX_COMPARED_LINES).collect();
    let here: Vec<String> = lines.iter().map(|line| without_space(line)).collect();
    let mut alike = here.windows(wanted.len());
    if let Some(at) = alike.position(|lines| lines == wanted) {
        let (first, last) = (at + 1, at + wanted.len());
        if first != last {
            return format!("; lines {first}-{last} have it with other white space");
        }
        // As it has to be written in JSON: a tab would look like spaces.
        let line: String = lines
            .get(at)
            .into_iter()
            .flat_map(|line| line.chars())
            .take(MAX_COMPARED_CHARS)
            .collect();
        return format!("; line {first} has it with other white space: {line:?}");
    }
    // The longest line says most.
    let longest = wanted.iter().max_by_key(|line| line.len());
    let longest = longest.map_or("", String::as_str);
    let compared: String = longest.chars().take(MAX_COMPARED_CHARS).collect();
    let similarity = |line: &String| {
        let line: String = line.chars().take(MAX_COMPARED_CHARS).collect();
        strsim::sorensen_dice(&line, &compared)
    };
    let nearest = here
        .iter()
        .map(similarity)
        .enumerate()
        .filter(|(_, similarity)| *similarity >= SIMILAR)
        .max_by(|(_, a), (_, b)| a.total_cmp(b));
    let Some((at, line)) = nearest.and_then(|(at, _)| Some((at, lines.get(at)?))) else {
        return String::new();
    };
    let shown: String = line.trim().chars().take(MAX_COMPARED_CHARS).collect();
    format!("; the most similar line is {}: {shown}", at + 1)
}

fn without_space(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().concat()
}

/// The line that a byte of a text is in.
fn line_at(text: &str, at: usize) -> u64 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() as u64 + 1
}

/// A text with these line ends.
pub(super) fn with_newlines<'a>(text: &'a str, newline: &str) -> Cow<'a, str> {
    if !text.contains("\r\n") && (newline == "\n" || !text.contains('\n')) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    match newline {
        "\n" => Cow::Owned(text),
        newline => Cow::Owned(text.replace('\n', newline)),
    }
}

fn edit(number: Option<usize>) -> String {
    number.map_or_else(String::new, |number| format!("edit {number}: "))
}

/// `lines 1, 2 and 3`.
fn named(lines: &[u64]) -> String {
    let mut text = String::from("lines");
    for (index, line) in lines.iter().enumerate() {
        let before = match index {
            0 => " ",
            _ if index + 1 == lines.len() && lines.len() < MAX_NAMED_LINES => " and ",
            _ => ", ",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}{line}");
    }
    if lines.len() == MAX_NAMED_LINES {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests;
