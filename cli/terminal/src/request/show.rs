//! A section in full, what was changed in a request, and the request as it is sent.

use dunlin_chat::media::without_base64;
use dunlin_chat::request::editor::{
    Difference, EditableRequest, Leaf, LeafKind, Row, RowValue, SavedEdit, SectionKind,
};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, escape_multiline, one_line, width};
use dunlin_host::json;
use serde_json::Value;

use super::difference;
use crate::approval::look::{MARGIN, Window};
use crate::approval::text::{BAR, room};
use crate::ui::calls::fit;
use crate::ui::style::{Label, Styles};
use crate::ui::wrap;

/// How far text of a section stands in.
const INDENT: usize = 4;

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
    for (index, row) in values.iter().enumerate() {
        match &row.value {
            // The values in it follow.
            RowValue::Leaf(leaf) if leaf.holds_json && follows(&values, index) => {}
            RowValue::Leaf(leaf) => rows.extend(value(row, leaf, window)),
            RowValue::Object(0) => rows.extend(empty(row, "{}", window)),
            RowValue::Array(0) => rows.extend(empty(row, "[]", window)),
            RowValue::Object(_) | RowValue::Array(_) => {}
        }
    }
    rows
}

/// One value: on the row of its path if it fits there, otherwise below it.
fn value(row: &Row, leaf: &Leaf, window: Window) -> Vec<String> {
    let path = path_of(row);
    if let Some(media) = leaf.media() {
        return vec![format!(
            "{}  [{media}]",
            heading("  ", &path, window).join("\n")
        )];
    }
    let mark = match leaf.is_edited {
        true => "* ",
        false => "  ",
    };
    let shown = leaf.text();
    let is_short = !shown.contains('\n')
        && width(&path) + width(&escape(&shown)) + INDENT + 4 < window.columns;
    let head = heading(mark, &path, window);
    if is_short {
        let head = head.join("\n");
        let shown = match leaf.kind {
            LeafKind::String => format!("\"{}\"", escape(&shown)),
            _ => escape(&shown).into_owned(),
        };
        return vec![format!("{head}  {shown}")];
    }
    let mut rows = head;
    rows.extend(text(&shown, window));
    rows
}

/// An object or an array without values: its key says something, too.
fn empty(row: &Row, value: &str, window: Window) -> Vec<String> {
    let mut rows = heading("  ", &path_of(row), window);
    if let Some(last) = rows.last_mut() {
        last.push_str("  ");
        last.push_str(value);
    }
    rows
}

/// Whether the value at this index holds the one behind it.
fn follows(values: &[Row], index: usize) -> bool {
    let depth = |index: usize| values.get(index).map(|row| row.depth);
    depth(index + 1) > depth(index)
}

fn path_of(row: &Row) -> String {
    let path = match &row.path {
        Some(path) => path.to_string(),
        None => row.target.path.to_string(),
    };
    escape(&path).into_owned()
}

/// A path above or before its value. It may be foreign for the most part: one that does not fit stands behind a bar.
fn heading(mark: &str, path: &str, window: Window) -> Vec<String> {
    if MARGIN.len() + mark.len() + width(path) + 6 < window.columns {
        let path = window.styles.paint(Label::Quiet, path);
        return vec![format!("{MARGIN}{mark}{path}")];
    }
    text(path, window)
}

/// A text behind a bar.
pub(super) fn text(text: &str, window: Window) -> Vec<String> {
    let columns = room(INDENT, window.columns);
    let bar = window.styles.paint(Label::Quiet, BAR);
    let shown = escape_multiline(text).replace('\t', "    ");
    let pieces = shown.split('\n').flat_map(|line| wrap::cut(line, columns));
    let margin = " ".repeat(INDENT);
    pieces
        .map(|piece| format!("{margin}{bar}{piece}"))
        .collect()
}

/// The arguments of the call that a section is the result of.
pub fn arguments(request: &EditableRequest, number: usize) -> Option<String> {
    let message = |number| serde_json::from_str::<Value>(request.text(number)?).ok();
    let result = message(number)?;
    let fields = ["tool_call_id", "tool_use_id", "call_id"];
    let id = fields.iter().find_map(|field| result.get(field))?;
    (1..number).rev().find_map(|before| {
        let is_call = request.section(before)?.kind == SectionKind::Assistant;
        let message = message(before).filter(|_| is_call)?;
        // Either its calls, or blocks of which only calls have an id; or it is a call itself.
        let calls = ["tool_calls", "content"].into_iter();
        let mut calls = calls
            .filter_map(|list| message.get(list)?.as_array())
            .flatten();
        let call = match message.get("call_id") {
            Some(own) if own == id => &message,
            _ => calls.find(|call| call.get("id") == Some(id))?,
        };
        let arguments = call.pointer("/function/arguments");
        match arguments.or(call.get("arguments")).or(call.get("input"))? {
            Value::String(text) => Some(text.clone()),
            arguments => Some(arguments.to_string()),
        }
    })
}

/// What was changed, word by word: `[-gone-]` and `{+new+}`, as git writes it. `saved`: edits that were kept for later
/// requests, each with what its heading says of that; where two are the same the later one decides.
pub fn differences(
    request: &EditableRequest,
    saved: &[(SavedEdit, String)],
    window: Window,
) -> Vec<String> {
    let mut rows = Vec::new();
    for difference in request.differences() {
        let note = note(request, saved, &difference);
        match difference {
            Difference::Deleted { number } => {
                let label = label(request, number, window);
                let row = format!("- {number} {label}  deleted{note}");
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
                let label = label(request, number, window);
                let path = escape(&target.path.to_string()).into_owned();
                let path = fit(&path, window.columns / 2);
                let (words, what) = difference::of_values(old.as_deref(), new.as_deref());
                let heading = format!("* {number} {label}  {path}{what}{note}");
                rows.push(format!(
                    "{MARGIN}{}",
                    window.styles.paint(Label::Name, &heading)
                ));
                let words = words.rows(Styles::plain());
                rows.extend(words.iter().flat_map(|row| text(row, window)));
            }
        }
    }
    rows
}

/// What is said of a difference that was kept for later requests, behind two spaces.
pub fn note(
    request: &EditableRequest,
    saved: &[(SavedEdit, String)],
    difference: &Difference,
) -> String {
    let kept = request.saved(difference);
    let mut saved = saved.iter().rev();
    let note = saved.find(|(edit, _)| kept.as_ref() == Some(edit));
    note.map_or_else(String::new, |(_, note)| format!("  {note}"))
}

/// The values that contain a text, regardless of case: a row each, with the text around the first place.
pub fn found(request: &EditableRequest, text: &str, window: Window) -> Vec<String> {
    let needle = text.to_lowercase();
    let mut rows = Vec::new();
    for number in 1..=request.sections().len() {
        for row in request.rows(number) {
            let RowValue::Leaf(leaf) = &row.value else {
                continue;
            };
            if leaf.media().is_some() {
                continue;
            }
            let value = leaf.text();
            let Some(at) = value.to_lowercase().find(&needle) else {
                continue;
            };
            let path = fit(&path_of(&row), window.columns / 2);
            let head = format!("{number:>5}  {path}  ");
            let room = window
                .columns
                .saturating_sub(MARGIN.len() + width(&head) + 1);
            let around = one_line(around(&value, at, room / 3));
            let around = super::list::beginning(&around, room);
            rows.push(format!(
                "{MARGIN}{head}{}",
                window.styles.paint(Label::Quiet, &around)
            ));
        }
    }
    if rows.is_empty() {
        rows.push(format!("{MARGIN}Not found."));
    }
    rows
}

/// A text from some characters before a place on. The place may be one of the text in lower case.
fn around(text: &str, at: usize, before: usize) -> &str {
    let mut start = text.floor_char_boundary(at.min(text.len()).saturating_sub(before));
    if start > 0 {
        // Begins with a word.
        let word = text
            .get(start..)
            .and_then(|text| text.find(char::is_whitespace));
        start += word
            .filter(|word| start + word < at)
            .map_or(0, |word| word + 1);
    }
    text.get(start..).unwrap_or_default()
}

fn label(request: &EditableRequest, number: usize, window: Window) -> String {
    let section = request.section(number);
    let columns = window.columns / 3;
    section.map_or_else(String::new, |section| {
        fit(&one_line(&section.label), columns)
    })
}

/// What is said beside JSON in which pictures and documents are only named.
pub const SHORTENED: &str = "Images and documents are named here and sent whole.";

/// The JSON that would be sent, and what there is to say about it. Characters that could act on the terminal or hide in it
/// are written as JSON writes them, `\u001b`: the same value in other bytes.
pub fn payload(request: &EditableRequest) -> (String, Option<String>) {
    let bytes = String::from_utf8_lossy(request.bytes());
    let named = without_base64(&bytes);
    let shown = json::harmless(&named).into_owned();
    let shortened = (named.len() != bytes.len()).then(|| SHORTENED.to_owned());
    let escaped = (shown != *named).then(|| {
        let changed = named
            .chars()
            .filter(|c| dunlin_host::display::needs_escape(*c))
            .count();
        let changed = counted(changed, "character is", "characters are");
        format!(
            "{changed} written as \\u here and sent as they are: they could control the terminal."
        )
    });
    let notices: Vec<String> = shortened.into_iter().chain(escaped).collect();
    let notice = (!notices.is_empty()).then(|| notices.join(" "));
    (shown, notice)
}

#[cfg(test)]
mod tests {
    use dunlin_chat::media::Media;
    use dunlin_chat::media::samples::png;
    use dunlin_chat::request::editor::{Origin, Outline, SectionId};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_edit_that_decides_names_its_scope() {
        let body = json!({"model": "m", "messages": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Again"},
        ]});
        let origins: Vec<Origin> = vec![SectionId::Message(0).into()];
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        let mut request = EditableRequest::new(body.to_string().into(), outline);
        request.set_text(2, "Count the terns").unwrap();
        let edits = request.differences();
        let edit = request.saved(&edits[0]).expect("an edit that is kept");
        let saved = |note: &str| (edit.clone(), note.to_owned());
        // The narrowest scope is the last one.
        let saved = [saved("saved (global)"), saved("saved (session)")];
        let window = Window {
            columns: 80,
            rows: 24,
            styles: Styles::plain(),
        };
        let rows = differences(&request, &saved, window).join("\n");
        assert!(rows.contains("saved (session)"), "{rows}");
        assert!(!rows.contains("global"), "{rows}");
    }

    #[test]
    fn an_image_is_named_and_never_printed() {
        let media = Media::new("", &png(800, 600, 45_000)).unwrap();
        let body = json!({"model": "m", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "Which bird?"},
            {"type": "image_url", "image_url": {"url": media.data_url()}},
        ]}]});
        let origins: Vec<Origin> = vec![SectionId::Message(0).into()];
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        let mut request = EditableRequest::new(body.to_string().into(), outline);
        let window = Window {
            columns: 80,
            rows: 24,
            styles: Styles::plain(),
        };
        let named = "[image PNG 800×600, 45 kB]";
        let rows = section(&request, 1, "user", window);
        assert!(rows.iter().any(|row| row.ends_with(named)), "{rows:?}");
        assert_eq!(rows.len(), 6, "{rows:?}");
        assert_eq!(found(&request, &media.base64()[100..110], window).len(), 1);
        let (shown, notice) = payload(&request);
        assert!(shown.contains(named) && shown.len() < 300, "{shown}");
        assert_eq!(notice.as_deref(), Some(SHORTENED));
        // That is not all there is to say where characters are written otherwise.
        let body = request.bytes().to_vec();
        let body = String::from_utf8(body)
            .unwrap()
            .replace("bird", "b\u{202e}rd");
        let both = EditableRequest::new(body.into(), Outline::raw());
        let notice = payload(&both).1.unwrap();
        let escaped = "1 character is written as \\u here";
        assert!(
            notice.contains(SHORTENED) && notice.contains(escaped),
            "{notice}"
        );
        // What is edited beside it leaves it as it is.
        request.set_text(1, "Which tern?").unwrap();
        let sent = String::from_utf8(request.bytes().to_vec()).unwrap();
        assert!(sent.contains("Which tern?") && sent.contains(media.base64()));
        let rows = differences(&request, &[], window);
        assert_eq!(rows.len(), 2, "{rows:?}");
    }
}
