//! What every request must obey, checked as strictly as the strictest real server does.
//!
//! OpenAI itself, llama.cpp's templates and Mistral's API each refuse some of what follows; a body
//! that passes here is accepted by all of them.

use std::collections::BTreeSet;

use serde_json::Value;

/// The longest name of a tool that every server takes.
const MAX_TOOL_NAME: usize = 64;

/// Everything that is wrong with the body of a chat request, one sentence each.
pub(super) fn violations(body: &Value, secrets: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    if body["model"].as_str().is_none_or(str::is_empty) {
        wrong.push(format!("model is {}", body["model"]));
    }
    if body["stream"] != Value::Bool(true) {
        wrong.push(format!("stream is {}", body["stream"]));
    }
    check_messages(
        body["messages"].as_array().map_or(&[], Vec::as_slice),
        &mut wrong,
    );
    check_tools(&body["tools"], &mut wrong);
    let text = body.to_string();
    wrong.extend(
        secrets
            .iter()
            .filter(|secret| text.contains(*secret))
            .map(|secret| format!("the secret {secret:?} is in the body")),
    );
    wrong
}

fn check_messages(messages: &[Value], wrong: &mut Vec<String>) {
    let mut every_id = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut previous = "";
    for (at, message) in messages.iter().enumerate() {
        let mut complain = |what: String| wrong.push(format!("messages[{at}] {what}"));
        let role = message["role"].as_str().unwrap_or("");
        if role != "tool" && !open.is_empty() {
            complain(format!("comes before the results of {open:?}"));
            open.clear();
        }
        match role {
            "system" if at > 0 => complain("is a system message behind others".to_owned()),
            "system" | "user" => {
                let is_said = has_text(message) || role == "user" && has_parts(message);
                if !is_said {
                    complain(format!("of {role} has the content {}", message["content"]));
                }
            }
            "assistant" => {
                if !matches!(previous, "user" | "tool") {
                    complain(format!("of assistant follows {previous:?}"));
                }
                let calls = message["tool_calls"].as_array();
                match calls {
                    Some(calls) if calls.is_empty() => complain("has empty tool_calls".to_owned()),
                    None if !has_text(message) => complain("says and calls nothing".to_owned()),
                    _ => {}
                }
                for call in calls.into_iter().flatten() {
                    let id = call["id"].as_str().unwrap_or("");
                    if id.is_empty() || !every_id.insert(id) {
                        complain(format!("has the call id {id:?}, empty or used before"));
                    }
                    open.push(id);
                    if let Some(what) = wrong_call(call) {
                        complain(what);
                    }
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                match open.iter().position(|open| *open == id) {
                    Some(found) => drop(open.remove(found)),
                    None => complain(format!("is a result of {id:?}, which no call waits for")),
                }
                if !message["content"].is_string() {
                    complain(format!("of tool has the content {}", message["content"]));
                }
            }
            _ => complain(format!("has the role {}", message["role"])),
        }
        previous = role;
    }
    if !open.is_empty() {
        wrong.push(format!("the calls {open:?} have no result"));
    }
    if !matches!(previous, "user" | "tool") {
        wrong.push(format!("the last message is of {previous:?}"));
    }
}

fn has_text(message: &Value) -> bool {
    message["content"]
        .as_str()
        .is_some_and(|text| !text.is_empty())
}

/// Whether the content is a list of what there can be: text, images and documents.
fn has_parts(message: &Value) -> bool {
    let is_part = |part: &Value| {
        let value = match part["type"].as_str() {
            Some("text") => &part["text"],
            Some("image_url") => &part["image_url"]["url"],
            Some("file") => &part["file"]["file_data"],
            _ => return false,
        };
        value.as_str().is_some_and(|text| !text.is_empty())
    };
    let parts = message["content"].as_array();
    parts.is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

fn wrong_call(call: &Value) -> Option<String> {
    let function = &call["function"];
    let arguments = function["arguments"].as_str();
    let parsed = arguments.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if call["type"] != "function" {
        Some(format!("has a call of type {}", call["type"]))
    } else if !is_tool_name(&function["name"]) {
        Some(format!("calls a tool named {}", function["name"]))
    } else if !parsed.is_some_and(|arguments| arguments.is_object()) {
        Some(format!(
            "has the arguments {}, not an object",
            function["arguments"]
        ))
    } else {
        None
    }
}

fn check_tools(tools: &Value, wrong: &mut Vec<String>) {
    if tools.is_null() {
        return;
    }
    let mut names = BTreeSet::new();
    let tools = tools.as_array().map_or(&[][..], Vec::as_slice);
    if tools.is_empty() {
        wrong.push("tools is there and lists none".to_owned());
    }
    for (at, tool) in tools.iter().enumerate() {
        let function = &tool["function"];
        if tool["type"] != "function" || !is_tool_name(&function["name"]) {
            wrong.push(format!(
                "tools[{at}] is {} {}",
                tool["type"], function["name"]
            ));
        }
        if !names.insert(function["name"].to_string()) {
            wrong.push(format!(
                "tools[{at}] has the name of another: {}",
                function["name"]
            ));
        }
        if !function["description"].is_string() || function["parameters"]["type"] != "object" {
            wrong.push(format!(
                "tools[{at}] lacks a description or an object of parameters"
            ));
        }
    }
}

fn is_tool_name(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        (1..=MAX_TOOL_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks a conversation; `expected` is a part of the only complaint, or empty for none.
    fn check(messages: Value, expected: &str) {
        let body = json!({ "model": "m", "stream": true, "messages": messages });
        let wrong = violations(&body, &["hunter2".to_owned()]);
        if expected.is_empty() {
            assert_eq!(wrong, Vec::<String>::new(), "{body}");
        } else {
            assert_eq!(wrong.len(), 1, "{body}: {wrong:?}");
            assert!(wrong[0].contains(expected), "{body}: {wrong:?}");
        }
    }

    #[test]
    fn conversations() {
        let user = json!({ "role": "user", "content": "hi" });
        let call = |id: &str, arguments: &str| {
            json!({ "id": id, "type": "function",
                    "function": { "name": "read_file", "arguments": arguments } })
        };
        let calls =
            |calls: Value| json!({ "role": "assistant", "content": null, "tool_calls": calls });
        let one = calls(json!([call("a", "{}")]));
        let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "x" });

        check(json!([user]), "");
        check(
            json!([{ "role": "system", "content": "be kind" }, user]),
            "",
        );
        check(json!([user, one, result("a")]), "");
        check(
            json!([
                user,
                calls(json!([call("a", "{}"), call("b", "{}")])),
                result("b"),
                result("a")
            ]),
            "",
        );
        check(json!([]), "the last message is of \"\"");
        check(
            json!([user, { "role": "system", "content": "x" }, user]),
            "behind others",
        );
        check(
            json!([{ "role": "user", "content": "" }]),
            "has the content \"\"",
        );
        check(
            json!([{ "role": "user", "content": "my password is hunter2" }]),
            "the secret",
        );
        check(
            json!([user, { "role": "assistant", "content": "x" }]),
            "the last message",
        );
        check(
            json!([user, { "role": "assistant", "content": "" }, user]),
            "says and calls nothing",
        );
        check(json!([user, calls(json!([])), user]), "empty tool_calls");
        check(json!([user, one, user]), "before the results of [\"a\"]");
        check(
            json!([user, one, result("a"), result("a")]),
            "no call waits for",
        );
        check(json!([user, result("a")]), "no call waits for");
        check(
            json!([user, one, result("a"), one, result("a")]),
            "used before",
        );
        check(
            json!([user, calls(json!([call("a", "[1]")])), result("a")]),
            "not an object",
        );
        check(
            json!([user, calls(json!([call("a", "{")])), result("a")]),
            "not an object",
        );
    }
}
