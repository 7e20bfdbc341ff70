//! JSON in strings, such as a call's `arguments`.
//!
//! A string that holds an object or an array can be walked like the rest of the body. To set a leaf in it rewrites
//! only that leaf's characters within the string, so that key order, spaces and escapes of all else stay.

use std::borrow::Cow;

use super::document::{self, LeafKind, Node, Shape};
use super::path::Step;

/// The text in a JSON string and the value that the text is, if it is an object or an array.
pub(super) fn open(raw: &str) -> Option<(String, Node)> {
    // Decoding is dear for long texts, and nearly none of them is JSON.
    let first = raw.get(1..)?.trim_start_matches(['\\', 'n', 'r', 't', ' ']);
    if !first.starts_with(['{', '[']) && !raw.contains("\\u") {
        return None;
    }
    let text = document::decode(raw)?;
    let node = document::parse(&text)?;
    (!matches!(node.shape, Shape::Leaf(_))).then_some((text, node))
}

/// A value within the text of a JSON string, or of a string in that, and so on.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    /// The value's own text.
    pub(super) raw: Cow<'a, str>,
    /// What it is; `None`: an object or an array.
    pub(super) kind: Option<LeafKind>,
}

/// The value that steps lead to from a value with this text. They may pass through strings.
pub(super) fn find<'a>(text: &'a str, root: &Node, steps: &[Step]) -> Option<Found<'a>> {
    let (node, rest) = root.reach(steps);
    let raw = text.get(node.span.clone())?;
    let kind = match node.shape {
        Shape::Leaf(kind) => Some(kind),
        _ => None,
    };
    if rest.is_empty() {
        let raw = Cow::Borrowed(raw);
        return Some(Found { raw, kind });
    }
    find_in(raw, kind?, rest)
}

/// The value that steps lead to from a leaf with this text.
pub(super) fn find_in<'a>(raw: &'a str, kind: LeafKind, steps: &[Step]) -> Option<Found<'a>> {
    if steps.is_empty() {
        let (raw, kind) = (Cow::Borrowed(raw), Some(kind));
        return Some(Found { raw, kind });
    }
    if kind != LeafKind::String {
        return None;
    }
    let (text, node) = open(raw)?;
    let found = find(&text, &node, steps)?;
    Some(Found {
        raw: Cow::Owned(found.raw.into_owned()),
        kind: found.kind,
    })
}

/// The text of a leaf after the value that steps lead to was set to `new`; without steps it is `new`.
pub(super) fn set(raw: &str, steps: &[Step], new: &str) -> Option<String> {
    if steps.is_empty() {
        return Some(new.to_owned());
    }
    let (text, root) = open(raw)?;
    let (node, rest) = root.reach(steps);
    if !matches!(node.shape, Shape::Leaf(_)) {
        return None;
    }
    let changed = set(text.get(node.span.clone())?, rest, new)?;
    let changed = document::encode(&changed);
    let escaped = changed.get(1..changed.len() - 1)?;
    let before = raw.get(..place(raw, node.span.start)?)?;
    let after = raw.get(place(raw, node.span.end)?..)?;
    Some([before, escaped, after].concat())
}

/// The JSON of a value after the leaf that steps lead to from it was set to `new`; without steps it is `new`.
pub(super) fn set_within(raw: &str, steps: &[Step], new: &str) -> Option<String> {
    let root = document::parse(raw)?;
    let (node, rest) = root.reach(steps);
    if !steps.is_empty() && !matches!(node.shape, Shape::Leaf(_)) {
        return None;
    }
    let changed = set(raw.get(node.span.clone())?, rest, new)?;
    let before = raw.get(..node.span.start)?;
    let after = raw.get(node.span.end..)?;
    Some([before, &changed, after].concat())
}

/// Where in a JSON string a byte of its text is written.
fn place(raw: &str, in_text: usize) -> Option<usize> {
    let (mut at, mut length) = (1, 0);
    while length < in_text {
        let rest = raw.get(at..)?;
        let (written, meant) = match rest.strip_prefix('\\') {
            Some(escape) if escape.starts_with('u') => {
                let unit = u32::from_str_radix(escape.get(1..5)?, 16).ok()?;
                match char::from_u32(unit) {
                    Some(c) => (6, c.len_utf8()),
                    // Half of a character beyond the first 65,536; the other half follows.
                    None => (12, 4),
                }
            }
            Some(_) => (2, 1),
            None => {
                let length = rest.chars().next()?.len_utf8();
                (length, length)
            }
        };
        at += written;
        length += meant;
    }
    (length == in_text).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_leafs_characters_change() {
        let check = |raw: &str, steps: &[Step], new: &str, expected: &str| {
            assert_eq!(set(raw, steps, new).as_deref(), Some(expected), "{raw}");
            let found = find_in(expected, LeafKind::String, steps).unwrap();
            assert_eq!(found.raw, new);
        };
        check(
            r#""{\"b\": 1, \"a\": \"x\"}""#,
            &["a".into()],
            r#""y\n""#,
            r#""{\"b\": 1, \"a\": \"y\\n\"}""#,
        );
        // Escapes that nobody has to write stay.
        check(
            r#""\u005b\"\u00e9\",1.0,\"\ud83e\udeb6\"]""#,
            &[1.into()],
            "2",
            r#""\u005b\"\u00e9\",2,\"\ud83e\udeb6\"]""#,
        );
        // A string in a string in a string.
        let inner = r#"{"c":[1,2]}"#;
        let middle = format!(r#"{{"b":{}}}"#, document::encode(inner));
        let outer = document::encode(&middle);
        let set_to = middle.replace("[1,2]", "[1,30]");
        check(
            &outer,
            &["b".into(), "c".into(), 1.into()],
            "30",
            &document::encode(&set_to),
        );
    }

    #[test]
    fn a_text_that_is_not_an_object_or_an_array_stays_a_text() {
        for raw in [
            r#""""#,
            r#""12""#,
            r#""true""#,
            r#""{""#,
            r#""[1""#,
            r#""{} {}""#,
            r#""a {}""#,
            "12",
        ] {
            assert!(open(raw).is_none(), "{raw}");
        }
        assert!(open(r#""\n {}""#).is_some());
        assert_eq!(set(r#""{\"a\":{}}""#, &["a".into()], "1"), None);
        assert_eq!(set(r#""{\"a\":1}""#, &["b".into()], "1"), None);
    }
}
