//! JSON text with the place of every value in it.
//!
//! `serde_json::Value` forgets how a number or a string was written, and `RawValue` and `arbitrary_precision` are
//! features that change every other reader of the workspace. The editor replaces single values and keeps all other
//! bytes, so it needs only where each value begins and ends.

use std::collections::HashSet;
use std::ops::Range;

use super::path::{Path, Step};

/// How deep values may nest; `serde_json` reads as deep.
const MAX_DEPTH: usize = 128;

/// How many members a small object has.
const SMALL: usize = 16;

/// What a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeafKind {
    /// Text.
    String,
    /// A number.
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
    let mut parser = Parser { text, at: 0 };
    let node = parser.value(0)?;
    parser.space();
    (parser.at == text.len()).then_some(node)
}

/// The text that a JSON string stands for.
pub(super) fn decode(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// A text as a JSON string.
pub(super) fn encode(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes this byte and the space after it, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.at += 1;
            self.space();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        let start = self.at;
        let shape = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' => {
                self.string()?;
                Shape::Leaf(LeafKind::String)
            }
            b'-' | b'0'..=b'9' => {
                self.number()?;
                Shape::Leaf(LeafKind::Number)
            }
            _ => Shape::Leaf(self.word()?),
        };
        let span = start..self.at;
        Some(Node { span, shape })
    }

    fn object(&mut self, depth: usize) -> Option<Shape> {
        self.take(b'{');
        let mut members: Vec<Member> = Vec::new();
        // Only of large objects: a few keys are compared faster than they are hashed.
        let mut keys = HashSet::new();
        while self.peek()? != b'}' {
            if !members.is_empty() && !self.take(b',') {
                return None;
            }
            let start = self.at;
            let key: Box<str> = self.string().and_then(decode)?.into();
            self.space();
            let is_twice = match members.len() {
                ..SMALL => members.iter().any(|member| member.key == key),
                SMALL => {
                    keys = members.iter().map(|member| member.key.clone()).collect();
                    !keys.insert(key.clone())
                }
                _ => !keys.insert(key.clone()),
            };
            if !self.take(b':') || is_twice {
                return None;
            }
            let value = self.value(depth + 1)?;
            self.space();
            members.push(Member { key, start, value });
        }
        self.at += 1;
        Some(Shape::Object(members.into()))
    }

    fn array(&mut self, depth: usize) -> Option<Shape> {
        self.take(b'[');
        let mut items = Vec::new();
        while self.peek()? != b']' {
            if !items.is_empty() && !self.take(b',') {
                return None;
            }
            items.push(self.value(depth + 1)?);
            self.space();
        }
        self.at += 1;
        Some(Shape::Array(items.into()))
    }

    /// Takes a string. Its escapes are those that `serde_json` reads.
    fn string(&mut self) -> Option<&str> {
        let start = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        let mut has_escapes = false;
        loop {
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            self.at += self.rest().as_bytes().iter().position(special)?;
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    self.at += 2;
                    // A character of several bytes is not an escape, and its middle no place to go on.
                    if !self.text.is_char_boundary(self.at) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        self.at += 1;
        let raw = self.text.get(start..self.at)?;
        (!has_escapes || decode(raw).is_some()).then_some(raw)
    }

    fn number(&mut self) -> Option<()> {
        let belongs = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        // The grammar alone: a number of any size and precision is kept as it is written.
        serde_json::from_str::<serde::de::IgnoredAny>(rest.get(..length)?).ok()?;
        self.at += length;
        Some(())
    }

    fn word(&mut self) -> Option<LeafKind> {
        let words = [
            ("true", LeafKind::Boolean),
            ("false", LeafKind::Boolean),
            ("null", LeafKind::Null),
        ];
        let rest = self.rest();
        let (word, kind) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
        self.at += word.len();
        Some(kind)
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
