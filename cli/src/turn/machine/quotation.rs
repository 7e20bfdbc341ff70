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
            names(&message.content, &call.tool)
                && texts.iter().all(|text| holds(&message.content, text))
        })
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
        check(Role::Tool, "", json!({}), false);
    }
}
