//! Writes JSON that is safe to print: no character in it controls a terminal or is invisible.
//!
//! serde_json escapes only the control characters of ASCII, as the standard demands. A user may print a log or a session
//! with `cat`, so every character that [`display::needs_escape`] names is written as `\uXXXX`. A parser reads the same
//! text.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;
use serde::de::IgnoredAny;

use crate::display;

/// Escapes the unsafe characters of a JSON document. Outside its strings JSON consists of ASCII, so every replaced character
/// is part of a string. Returns the document itself if there is nothing to replace.
pub fn harmless(json: &str) -> Cow<'_, str> {
    if is_harmless(json.as_bytes()) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        // An indented document has line ends and tabs between its values.
        if !display::needs_escape(c) || c.is_ascii_whitespace() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing into a text cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// Indents a JSON document without reading its values: numbers keep their digits, strings their escapes, and a key that is
/// repeated stays twice. `None`: the text is no JSON.
pub fn indented(json: &str) -> Option<String> {
    is_json(json).then(|| laid_out(json))
}

/// Whether a text is a JSON document.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn laid_out(json: &str) -> String {
    let json = compact(json);
    let mut out = String::with_capacity(json.len() * 2);
    for line in lines(&json) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n("  ", line.depth));
        line.write_text(&json, &mut out);
    }
    out
}

/// One line of an indented document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where its text is in the document without white space.
    pub place: Range<usize>,
    /// How many objects and arrays it is in.
    pub depth: usize,
    /// Where the colon behind its key is in the document; a space follows it.
    pub colon: Option<usize>,
}

impl Line {
    /// Appends its text, without its indentation.
    pub fn write_text(&self, json: &str, out: &mut String) {
        let text = |place| json.get(place).unwrap_or_default();
        match self.colon {
            Some(colon) => {
                out.push_str(text(self.place.start..colon + 1));
                out.push(' ');
                out.push_str(text(colon + 1..self.place.end));
            }
            None => out.push_str(text(self.place.clone())),
        }
    }
}

/// The lines that an indented JSON document would have, as places in it: nothing is copied. It has no white space between its
/// values, see [`compact`].
pub fn lines(json: &str) -> impl Iterator<Item = Line> {
    let mut tokens = Tokens(json).peekable();
    let (mut at, mut depth, mut opened) = (0_usize, 0_usize, false);
    let start = |at, depth| Line {
        place: at..at,
        depth,
        colon: None,
    };
    let mut line = start(0, 0);
    std::iter::from_fn(move || {
        while let Some(token) = tokens.next() {
            let begin = at;
            at += token.len();
            let was_opened = std::mem::replace(&mut opened, matches!(token, "{" | "["));
            // Where a line ends, if one does.
            let end = match token {
                "{" | "[" => {
                    depth += 1;
                    // An empty one stays on its line.
                    let closes = matches!(tokens.peek(), None | Some(&("}" | "]")));
                    (!closes).then_some(at)
                }
                "}" | "]" => {
                    depth = depth.saturating_sub(1);
                    (!was_opened).then_some(begin)
                }
                "," => Some(at),
                ":" => {
                    line.colon.get_or_insert(begin);
                    None
                }
                _ => None,
            };
            if let Some(end) = end {
                line.place.end = end;
                return Some(std::mem::replace(&mut line, start(end, depth)));
            }
        }
        line.place.end = at;
        let last = std::mem::replace(&mut line, start(at, depth));
        (!last.place.is_empty()).then_some(last)
    })
}

/// Where the colon is in a line that begins with a key and ends anywhere behind it.
pub fn colon(line: &str) -> Option<usize> {
    let mut tokens = Tokens(line);
    let key = tokens.next().filter(|key| key.starts_with('"'))?;
    (tokens.next() == Some(":")).then_some(key.len())
}

/// Whether there is no white space between the values of a JSON document; the text must be one.
pub fn is_compact(json: &str) -> bool {
    Tokens(json).map(str::len).sum::<usize>() == json.len()
}

/// Leaves out the white space between the values of a JSON document; the text must be one.
pub fn compact(json: &str) -> String {
    Tokens(json).collect()
}

/// The tokens of a JSON document, without the white space between them, and where each begins; the text must be one.
pub fn tokens(json: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut tokens = Tokens(json);
    std::iter::from_fn(move || {
        let token = tokens.next()?;
        Some((json.len() - tokens.0.len() - token.len(), token))
    })
}

struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_ascii_start();
        let end = match text.bytes().next()? {
            b'"' => string_length(text),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => {
                let ends = |byte: u8| b"{}[],:\"".contains(&byte) || byte.is_ascii_whitespace();
                text.bytes().position(ends).unwrap_or(text.len())
            }
        };
        let (token, rest) = text.split_at_checked(end)?;
        self.0 = rest;
        Some(token)
    }
}

/// The length of the string that a text begins with: all of the text if the string does not end.
fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        // What is escaped.
        at += 1;
    }
    text.len()
}

/// Writes a value on one line.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_string(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(owned)
}

/// Writes a value as an indented document.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn to_string_pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(owned)
}

/// Appends a value and a line end to `out`. On an error `out` is unchanged.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn append_line(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) -> serde_json::Result<()> {
    let start = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        out.truncate(start);
        return Err(error);
    }
    let written = out.get(start..).unwrap_or_default();
    if !is_harmless(written) {
        // serde_json writes nothing but UTF-8.
        let text = String::from_utf8_lossy(written);
        let safe = harmless(&text).into_owned();
        out.truncate(start);
        out.extend_from_slice(safe.as_bytes());
    }
    out.push(b'\n');
    Ok(())
}

fn owned(json: String) -> String {
    match harmless(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(safe) => safe,
    }
}

/// Whether a document is ASCII without DEL, the one control character of ASCII that serde_json does not escape.
fn is_harmless(json: &[u8]) -> bool {
    const DELETE: u8 = 0x7f;
    json.is_ascii() && memchr::memchr(DELETE, json).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_acts_is_escaped_and_reads_the_same() {
        let hostile = "a\u{9b}2Jb\u{7f}\u{202e}c\u{200b}\u{e0041}\u{90}\u{1b}]0;x\u{7} süß 日本 🎉";
        let value = json!({ hostile: [hostile, 1, null], "plain": "x" });
        let mut line = Vec::new();
        append_line(&value, &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        let pretty = to_string_pretty(&value).unwrap();
        for text in [&*to_string(&value).unwrap(), line.trim_end(), &pretty] {
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
            let acts = text
                .chars()
                .find(|&c| c != '\n' && display::needs_escape(c));
            assert_eq!(acts, None, "{text}");
            assert!(
                text.contains("a\\u009b2Jb\\u007f\\u202ec\\u200b\\udb40\\udc41"),
                "{text}"
            );
            assert!(text.contains("süß 日本 🎉"), "{text}");
        }
        assert!(matches!(harmless("{\"a\": 1}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        let unfit = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(append_line(&unfit, &mut out).is_err());
        assert_eq!(out, b"before");
    }

    proptest::proptest! {
        #[test]
        fn any_text_reads_the_same(text: String) {
            let written = to_string(&text).unwrap();
            proptest::prop_assert!(!written.chars().any(display::needs_escape));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }

    #[test]
    fn the_layout_changes_and_nothing_else() {
        let check = |json: &str, expected: &str| {
            assert_eq!(laid_out(json), expected);
            assert_eq!(compact(expected), json);
        };
        check("1e400", "1e400");
        check(r#"{"a":[],"b":{}}"#, "{\n  \"a\": [],\n  \"b\": {}\n}");
        check(
            r#"{"k":12345678901234567890123,"k":["{,:}","\\\"]",null]}"#,
            "{\n  \"k\": 12345678901234567890123,\n  \"k\": [\n    \"{,:}\",\n    \"\\\\\\\"]\",\n    null\n  ]\n}",
        );
        for text in ["", " ", "}", "\"", "[\"\\", "{]", "ä ö", "[1"] {
            assert_eq!(compact(&laid_out(text)), compact(text));
        }
    }

    /// Values of every kind, with texts that look like JSON.
    fn values() -> impl Strategy<Value = Value> {
        let text = "[a{}\\[\\],:\"\\\\ \n]{0,6}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(text, inner, 0..4)
                    .prop_map(|members| members.into_iter().collect())
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_is_indented_as_serde_does(value in values()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(laid_out(&text), serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(compact(&laid_out(&text)), text);
        }

        #[test]
        fn any_text_is_laid_out(text: String) {
            prop_assert_eq!(compact(&laid_out(&text)), compact(&text));
        }
    }
}
