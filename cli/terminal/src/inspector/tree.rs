//! The selected section as rows of a tree.

use std::collections::HashSet;

use dunlin_chat::request::editor::{LeafKind, Row, RowValue, Step, Target};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, one_line, width};

use super::lines::{Line, Lines, Look};
use crate::approval::text::BAR_COLUMNS;
use crate::request::list;
use crate::ui::calls::fit;
use crate::ui::style::Label;

/// How far each level stands in, in columns.
const INDENT: usize = 2;

/// The deepest level that stands in further than the one above it: the text would have no room.
const MAX_INDENTED_DEPTH: usize = 10;

/// Columns of the longest key that is shown whole.
const MAX_KEY_COLUMNS: usize = 30;

/// The most bytes of text that a column shows: a character with all the marks that it can carry.
const MAX_BYTES_PER_COLUMN: usize = 20;

/// How much of a folded text is shown, in characters.
const PREVIEW_CHARS: usize = 60;

/// The rows of a section. Values in `folded` hide what they contain.
pub fn lines(rows: &[Row], folded: &HashSet<Target>, columns: usize) -> Lines {
    let mut lines = Lines::default();
    // Values deeper than this are hidden.
    let mut hidden_below: Option<usize> = None;
    for (index, row) in rows.iter().enumerate() {
        if hidden_below.is_some_and(|depth| row.depth > depth) {
            continue;
        }
        let is_folded = folded.contains(&row.target);
        hidden_below = is_folded.then_some(row.depth);
        // The section itself: the pane's title names it.
        if row.depth == 0 && !matches!(row.value, RowValue::Leaf(_)) {
            hidden_below = None;
            continue;
        }
        let follows = rows
            .get(index + 1)
            .is_some_and(|next| next.depth > row.depth);
        value(row, index, is_folded, follows, columns, &mut lines);
    }
    lines
}

fn value(
    row: &Row,
    index: usize,
    is_folded: bool,
    holds_rows: bool,
    columns: usize,
    lines: &mut Lines,
) {
    let depth = row.depth.saturating_sub(1).min(MAX_INDENTED_DEPTH);
    let indent = " ".repeat(depth * INDENT);
    let key = key(row);
    let fold = match is_folded {
        true => "▸ ",
        false => "▾ ",
    };
    let mut push = |pieces| {
        lines.push(Line {
            value: Some(index),
            pieces,
        });
    };
    match &row.value {
        RowValue::Object(0) => push(head(&indent, "  ", &key, false, "{}")),
        RowValue::Array(0) => push(head(&indent, "  ", &key, false, "[]")),
        RowValue::Object(count) => {
            let about = match is_folded {
                true => format!("{{{}}}", counted(*count, "value", "values")),
                false => String::new(),
            };
            push(head(&indent, fold, &key, false, &about));
        }
        RowValue::Array(count) => {
            let about = format!("[{count}]");
            push(head(&indent, fold, &key, false, &about));
        }
        RowValue::Leaf(leaf) if leaf.holds_json && holds_rows => {
            let about = match is_folded {
                true => one_line(&beginning(&leaf.beginning())),
                false => "JSON in a string".to_owned(),
            };
            push(head(&indent, fold, &key, leaf.is_edited, &about));
        }
        RowValue::Leaf(leaf) if leaf.media().is_some() => {
            let about = leaf.media().map(|media| format!("[{media}]"));
            push(head(
                &indent,
                "  ",
                &key,
                leaf.is_edited,
                &about.unwrap_or_default(),
            ));
        }
        RowValue::Leaf(leaf) => {
            let text = leaf.text();
            let room = columns.saturating_sub(indent.len() + INDENT + width(&key) + 4);
            let is_string = leaf.kind == LeafKind::String;
            // A long text is not even looked at.
            let may_fit = text.len() <= room * MAX_BYTES_PER_COLUMN && !text.contains('\n');
            if may_fit && width(&escape(&text)) <= room {
                let text = escape(&text);
                let shown = match is_string {
                    true => format!("\"{text}\""),
                    false => text.into_owned(),
                };
                push(
                    head(&indent, "  ", &key, leaf.is_edited, "")
                        .into_iter()
                        .chain([(Look::Plain, shown)])
                        .collect(),
                );
                return;
            }
            let about = match is_folded {
                true => {
                    let characters = counted(text.chars().count(), "character", "characters");
                    let room = room.saturating_sub(width(&characters) + 2);
                    let beginning = list::beginning(&one_line(&beginning(&text)), room);
                    format!("{beginning} ({characters})")
                }
                false => String::new(),
            };
            push(head(&indent, fold, &key, leaf.is_edited, &about));
            if !is_folded {
                let margin = indent.len() + INDENT;
                let room = columns.saturating_sub(margin + BAR_COLUMNS);
                lines.push_text(text.into_owned(), Some((index, margin)), room);
            }
        }
    }
}

/// The row with a value's name.
fn head(indent: &str, fold: &str, key: &str, is_edited: bool, about: &str) -> Vec<(Look, String)> {
    let look = match is_edited {
        true => Label::Warning,
        false => Label::Target,
    };
    let mark = match is_edited {
        true => "* ",
        false => "",
    };
    let mut pieces = vec![
        (Look::Label(Label::Quiet), format!("{indent}{fold}")),
        (Look::Label(look), format!("{mark}{key}")),
    ];
    if !key.is_empty() {
        pieces.push((Look::Label(Label::Quiet), ": ".to_owned()));
    }
    if !about.is_empty() {
        pieces.push((Look::Label(Label::Quiet), about.to_owned()));
    }
    pieces
}

fn key(row: &Row) -> String {
    match row.target.path.steps().last() {
        // The model may have chosen it; the path in the row below the panes has all of it.
        Some(Step::Key(key)) => fit(&one_line(key), MAX_KEY_COLUMNS),
        Some(Step::Index(index)) => index.to_string(),
        None => String::new(),
    }
}

fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(PREVIEW_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
