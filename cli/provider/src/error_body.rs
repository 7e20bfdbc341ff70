//! Finds the sentence in the body of a refusal.
//!
//! Every server wraps it differently: in `error.message`, in `error` itself, in `message`, `detail`
//! or `errors`, in an array, in a web page, or not at all.

use dunlin_host::display;
use serde_json::Value;

/// Longest message that is shown, in characters: a few lines of a terminal. What is longer, a stack
/// trace as a rule, is shortened in the middle.
const MAX_MESSAGE_CHARS: usize = 400;

/// The message in a body, in one line that is safe to show; `None` if the body says nothing.
pub(super) fn readable(body: &str) -> Option<String> {
    let body = body.trim();
    let message = match serde_json::from_str::<Value>(body) {
        Ok(value) => message_of(&value)?,
        Err(_) if body.starts_with('<') => page_text(body),
        Err(_) => body.to_owned(),
    };
    let message = one_line(&message);
    (!message.is_empty()).then_some(message)
}

/// Escaped, white space runs as one space, shortened.
pub(super) fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ");
    let line = display::escape(&line);
    display::shorten(line.trim_end_matches('.'), MAX_MESSAGE_CHARS).into_owned()
}

/// The message in a value.
pub(super) fn message_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Value::Array(several) => several.iter().find_map(message_of),
        Value::Object(fields) => {
            let message = [
                "error",
                "message",
                "detail",
                "errors",
                "msg",
                "error_description",
                "title",
            ]
            .into_iter()
            .filter_map(|field| fields.get(field))
            .find_map(message_of)?;
            // A router says "Provider returned error" and hides what the provider said.
            let original = value.pointer("/error/metadata/raw").and_then(Value::as_str);
            match original.and_then(readable) {
                Some(original) if !message.contains(&original) => {
                    Some(format!("{message}: {original}"))
                }
                _ => Some(message),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The code in a value, be it a number or a text.
pub(super) fn code_of(value: &Value) -> Option<String> {
    let error = value.get("error").unwrap_or(value);
    ["code", "type"]
        .into_iter()
        .filter_map(|field| error.get(field))
        .find_map(|code| match code {
            Value::String(code) if !code.is_empty() => Some(one_line(code)),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        })
}

/// The title of a web page, else its text.
fn page_text(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    if let Some(open) = lower.find("<title")
        && let Some(start) = lower[open..].find('>').map(|end| open + end + 1)
        && let Some(end) = lower[start..].find('<').map(|length| start + length)
        && !page[start..end].trim().is_empty()
    {
        return page[start..end].to_owned();
    }
    let mut text = String::new();
    let mut inside_tag = false;
    for c in page.chars() {
        match c {
            '<' => inside_tag = true,
            '>' => {
                inside_tag = false;
                text.push(' ');
            }
            c if !inside_tag => text.push(c),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_become_one_line() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"No such model.","type":"x"}}"#,
                Some("No such model"),
            ),
            (r#"{"error":"no"}"#, Some("no")),
            (r#"{"error":{"code":500},"message":"outer"}"#, Some("outer")),
            (
                r#"{"object":"error","message":"old vLLM"}"#,
                Some("old vLLM"),
            ),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (
                r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
                Some("field required"),
            ),
            (
                r#"[{"error":{"message":"in an array"}}]"#,
                Some("in an array"),
            ),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"message\":\"too long\"}"}}}"#,
                Some("Provider returned error: too long"),
            ),
            (
                "<html><head><TITLE>502 Bad\n Gateway</TITLE></head>",
                Some("502 Bad Gateway"),
            ),
            ("<p>Not <b>here</b></p>", Some("Not here")),
            (
                "upstream\n\tfailed\u{1b}[2J",
                Some("upstream failed\\u{1b}[2J"),
            ),
            ("", None),
            ("{}", None),
            ("<html></html>", None),
        ] {
            assert_eq!(readable(body).as_deref(), expected, "{body}");
        }
        assert_eq!(
            readable(&"x".repeat(10_000)).map(|text| text.chars().count()),
            Some(MAX_MESSAGE_CHARS)
        );
    }
}
