//! The JSON Schema of what a tool takes, as constant text: a build that embeds a plugin reads it without running it.

/// A type of which the JSON Schema is known.
///
/// Derive it for the arguments of a tool: `#[derive(Deserialize, Schema)]`. Whoever implements it by hand begins the text with
/// `{` and ends it with `}`, without blank space around: derived schemas are put together from those of their fields.
pub trait Schema {
    /// The JSON Schema, an object.
    const SCHEMA: &'static str;
}

macro_rules! schemas {
    ($schema:literal: $($ty:ty),+) => {
        $(impl Schema for $ty {
            const SCHEMA: &'static str = $schema;
        })+
    };
}

schemas!(r#"{"type":"string"}"#: String, char);
schemas!(r#"{"type":"boolean"}"#: bool);
schemas!(r#"{"type":"integer"}"#: i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
schemas!(r#"{"type":"number"}"#: f32, f64);
schemas!("{}": serde_json::Value);
schemas!(r#"{"type":"object"}"#: serde_json::Map<String, serde_json::Value>);

/// What stands within the braces of a schema, with the closing one.
pub const fn members(schema: &str) -> [&str; 2] {
    ["", schema.split_at(1).1]
}

/// The same behind other members.
pub const fn more_members(schema: &str) -> [&str; 2] {
    let members = schema.split_at(1).1;
    match members.len() {
        1 => ["", members],
        _ => [",", members],
    }
}

/// Bytes of these texts together.
pub const fn length(texts: &[&str]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < texts.len() {
        sum += texts[at].len();
        at += 1;
    }
    sum
}

/// These texts one after the other.
pub const fn join<const SIZE: usize>(texts: &[&str]) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let (mut to, mut at) = (0, 0);
    while at < texts.len() {
        let text = texts[at].as_bytes();
        let mut from = 0;
        while from < text.len() {
            bytes[to] = text[from];
            to += 1;
            from += 1;
        }
        at += 1;
    }
    bytes
}

/// The text that was joined.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("texts one after the other are text"),
    }
}
