//! The rows of a JSON document, indented: their text is made when they are drawn.
//!
//! The document is the request's own body, shared, or a copy where a character of it has to be escaped. A row is four bytes:
//! where it starts in the document.

use std::borrow::Cow;

use bytes::Bytes;
use dunlin_chat::media::without_base64;
use dunlin_host::display::{escape_multiline, width, width_of_char};
use dunlin_host::json;

use crate::ui::wrap;

/// How far each level stands in, in columns.
const INDENT: usize = 2;

/// Marks the start of a row that is the first of its line. The other bits are a place, so a document may have 2 GB.
const BEGINS_LINE: u32 = 1 << 31;

/// The depth of every so manieth row is kept; that of another one is found from there.
const ROWS_PER_DEPTH: usize = 64;

/// The rows of one document.
#[derive(Debug)]
pub struct Payload {
    json: Bytes,
    columns: usize,
    rows: Vec<u32>,
    /// The depth of the line of every [`ROWS_PER_DEPTH`]th row.
    depths: Vec<u32>,
    /// The colons behind the keys that are longer than the first row of their line.
    late_colons: Vec<u32>,
}

impl Payload {
    /// Lays a document out. `None`: it is not JSON, or too large for any request.
    pub fn new(body: &Bytes, columns: usize) -> Option<Payload> {
        let json = shown(body)?;
        let text = str::from_utf8(&json).ok()?;
        let mut payload = Payload {
            json: Bytes::new(),
            columns: columns.max(wrap::MIN_COLUMNS),
            rows: Vec::new(),
            depths: Vec::new(),
            late_colons: Vec::new(),
        };
        let mut written = String::new();
        for line in json::lines(text) {
            payload.push(text, &line, &mut written)?;
        }
        payload.rows.shrink_to_fit();
        payload.json = json;
        Some(payload)
    }

    /// Appends the rows of a line. `written` is scratch.
    fn push(&mut self, json: &str, line: &json::Line, written: &mut String) -> Option<()> {
        let indent = self.indent(line.depth);
        written.clear();
        written.extend(std::iter::repeat_n(' ', indent));
        line.write_text(json, written);
        let place = |written: usize| {
            let place = line.place.start + written.saturating_sub(indent);
            // The space behind the colon is not in the document.
            let is_behind = line.colon.is_some_and(|colon| place > colon + 1);
            place - usize::from(is_behind)
        };
        for (number, row) in wrap::places(written, self.columns, width_of_char)
            .into_iter()
            .enumerate()
        {
            if self.rows.len().is_multiple_of(ROWS_PER_DEPTH) {
                self.depths.push(u32::try_from(line.depth).ok()?);
            }
            let start = place(row.start);
            let start = u32::try_from(start).ok().filter(|at| *at < BEGINS_LINE)?;
            self.rows.push(match number {
                0 => start | BEGINS_LINE,
                _ => start,
            });
            if number == 1
                && let Some(colon) = line.colon.filter(|colon| *colon >= start as usize)
            {
                self.late_colons.push(u32::try_from(colon).ok()?);
            }
        }
        Some(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The text of a row.
    pub fn get(&self, at: usize) -> Option<String> {
        let row = *self.rows.get(at)?;
        let start = place(row);
        let end = self.rows.get(at + 1).map(|next| place(*next));
        let text = self.json.get(start..end.unwrap_or(self.json.len()))?;
        let text = str::from_utf8(text).ok()?;
        let begins_line = row & BEGINS_LINE != 0;
        let colon = match begins_line {
            true => json::colon(text),
            false => {
                let before = |colon: &u32| (*colon as usize) < start;
                let next = self.late_colons.partition_point(before);
                let next = self.late_colons.get(next);
                next.map(|colon| *colon as usize - start)
            }
        };
        let indent = match begins_line {
            true => self.indent(self.depth(at)?),
            false => 0,
        };
        let (key, value) = colon
            .and_then(|colon| text.split_at_checked(colon + 1))
            .map_or((text, None), |(key, value)| (key, Some(value)));
        let mut shown = format!("{:indent$}{key}", "");
        if let Some(value) = value {
            shown.push(' ');
            shown.push_str(value);
        }
        // As where it was broken: a space behind a full row is left out.
        if shown.ends_with(' ') && width(&shown) > self.columns {
            shown.pop();
        }
        Some(shown)
    }

    /// The columns before a line. A line that is very deep has room, too.
    fn indent(&self, depth: usize) -> usize {
        (depth * INDENT).min(self.columns / 2)
    }

    /// How many objects and arrays the line of a row is in.
    fn depth(&self, at: usize) -> Option<usize> {
        let known = at / ROWS_PER_DEPTH;
        let mut depth = *self.depths.get(known)? as usize;
        let rows = self.rows.get(known * ROWS_PER_DEPTH + 1..=at)?;
        for row in rows.iter().filter(|row| **row & BEGINS_LINE != 0) {
            let start = place(*row);
            let before = start.checked_sub(1).and_then(|last| self.json.get(last));
            depth += usize::from(matches!(before, Some(b'{' | b'[')));
            let closes = matches!(self.json.get(start), Some(b'}' | b']'));
            depth = depth.saturating_sub(usize::from(closes));
        }
        Some(depth)
    }
}

fn place(row: u32) -> usize {
    (row & !BEGINS_LINE) as usize
}

/// A document as it can be shown, without white space between its values: itself, where it is that already. `None`: it is
/// not JSON.
fn shown(body: &Bytes) -> Option<Bytes> {
    let text = str::from_utf8(body)
        .ok()
        .filter(|text| json::is_json(text))?;
    let named = without_base64(text);
    let compact = match json::is_compact(&named) {
        true => Cow::Borrowed(&*named),
        false => Cow::Owned(json::compact(&named)),
    };
    let harmless = json::harmless(&compact);
    let escaped = escape_multiline(&harmless);
    Some(match *escaped == *text {
        true => body.clone(),
        false => Bytes::from(escaped.into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The same rows, made of the whole document.
    fn whole(json: &str, columns: usize) -> Vec<String> {
        let indented = json::indented(&json::harmless(json)).unwrap_or_default();
        let shown = escape_multiline(&indented);
        let rows = shown.split('\n').flat_map(|line| wrap::cut(line, columns));
        rows.map(str::to_owned).collect()
    }

    fn rows(json: &str, columns: usize) -> Vec<String> {
        let payload = Payload::new(&Bytes::from(json.to_owned()), columns).unwrap();
        (0..payload.len())
            .map(|at| payload.get(at).unwrap())
            .collect()
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = "[a-c{}\\[\\],:\"\\\\ \n\u{301}\u{202e}日]{0,40}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 64, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(text, inner, 0..6)
                    .prop_map(|members| members.into_iter().collect())
            ]
        })
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_indented_document(value in values(), columns in 20_usize..60) {
            let json = value.to_string();
            prop_assert_eq!(rows(&json, columns), whole(&json, columns));
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(rows(&spaced, columns), whole(&json, columns));
        }
    }

    #[test]
    fn the_body_is_shared_and_a_row_is_four_bytes() {
        let texts: Vec<Value> = (0..200)
            .map(|number| json!({"content": "süß 日本 ".repeat(number)}))
            .collect();
        let body = Bytes::from(Value::from(texts).to_string());
        let payload = Payload::new(&body, 40).unwrap();
        assert_eq!(payload.json.as_ptr(), body.as_ptr());
        assert_eq!(payload.rows.capacity(), payload.len());
        assert!(payload.depths.len() <= payload.len() / ROWS_PER_DEPTH + 1);
        assert!(Payload::new(&Bytes::from_static(b"[1"), 40).is_none());
        assert!(Payload::new(&Bytes::from_static(b"\xff"), 40).is_none());
    }

    #[test]
    fn what_is_very_deep_has_room() {
        let json = format!("{}\"a word\"{}", "[".repeat(60), "]".repeat(60));
        let rows = rows(&json, 20);
        assert_eq!(rows.len(), 121);
        assert_eq!(rows[60], "          \"a word\"");
        assert_eq!(rows[120], "]");
    }
}
