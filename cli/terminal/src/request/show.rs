//! A section in full, what was changed in a request, and the request as it is sent.

use dunlin_chat::request::editor::{Difference, EditableRequest, Leaf, LeafKind, Row, RowValue};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, escape_multiline, one_line, width};
use dunlin_host::edit::diff::Change;
use dunlin_host::edit::words::between;
use dunlin_host::json;

use crate::approval::look::{MARGIN, Window};
use crate::approval::text::{BAR, room, wrap};
use crate::ui::style::Label;

/// How far text of a section stands in.
const INDENT: usize = 4;

/// How many unchanged words stand around a changed one.
const CONTEXT_WORDS: usize = 8;

/// A section with all its values. `heading` is its first row.
pub fn section(
    request: &EditableRequest,
    number: usize,
    heading: &str,
    window: Window,
) -> Vec<String> {
    let mut rows = vec![format!(
        "{MARGIN}{}",
        window.styles.paint(Label::Name, heading)
    )];
    let values = request.rows(number);
    if values.is_empty() {
        // A body that is not JSON.
        rows.extend(text(request.text(number).unwrap_or_default(), window));
    }
    for row in &values {
        if let RowValue::Leaf(leaf) = &row.value {
            rows.extend(value(row, leaf, window));
        }
    }
    rows
}

/// One value: on the row of its path if it fits there, otherwise below it.
fn value(row: &Row, leaf: &Leaf, window: Window) -> Vec<String> {
    // The values in it follow.
    if leaf.holds_json {
        return Vec::new();
    }
    let path = match &row.path {
        Some(path) => path.to_string(),
        None => row.target.path.to_string(),
    };
    let path = escape(&path).into_owned();
    let mark = match leaf.is_edited {
        true => "* ",
        false => "  ",
    };
    let shown = leaf.text();
    let is_short = !shown.contains('\n')
        && width(&path) + width(&escape(&shown)) + INDENT + 4 < window.columns;
    let name = window.styles.paint(Label::Quiet, &path);
    let head = format!("{MARGIN}{mark}{name}");
    if is_short {
        let shown = match leaf.kind {
            LeafKind::String => format!("\"{}\"", escape(&shown)),
            _ => escape(&shown).into_owned(),
        };
        return vec![format!("{head}  {shown}")];
    }
    let mut rows = vec![head];
    rows.extend(text(&shown, window));
    rows
}

/// A text behind a bar.
fn text(text: &str, window: Window) -> Vec<String> {
    let columns = room(INDENT, window.columns);
    let bar = window.styles.paint(Label::Quiet, BAR);
    let shown = escape_multiline(text).replace('\t', "    ");
    let pieces = shown.split('\n').flat_map(|line| wrap(line, columns));
    let margin = " ".repeat(INDENT);
    pieces
        .map(|piece| format!("{margin}{bar}{piece}"))
        .collect()
}

/// What was changed, word by word: `[-gone-]` and `{+new+}`, as git writes it.
pub fn differences(request: &EditableRequest, window: Window) -> Vec<String> {
    let mut rows = Vec::new();
    for difference in request.differences() {
        match difference {
            Difference::Deleted { number } => {
                let label = label(request, number);
                let row = format!("- {number} {label}  deleted");
                rows.push(format!(
                    "{MARGIN}{}",
                    window.styles.paint(Label::Removed, &row)
                ));
            }
            Difference::Set {
                number,
                target,
                old,
                new,
            } => {
                let label = label(request, number);
                let path = escape(&target.path.to_string()).into_owned();
                let heading = format!("* {number} {label}  {path}");
                rows.push(format!(
                    "{MARGIN}{}",
                    window.styles.paint(Label::Name, &heading)
                ));
                let old = old.map_or_else(String::new, |old| decoded(&old));
                rows.extend(words(&old, &decoded(&new), window));
            }
        }
    }
    rows
}

fn label(request: &EditableRequest, number: usize) -> String {
    let section = request.section(number);
    section.map_or_else(String::new, |section| one_line(&section.label))
}

/// The text of a JSON string; of other values the JSON.
fn decoded(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}

/// Two texts compared word by word.
fn words(old: &str, new: &str, window: Window) -> Vec<String> {
    let words = between(old, new);
    let last = words.len().saturating_sub(1);
    let shown = words.iter().enumerate().map(|(index, words)| {
        let text = &words.text;
        match words.change {
            Change::Kept => around(text, index == 0, index == last),
            Change::Removed => format!("[-{text}-]"),
            Change::Added => format!("{{+{text}+}}"),
        }
    });
    text(&shown.collect::<String>(), window)
}

/// Of unchanged text the words next to a change.
fn around(text: &str, is_first: bool, is_last: bool) -> String {
    let pieces: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let head = if is_first { 0 } else { CONTEXT_WORDS };
    let tail = if is_last { 0 } else { CONTEXT_WORDS };
    if pieces.len() <= head + tail + 1 {
        return text.to_owned();
    }
    let before = pieces.iter().take(head).copied().collect::<String>();
    let after = pieces.iter().skip(pieces.len() - tail).copied();
    format!("{before} … {}", after.collect::<String>())
}

/// The JSON that would be sent, and what there is to say about it. Characters that could act on the terminal or hide in it
/// are written as JSON writes them, `\u001b`: the same value in other bytes.
pub fn payload(request: &EditableRequest) -> (String, Option<String>) {
    let bytes = String::from_utf8_lossy(request.bytes());
    let shown = json::harmless(&bytes).into_owned();
    let notice = (shown != bytes).then(|| {
        let changed = bytes
            .chars()
            .filter(|c| dunlin_host::display::needs_escape(*c))
            .count();
        let changed = counted(changed, "character is", "characters are");
        format!("{changed} written as \\u here and sent as they are: a terminal must not see them.")
    });
    (shown, notice)
}
