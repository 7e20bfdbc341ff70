//! Mends arguments that are almost JSON.
//!
//! Only slips that can be meant in one way: quotes of the other kind, a comma before a closing bracket, Python's
//! words for true, false and nothing, line ends within a text, and the marks of a template or a fence around
//! the whole. No bracket or quote is ever added: what is cut off stays cut off.

/// What may stand around the arguments and is none of them.
const MARKS: [&str; 4] = ["<|", "```", "</", "["];

/// The text with its slips mended. Whether it is JSON then is for the caller to see.
pub(super) fn mend(text: &str) -> String {
    let text = without_marks(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // The quote that is open, and whether the character before was a backslash.
    let mut quote = None;
    let mut escaped = false;
    while let Some(c) = rest.next() {
        match quote {
            Some(open) => {
                match c {
                    '\'' if escaped => {
                        // Needs no backslash, and JSON allows none.
                        out.pop();
                        out.push('\'');
                    }
                    _ if escaped => out.push(c),
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\t' => out.push_str("\\t"),
                    c if c == open => {
                        quote = None;
                        out.push('"');
                    }
                    '"' => out.push_str("\\\""),
                    c => out.push(c),
                }
                escaped = c == '\\' && !escaped;
            }
            None => match c {
                '"' | '\'' => {
                    quote = Some(c);
                    out.push('"');
                }
                '}' | ']' => {
                    let end = out.trim_end().len();
                    if out[..end].ends_with(',') {
                        out.truncate(end - 1);
                    }
                    out.push(c);
                }
                c if c.is_ascii_alphabetic() => {
                    let mut word = String::from(c);
                    while let Some(c) = rest.next_if(char::is_ascii_alphanumeric) {
                        word.push(c);
                    }
                    out.push_str(match word.as_str() {
                        "True" => "true",
                        "False" => "false",
                        "None" => "null",
                        word => word,
                    });
                }
                c => out.push(c),
            },
        }
    }
    out
}

/// What lies between the first `{` and the last `}`, if the rest is marks.
fn without_marks(text: &str) -> &str {
    let text = text.trim();
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return text;
    };
    let marks = |around: &str| {
        let around = around.trim();
        around.is_empty() || MARKS.iter().any(|mark| around.starts_with(mark))
    };
    if start <= end && marks(&text[..start]) && marks(&text[end + 1..]) {
        &text[start..=end]
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The mended text is this value; `None`: none at all.
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let value = serde_json::from_str::<Value>(&mend(text)).ok();
        let value = value.map(|value| value.to_string());
        assert_eq!(
            value.as_deref(),
            expected,
            "{text:?} became {:?}",
            mend(text)
        );
    }

    #[test]
    fn slips_that_can_be_meant_in_one_way() {
        check("{'a': 'b'}", Some(r#"{"a":"b"}"#));
        check(r#"{'a': 'say "x"'}"#, Some(r#"{"a":"say \"x\""}"#));
        check(r"{'a': 'it\'s'}", Some(r#"{"a":"it's"}"#));
        check(r#"{"a": "it's"}"#, Some(r#"{"a":"it's"}"#));
        check(r#"{"a": [1, 2,], }"#, Some(r#"{"a":[1,2]}"#));
        check(
            r#"{"a": True, "b": None, "c": False}"#,
            Some(r#"{"a":true,"b":null,"c":false}"#),
        );
        check(r#"{"a": "True,]"}"#, Some(r#"{"a":"True,]"}"#));
        check("{\"a\": \"one\n\ttwo\"}", Some(r#"{"a":"one\n\ttwo"}"#));
        check("```json\n{'a': 1}\n```", Some(r#"{"a":1}"#));
        check(
            "<|tool_call_argument_begin|>{'a': 1}<|im_end|>",
            Some(r#"{"a":1}"#),
        );
        check(r#"{"a": "\\"}"#, Some(r#"{"a":"\\"}"#));
    }

    #[test]
    fn nothing_is_made_up() {
        for text in [
            "{'a': 'it's'}",
            "{'a': 1",
            "{a: 1}",
            "run {'a': 1}",
            "{\"a\": \"b}",
            "",
            "}{",
        ] {
            check(text, None);
        }
    }
}
