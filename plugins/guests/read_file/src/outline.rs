//! Finds the landmarks of a file: functions, types, headings.
//!
//! Line by line and by simple patterns, so it is quick, needs no grammar and works on code that does
//! not parse. It may miss a declaration that is oddly laid out, and may take a line of a long string
//! for one; for finding one's way both are bearable.

mod rules;

use std::fmt::Write as _;

/// Entries of one outline. Beyond, the more deeply indented ones are left out first.
const MAX_ENTRIES: usize = 300;

/// Characters of one entry.
const MAX_ENTRY_CHARS: usize = 100;

/// A language whose landmarks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    C,
    Java,
    Ruby,
    Shell,
    Markdown,
    Sections,
}

impl Language {
    /// The language of a file, by the end of its name.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Self::JavaScript,
            "go" => Self::Go,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => Self::C,
            "java" | "cs" => Self::Java,
            "rb" | "rake" => Self::Ruby,
            "sh" | "bash" | "zsh" => Self::Shell,
            "md" | "markdown" => Self::Markdown,
            "toml" | "ini" | "cfg" => Self::Sections,
            _ => return None,
        })
    }
}

/// One landmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Counted from 1.
    pub line: u64,
    /// How far it is indented, in columns; a tab counts as four.
    pub indent: usize,
    /// The line, without what surrounds the declaration.
    pub text: String,
}

/// The landmarks of a text, in order.
pub fn outline(language: Language, text: &str) -> Vec<Entry> {
    let mut in_fence = false;
    let mut entries = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let trimmed = line.trim();
        if language == Language::Markdown
            && (trimmed.starts_with("```") || trimmed.starts_with("~~~"))
        {
            in_fence = !in_fence;
        }
        let indent = line
            .chars()
            .take_while(|c| c.is_whitespace())
            .map(|c| if c == '\t' { 4 } else { 1 })
            .sum();
        if !in_fence && rules::is_landmark(language, trimmed, indent) {
            entries.push(Entry {
                line: number,
                indent,
                text: rules::heading(language, trimmed),
            });
        }
    }
    entries
}

/// Lays out an outline: the number of the line, then the entry as indented as it was. What has no
/// room is named.
pub fn render(mut entries: Vec<Entry>, max_bytes: usize) -> String {
    let all = entries.len();
    while entries.len() > MAX_ENTRIES {
        let deepest = entries.iter().map(|entry| entry.indent).max().unwrap_or(0);
        if deepest == 0 {
            entries.truncate(MAX_ENTRIES);
        }
        entries.retain(|entry| deepest == 0 || entry.indent < deepest);
    }
    let mut text = String::new();
    let mut shown = 0;
    for entry in &entries {
        let cut: String = entry.text.chars().take(MAX_ENTRY_CHARS).collect();
        let dots = if cut.len() < entry.text.len() {
            "…"
        } else {
            ""
        };
        let line = format!(
            "{:>6}\t{:indent$}{cut}{dots}\n",
            entry.line,
            "",
            indent = entry.indent.min(MAX_INDENT)
        );
        if text.len() + line.len() > max_bytes {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    if shown < all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{} more not listed]", all - shown);
    }
    text
}

/// Columns of indentation that are kept: enough to see what belongs to what.
const MAX_INDENT: usize = 24;
