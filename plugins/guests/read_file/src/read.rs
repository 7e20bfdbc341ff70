//! Fetches the lines that are wanted and says what else there is.

use dunlin_sdk::files::File;
use dunlin_sdk::{Error, Failure};

use crate::arguments::Selection;
use crate::outline::{self, Language};
use crate::page::{MAX_LINE_BYTES, Page, size};

/// Lines of the answer to a call without a range: most source files fit, and the rest has an outline.
pub const BEGINNING_LINES: u64 = 250;

/// Lines of a file that is given whole for the asking.
pub const ENTIRE_LINES: u64 = 500;

pub const RANGE_LINES: u64 = 2000;

/// Bytes of a file that is read through for an outline. Larger files are data or logs.
pub const OUTLINE_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Bytes of an outline beside the lines of a file.
const OUTLINE_BYTES: usize = 16 * 1024;

/// Bytes of an outline within a failure, of which a host keeps 4 KiB.
const OUTLINE_IN_FAILURE_BYTES: usize = 3 * 1024;

/// Bytes of a file whose lines are counted only to say how many there are. The host reads through all
/// of it for that, which for larger files takes longer than the number is worth.
const COUNT_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes at the start of a file in which a zero byte gives away that it is binary.
const SNIFF_BYTES: u32 = 8 * 1024;

/// Lines and bytes that are fetched from the host at once.
const FETCH_LINES: u32 = 250;
const FETCH_BYTES: u32 = 512 * 1024;

/// What some editors put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Bytes that are fetched at once for an outline.
const OUTLINE_FETCH_BYTES: u32 = 256 * 1024;

/// Reads the selection from an open file; the result is what the model gets. `path` is its own
/// spelling of the file's name.
pub fn read(source: &File, path: &str, selection: Selection) -> Result<String, Failure> {
    let bytes = source.metadata()?.size_bytes;
    let head = source.read_at(0, SNIFF_BYTES)?;
    if head.is_empty() {
        return Ok(format!("The file '{path}' is empty."));
    }
    refuse_binary(path, &head, bytes)?;
    let file = TextFile {
        source,
        path,
        bytes,
        head,
    };
    match selection {
        Selection::Beginning => file.beginning(),
        Selection::Entire => file.entire(),
        Selection::Range { first, last } => file.range(first, last),
    }
}

/// A file that is text at least at its start, and not empty.
struct TextFile<'a> {
    source: &'a File,
    path: &'a str,
    bytes: u64,
    head: Vec<u8>,
}

/// Lines that were fetched.
#[derive(Default)]
struct Fetched {
    page: Page,
    /// The last line on the page; one less than the first line asked for if there is none.
    last: u64,
    /// Whether that is the last line of the file.
    at_end: bool,
}

impl TextFile<'_> {
    fn beginning(&self) -> Result<String, Failure> {
        let fetched = self.fetch(1, BEGINNING_LINES)?;
        let total = self.total(&fetched)?;
        let mut text = self.with_header(1, &fetched, total)?;
        if !fetched.at_end {
            let next = fetched.last + 1;
            text.push_str(&format!(
                "[{} not shown; read them with start_line and end_line]\n",
                rest(next, total)
            ));
            text.push_str(&self.outline(OUTLINE_BYTES)?);
        }
        Ok(text)
    }

    fn entire(&self) -> Result<String, Failure> {
        let total = self.source.count_lines()?;
        let history = self.source.metadata()?.history;
        if total > ENTIRE_LINES && !history.edited && !history.attached {
            return Err(Failure::too_large(format!(
                "'{}' has {total} lines. Files of more than {ENTIRE_LINES} lines are read whole only when they were \
                 edited or attached in this session; read the part you need with start_line and end_line.\n{}",
                self.path,
                self.outline(OUTLINE_IN_FAILURE_BYTES)?
            )));
        }
        let fetched = self.fetch(1, total)?;
        let mut text = self.with_header(1, &fetched, Some(total))?;
        if !fetched.at_end {
            text.push_str(&left_out(fetched.last + 1, total));
        }
        Ok(text)
    }

    fn range(&self, first: i64, last: Option<i64>) -> Result<String, Failure> {
        let (first, wanted) = self.checked(first, last)?;
        let fetched = self.fetch(first, wanted.min(first.saturating_add(RANGE_LINES - 1)))?;
        if fetched.last < first {
            let total = self.source.count_lines()?;
            return Err(Failure::invalid_arguments(format!(
                "start_line: {first} is beyond the end, '{}' has {}",
                self.path,
                lines(total)
            )));
        }
        let total = self.total(&fetched)?;
        let mut text = self.with_header(first, &fetched, total)?;
        let end = total.map_or(wanted, |total| total.min(wanted));
        if !fetched.at_end && fetched.last < end {
            text.push_str(&left_out(fetched.last + 1, end));
        } else if last.is_some() && wanted > fetched.last {
            text.push_str(&format!(
                "[end_line {wanted} is beyond the end of the file]\n"
            ));
        }
        // No outline: whoever asks for a range knows the file, and it would often be longer than the range.
        text.push_str(&not_shown(first, &fetched, total));
        Ok(text)
    }

    /// The range, if it is one. Whoever gets it wrong is told how many lines there are.
    fn checked(&self, first: i64, last: Option<i64>) -> Result<(u64, u64), Failure> {
        let problem = if first < 1 {
            format!("start_line: {first} is not a line, lines count from 1")
        } else if let Some(last) = last.filter(|&last| last < 1) {
            format!("end_line: {last} is not a line, lines count from 1")
        } else if let Some(last) = last.filter(|&last| last < first) {
            format!("end_line: {last} is before start_line {first}")
        } else {
            return Ok((
                first.unsigned_abs(),
                last.map_or(u64::MAX, i64::unsigned_abs),
            ));
        };
        let total = self.source.count_lines()?;
        Err(Failure::invalid_arguments(format!(
            "{problem}; '{}' has {}",
            self.path,
            lines(total)
        )))
    }

    /// Fetches lines until the last one wanted, the end of the file or the end of the page.
    fn fetch(&self, first: u64, last: u64) -> Result<Fetched, Failure> {
        let mut fetched = Fetched {
            last: first.saturating_sub(1),
            ..Fetched::default()
        };
        while fetched.last < last && !fetched.at_end {
            let wanted = u32::try_from(last - fetched.last)
                .unwrap_or(u32::MAX)
                .min(FETCH_LINES);
            let mut answer = self
                .source
                .read_lines(fetched.last + 1, wanted, FETCH_BYTES, MAX_LINE_BYTES)
                .map_err(|error| match error {
                    Error::WrongKind(problem) => self.not_utf8(&problem),
                    error => error.into(),
                })?;
            // No lines mean the end, whatever else the answer says: anything else would not end.
            let at_end = answer.at_end || answer.lines.is_empty();
            for line in &mut answer.lines {
                let number = fetched.last + 1;
                if number == 1 && line.text.starts_with(BYTE_ORDER_MARK) {
                    line.text.drain(..BYTE_ORDER_MARK.len_utf8());
                }
                if !fetched.page.push(number, line) {
                    return Ok(fetched);
                }
                fetched.last = number;
            }
            fetched.at_end = at_end;
        }
        Ok(fetched)
    }

    /// How many lines there are, unless finding out takes too long.
    fn total(&self, fetched: &Fetched) -> Result<Option<u64>, Failure> {
        if fetched.at_end {
            Ok(Some(fetched.last))
        } else if self.bytes <= COUNT_FILE_BYTES {
            Ok(Some(self.source.count_lines()?))
        } else {
            Ok(None)
        }
    }

    /// The lines below a line that says which they are.
    fn with_header(
        &self,
        first: u64,
        fetched: &Fetched,
        total: Option<u64>,
    ) -> Result<String, Failure> {
        let last = fetched.last;
        let whole = first == 1 && fetched.at_end;
        let which = match total {
            Some(total) if whole => lines(total),
            Some(total) if first == last => format!("line {first} of {total}"),
            Some(total) => format!("lines {first}-{last} of {total}"),
            None => format!("lines {first}-{last} of a file of {}", size(self.bytes)),
        };
        let notes: String = self
            .notes(fetched)?
            .iter()
            .map(|note| format!("; {note}"))
            .collect();
        Ok(format!(
            "File '{}': {which}{notes}\n{}",
            self.path,
            fetched.page.as_str()
        ))
    }

    /// What the numbered lines do not show, and an editor of the file has to know.
    fn notes(&self, fetched: &Fetched) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        if self.head.starts_with(&[0xEF, 0xBB, 0xBF]) {
            notes.push("begins with a byte order mark".to_owned());
        }
        if self.head.windows(2).any(|pair| pair == b"\r\n") {
            notes.push("lines end with CRLF".to_owned());
        }
        if fetched.at_end && self.source.read_at(self.bytes.saturating_sub(1), 1)? != b"\n" {
            notes.push("no newline at the end".to_owned());
        }
        match fetched.page.shortened {
            0 => {}
            1 => notes.push("1 long line shortened".to_owned()),
            count => notes.push(format!("{count} long lines shortened")),
        }
        Ok(notes)
    }

    /// The outline under its heading, or why there is none; begins with a blank line.
    fn outline(&self, max_bytes: usize) -> Result<String, Failure> {
        let Some(language) = Language::of(self.path) else {
            return Ok(String::new());
        };
        if self.bytes > OUTLINE_FILE_BYTES {
            let limit = size(OUTLINE_FILE_BYTES);
            return Ok(format!(
                "\nNo outline: the file has {}, more than {limit}.\n",
                size(self.bytes)
            ));
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < OUTLINE_FILE_BYTES {
            let piece = self
                .source
                .read_at(bytes.len() as u64, OUTLINE_FETCH_BYTES)?;
            if piece.is_empty() {
                break;
            }
            bytes.extend(piece);
        }
        let entries = outline::outline(language, &String::from_utf8_lossy(&bytes));
        if entries.is_empty() {
            return Ok(String::new());
        }
        Ok(format!(
            "\nOutline:\n{}",
            outline::render(entries, max_bytes)
        ))
    }

    fn not_utf8(&self, problem: &str) -> Failure {
        Failure::failed(format!(
            "'{}' is not UTF-8 text throughout: {problem}. Read the lines before or after that one with start_line \
             and end_line",
            self.path
        ))
    }
}

fn refuse_binary(path: &str, head: &[u8], bytes: u64) -> Result<(), Failure> {
    let size = size(bytes);
    if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
        return Err(Failure::failed(format!(
            "'{path}' ({size}) is UTF-16 text, only UTF-8 can be read"
        )));
    }
    if head.contains(&0) {
        return Err(Failure::failed(format!(
            "'{path}' is a binary file ({size}); text, PNG, JPEG, GIF, WebP and PDF can be read"
        )));
    }
    Ok(())
}

fn lines(count: u64) -> String {
    if count == 1 {
        "1 line".to_owned()
    } else {
        format!("{count} lines")
    }
}

/// The lines from one to the end of the file.
fn rest(first: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total == first => format!("line {total}"),
        Some(total) => format!("lines {first}-{total}"),
        None => format!("lines from {first} on"),
    }
}

/// The lines around a range; nothing when it is the whole file.
fn not_shown(first: u64, fetched: &Fetched, total: Option<u64>) -> String {
    let mut around = Vec::new();
    if first > 1 {
        around.push(rest(1, Some(first - 1)));
    }
    if !fetched.at_end {
        around.push(rest(fetched.last + 1, total));
    }
    match around.as_slice() {
        [] => String::new(),
        parts => format!("[{} not shown]\n", parts.join(" and ")),
    }
}

/// What of a selection had no room, and how to get it.
fn left_out(first: u64, last: u64) -> String {
    let which = rest(first, Some(last).filter(|&last| last < u64::MAX));
    format!("[{which} left out, too much for one answer; continue with start_line {first}]\n")
}
