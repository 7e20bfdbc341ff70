//! Reads the arguments of a call as models and servers really write them.
//!
//! What is taken is a value that stands in the text, whole. Where it is not JSON but the slip can only be meant in
//! one way, it is [mended](super::repair) and marked, so that the user is told. Everything else goes back to the
//! model as an error.

use serde_json::{Map, Value};

use super::repair::mend;

/// What a text of arguments is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Arguments {
    Read(Map<String, Value>),
    /// An object, once the text was mended.
    Repaired(Map<String, Value>),
    /// The beginning of one: the reply was cut, whatever reason the server gave.
    Unfinished,
    Malformed(String),
}

/// Reads a text of arguments. Nothing, `null` and white space stand for no arguments.
pub(super) fn read(text: &str) -> Arguments {
    read_values(text, true)
}

fn read_values(text: &str, may_be_quoted: bool) -> Arguments {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = match values.next() {
        None => return Arguments::Read(Map::new()),
        Some(Ok(first)) => first,
        Some(Err(error)) if error.is_eof() => return Arguments::Unfinished,
        Some(Err(error)) => {
            // Some servers send the opening brace twice.
            return match text.trim_start().strip_prefix('{') {
                Some(rest) if rest.trim_start().starts_with('{') => read_values(rest, false),
                _ => repaired(text, &error),
            };
        }
    };
    match first {
        Value::Object(first) if first.is_empty() => match values.next() {
            // Some servers open with an empty object and send the real one after it.
            Some(Ok(Value::Object(second))) => Arguments::Read(second),
            Some(Err(error)) if error.is_eof() => Arguments::Unfinished,
            _ => Arguments::Read(first),
        },
        // What follows is the same object once more, or the remains of a template.
        Value::Object(first) => Arguments::Read(first),
        Value::Null => Arguments::Read(Map::new()),
        Value::String(quoted) if may_be_quoted => read_values(&quoted, false),
        other => Arguments::Malformed(format!("a JSON object is needed, not {}", kind(&other))),
    }
}

fn repaired(text: &str, error: &serde_json::Error) -> Arguments {
    let mended = mend(text);
    match serde_json::from_str(&mended) {
        Ok(arguments) => Arguments::Repaired(arguments),
        Err(error) if error.is_eof() => Arguments::Unfinished,
        Err(_) => Arguments::Malformed(format!("not valid JSON: {error}")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let seen = match read(text) {
            Arguments::Read(object) => Value::Object(object).to_string(),
            Arguments::Repaired(object) => format!("mended {}", Value::Object(object)),
            Arguments::Unfinished => "unfinished".to_owned(),
            Arguments::Malformed(problem) => problem,
        };
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn arguments_in_the_wild() {
        check(r#"{"a":1}"#, r#"{"a":1}"#);
        check("", "{}");
        check(" \n", "{}");
        check("null", "{}");
        check(r#"{"a":1}{"a":1}"#, r#"{"a":1}"#);
        check(r#"{"a":1}</tool_call>"#, r#"{"a":1}"#);
        check(r#"{}{"a":1}"#, r#"{"a":1}"#);
        check(r#"{{"a":1}"#, r#"{"a":1}"#);
        check(r#"{{"a":1}}"#, r#"{"a":1}"#);
        check(r#""{\"a\":1}""#, r#"{"a":1}"#);
        check(r#"{"a":"b"#, "unfinished");
        check("{", "unfinished");
        check(r#"{}{"a":"#, "unfinished");
        check(r#"{'a':1}"#, r#"mended {"a":1}"#);
        check("{\"a\":\"one\ntwo\"}", r#"mended {"a":"one\ntwo"}"#);
        check("{\"a\":\"one\ntw", "unfinished");
        check(
            r#"{a:1}"#,
            "not valid JSON: key must be a string at line 1 column 2",
        );
        check("[1]", "a JSON object is needed, not an array");
        check(r#""\"x\"""#, "a JSON object is needed, not a string");
        check(
            "run it",
            "not valid JSON: expected value at line 1 column 1",
        );
    }
}
