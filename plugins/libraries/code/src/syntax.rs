//! Whether a file parses, and where it does not.
//!
//! This answers one question: did an edit break a file? A file that did not parse before the edit is written in a dialect
//! or a template that the grammar does not know, so nothing is said about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::de::IgnoredAny;

use crate::language::{Language, language_of};
use crate::source::{self, is_shallow};

/// How deep brackets of TOML may be nested; its parser reports deeper ones as an error.
const MAX_TOML_NESTING: usize = 60;

/// What reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Code(Language),
    /// TypeScript without elements: it has type assertions and generic functions that a `tsx` file cannot have.
    PlainTypeScript,
    Json,
    Toml,
}

/// What a parser says of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Parses,
    /// The line, counted from 0, up to which it parses.
    Fails(usize),
    /// It is too large or too deeply nested, took too long, or is written in a dialect.
    Unknown,
}

/// The line, counted from 1, at which a file does not parse any more after an edit. `None` if it parses, if it did not
/// parse before, or if nothing is known. `name` is the file's name; `before` is `None` for a new file.
///
/// The line lies within what the edit changed: it is where the parser gave up, or the changed line nearest to it.
pub fn broken_line(name: &str, before: Option<&str>, after: &str) -> Option<usize> {
    let format = format_of(name)?;
    let Verdict::Fails(line) = parse(format, after) else {
        return None;
    };
    match before {
        // Macros may stand for anything, and a grammar does not expand them: half of all C that compiles does not parse.
        None if matches!(format, Format::Code(Language::C | Language::Cpp)) => return None,
        Some(before) if parse(format, before) != Verdict::Parses => return None,
        Some(_) | None => {}
    }
    let (first, last) = changed_lines(before.unwrap_or_default(), after);
    Some(line.clamp(first, last) + 1)
}

fn format_of(name: &str) -> Option<Format> {
    let extension = name.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match extension.as_str() {
        // The compiler reads these with comments and with commas at the end.
        "json" if name.starts_with("tsconfig") || name.starts_with("jsconfig") => return None,
        "json" => Format::Json,
        "toml" => Format::Toml,
        "ts" | "mts" | "cts" => Format::PlainTypeScript,
        _ => Format::Code(language_of(name)?),
    })
}

fn parse(format: Format, text: &str) -> Verdict {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Verdict::Parses;
    }
    match format {
        Format::Code(language) => code(&language.grammar(), text),
        Format::PlainTypeScript => code(&tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), text),
        Format::Json => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Verdict::Parses,
            Err(error) => {
                let line = error.line().saturating_sub(1);
                let rest = text.lines().nth(line).unwrap_or_default().as_bytes();
                match rest.get(error.column().saturating_sub(1)) {
                    // The settings of many programs are JSON with comments.
                    Some(b'/') => Verdict::Unknown,
                    Some(_) | None => Verdict::Fails(line),
                }
            }
        },
        Format::Toml if !is_shallow(text.as_bytes(), MAX_TOML_NESTING) => Verdict::Unknown,
        Format::Toml => match toml::de::DeTable::parse(text) {
            Ok(_) => Verdict::Parses,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let read = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
                Verdict::Fails(newlines(read))
            }
        },
    }
}

fn code(grammar: &tree_sitter::Language, text: &str) -> Verdict {
    let Some(tree) = source::tree(grammar, text, None) else {
        return Verdict::Unknown;
    };
    if !tree.root_node().has_error() {
        return Verdict::Parses;
    }
    // The tree shows how the parser recovered, and an error in it may begin far above the place. So the text is parsed
    // once more, up to that place.
    let watch = Watch::default();
    source::tree(grammar, text, Some(&watch));
    Verdict::Fails(watch.row())
}

/// Follows a parser through its log to the place where it begins to recover from an error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    /// The row that one of the alternatives has reached.
    row: AtomicUsize,
    /// The last row in which an alternative ended.
    last: AtomicUsize,
    is_over: AtomicBool,
}

impl Watch {
    /// Whether the place was found.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Relaxed)
    }

    /// The row, counted from 0, of the last token before the place.
    fn row(&self) -> usize {
        self.0.last.load(Ordering::Relaxed)
    }

    /// Reads one message of the parser.
    pub(crate) fn read(&self, message: &str) {
        if self.is_over() {
            return;
        }
        if message.starts_with("process ") {
            let row = message.split_once("row:").map_or("", |(_, rest)| rest);
            let digits = row.split(',').next().unwrap_or_default();
            self.0
                .row
                .store(digits.parse().unwrap_or(0), Ordering::Relaxed);
        } else if message.starts_with("detect_error") {
            let row = self.0.row.load(Ordering::Relaxed);
            self.0.last.fetch_max(row, Ordering::Relaxed);
        } else if message.starts_with("resume ") {
            self.0.is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// The first and the last line, counted from 0, in which `after` differs from `before`. Where lines only went, both are the
/// line that follows them. Blank lines at the end of the text are left out.
fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |(old, new): &(&&str, &&str)| old == new;
    let first = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - first;
    let kept = old.iter().rev().zip(new.iter().rev()).take(most);
    let kept = kept.take_while(same).count();
    let end = newlines(after.trim_end().as_bytes());
    let first = first.min(end);
    (
        first,
        (new.len() - kept).saturating_sub(1).clamp(first, end),
    )
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests;
