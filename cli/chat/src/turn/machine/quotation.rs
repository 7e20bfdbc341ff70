//! Tells a call that is quoted from one that is meant.
//!
//! A model that is asked what a file says may end its answer with a block out of it, and where such a block looks like
//! a call nobody has decided to make it. Calls of the protocol are never quotations.

use dunlin_host::call::Call;
use serde_json::Value;

use crate::message::{Message, Role};

/// Whether a call stands as it is in what the model was given to read: its name as a name is written in a call,
/// and every text among its arguments.
pub(super) fn is_quoted(call: &Call, messages: &[Message]) -> bool {
    let mut texts = Vec::new();
    texts_of(&call.arguments, &mut texts);
    messages
        .iter()
        .filter(|message| matches!(message.role, Role::User | Role::Tool))
        .any(|message| {
            // The same text can be written in JSON in many ways.
            let unescaped = unescaped(&message.content);
            [&message.content, &unescaped].into_iter().any(|content| {
                names(content, &call.tool) && texts.iter().all(|text| holds(content, text))
            })
        })
}

/// A text with the escapes of JSON taken back, wherever they stand.
fn unescaped(content: &str) -> String {
    let mut text = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = |length: usize| {
            let escape = rest.get(..length)?;
            let meant: String = serde_json::from_str(&format!("\"{escape}\"")).ok()?;
            Some((meant, length))
        };
        // A character beyond the first 65,536 takes two.
        let found = escape(12).filter(|_| rest.get(6..8) == Some("\\u"));
        match found
            .or_else(|| escape(6).filter(|_| rest.starts_with("\\u")))
            .or_else(|| escape(2))
        {
            Some((meant, length)) => {
                text.push_str(&meant);
                rest = &rest[length..];
            }
            None => {
                text.push('\\');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// Whether the name stands behind what stands before a name in any form of a call.
fn names(content: &str, tool: &str) -> bool {
    let mut places = content.match_indices(tool);
    places.any(|(at, _)| content[..at].ends_with(['"', '\'', '`', '=', '.', ':', '>', ']']))
}

/// Whether a text stands there, as it is or as JSON writes it. What was read has numbers before its lines, so each
/// line is looked for by itself.
fn holds(content: &str, text: &str) -> bool {
    let written = Value::from(text).to_string();
    content.contains(written.trim_matches('"'))
        || text.lines().all(|line| content.contains(line.trim()))
}

fn texts_of<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| texts_of(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_that_was_read_is_a_quotation() {
        let check = |role: Role, content: &str, arguments: Value, expected: bool| {
            let call = Call {
                id: "a".to_owned(),
                tool: "edit_file".to_owned(),
                arguments,
            };
            let messages = [Message::text(role, content)];
            assert_eq!(is_quoted(&call, &messages), expected, "{role:?} {content}");
        };
        let file = "   1\t{\"name\": \"edit_file\", \"arguments\": {\"file_path\": \"a.rs\", \"text\": \"x\\ny\"}}";
        let arguments = json!({"file_path": "a.rs", "edits": [{"text": "x\ny"}], "line": 3});
        check(Role::Tool, file, arguments.clone(), true);
        check(Role::User, file, arguments.clone(), true);
        check(Role::Assistant, file, arguments, false);
        check(Role::Tool, file, json!({"file_path": "b.rs"}), false);
        let wish = "Use edit_file to change a.rs, please.";
        check(Role::User, wish, json!({"file_path": "a.rs"}), false);
        let tagged = "<function=edit_file>\n   2\t<parameter=text>one\n   3\ttwo";
        check(Role::Tool, tagged, json!({"text": "one\ntwo"}), true);
        check(Role::Tool, "\"edit_file\"", json!({}), true);
        let escaped =
            r#"{"name": "edit\u005ffile", "arguments": {"text": "\u0061\/b\ud83d\ude00 \q"}}"#;
        check(Role::Tool, escaped, json!({"text": "a/b😀"}), true);
        check(Role::Tool, "", json!({}), false);
    }
}
