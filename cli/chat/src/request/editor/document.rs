//! JSON text with the place of every value in it.
//!
//! `serde_json::Value` forgets how a number or a string was written, and `RawValue` and `arbitrary_precision` are
//! features that change every other reader of the workspace. The editor replaces single values and keeps all other
//! bytes, so it needs only where each value begins and ends.

use std::collections::HashSet;
use std::ops::Range;

use dunlin_host::json;

use super::path::{Path, Step};

/// How deep values may nest; `serde_json` reads as deep.
const MAX_DEPTH: usize = 128;

/// How many members a small object has.
const SMALL: usize = 16;

/// What a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeafKind {
    String,
    Number,
    /// `true` or `false`.
    Boolean,
    /// `null`.
    Null,
}

impl LeafKind {
    /// What a value of this kind is called, with its article.
    pub fn name(self) -> &'static str {
        match self {
            LeafKind::String => "a string",
            LeafKind::Number => "a number",
            LeafKind::Boolean => "true or false",
            LeafKind::Null => "null",
        }
    }
}

/// A value and its place, in bytes of the text that it was read from.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) shape: Shape,
}

/// What is in a value.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Leaf(LeafKind),
    Array(Box<[Node]>),
    Object(Box<[Member]>),
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: Box<str>,
    /// Where the key begins.
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    /// The value that one step leads to.
    pub(super) fn child(&self, step: &Step) -> Option<&Node> {
        match (&self.shape, step) {
            (Shape::Array(items), Step::Index(index)) => items.get(*index),
            (Shape::Object(members), Step::Key(key)) => members
                .iter()
                .find(|member| *member.key == **key)
                .map(|member| &member.value),
            _ => None,
        }
    }

    /// The value that a path leads to.
    pub(super) fn find(&self, path: &Path) -> Option<&Node> {
        let mut steps = path.steps().iter();
        steps.try_fold(self, |node, step| node.child(step))
    }

    /// The last value on a path that is still in this text, and the steps that are left.
    pub(super) fn reach<'a>(&self, steps: &'a [Step]) -> (&Node, &'a [Step]) {
        let mut node = self;
        for (taken, step) in steps.iter().enumerate() {
            match node.child(step) {
                Some(child) => node = child,
                None => return (node, steps.get(taken..).unwrap_or_default()),
            }
        }
        (node, &[])
    }
}

/// Reads a whole text as one value.
///
/// `None`: the text is not JSON, a string in it is not Unicode, values nest too deep, or an object has a key twice, so
/// that a path would mean two values.
pub(super) fn parse(text: &str) -> Option<Node> {
    // The grammar alone: a number of any size and precision is kept as it is written.
    if !json::is_json(text) {
        return None;
    }
    let mut reader = Reader {
        tokens: json::tokens(text),
        end: 0,
    };
    let first = reader.next()?;
    reader.value(first, 0)
}

/// The text that a JSON string stands for.
pub(super) fn decode(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// A text as a JSON string.
pub(super) fn encode(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Makes values of the tokens of a text that is JSON.
struct Reader<T> {
    tokens: T,
    /// Where the last token ends.
    end: usize,
}

impl<'a, T: Iterator<Item = (usize, &'a str)>> Reader<T> {
    fn next(&mut self) -> Option<(usize, &'a str)> {
        let (start, token) = self.tokens.next()?;
        self.end = start + token.len();
        Some((start, token))
    }

    /// The value that begins with this token.
    fn value(&mut self, (start, token): (usize, &str), depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        let shape = match token.as_bytes().first()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' if token.contains('\\') && decode(token).is_none() => return None,
            b'"' => Shape::Leaf(LeafKind::String),
            b't' | b'f' => Shape::Leaf(LeafKind::Boolean),
            b'n' => Shape::Leaf(LeafKind::Null),
            _ => Shape::Leaf(LeafKind::Number),
        };
        let span = start..self.end;
        Some(Node { span, shape })
    }

    fn object(&mut self, depth: usize) -> Option<Shape> {
        let mut members: Vec<Member> = Vec::new();
        // Only of large objects: a few keys are compared faster than they are hashed.
        let mut keys = HashSet::new();
        loop {
            let (start, key) = match self.next()? {
                (_, "}") => return Some(Shape::Object(members.into())),
                (_, ",") => self.next()?,
                key => key,
            };
            let key: Box<str> = decode(key)?.into();
            let is_twice = match members.len() {
                ..SMALL => members.iter().any(|member| member.key == key),
                SMALL => {
                    keys = members.iter().map(|member| member.key.clone()).collect();
                    !keys.insert(key.clone())
                }
                _ => !keys.insert(key.clone()),
            };
            if is_twice {
                return None;
            }
            let _colon = self.next()?;
            let first = self.next()?;
            let value = self.value(first, depth + 1)?;
            members.push(Member { key, start, value });
        }
    }

    fn array(&mut self, depth: usize) -> Option<Shape> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (_, "]") => return Some(Shape::Array(items.into())),
                (_, ",") => {}
                first => items.push(self.value(first, depth + 1)?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_json_reads_is_read_and_nothing_else() {
        for text in [
            "{}",
            "[]",
            " [ 1 , 2.50 , -0 , 1e3 , 123456789012345678901234567890 ] ",
            r#"{"a" : {"b":[true,false,null]}, "" : "\u00e9\ud83e\udeb6\/"}"#,
            "\"ß🪶\"",
        ] {
            assert!(parse(text).is_some(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        }
        for text in [
            "",
            " ",
            "{",
            "[",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "-",
            "+1",
            "1e",
            "tru",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\ß\"",
            "\"\\ud800\"",
            "\"\n\"",
            "1 2",
            "[1 2]",
            "nul",
        ] {
            assert!(parse(text).is_none(), "{text}");
            assert!(
                serde_json::from_str::<serde_json::Value>(text).is_err(),
                "{text}"
            );
        }
        assert!(parse(r#"{"a":1,"\u0061":2}"#).is_none(), "one key twice");
        let many: Vec<String> = (0..40).map(|key| format!("\"{key}\":0")).collect();
        assert!(parse(&format!("{{{}}}", many.join(","))).is_some());
        assert!(parse(&format!("{{{},\"7\":0}}", many.join(","))).is_none());
        assert!(parse(&format!("{{{},\"39\":0}}", many.join(","))).is_none());
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&deep(127)).is_some());
        assert!(parse(&deep(100_000)).is_none());
    }
}
