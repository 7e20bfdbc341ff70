//! The arguments of a call as text: a row for what is short, lines for texts, and what is replaced as a difference.

use dunlin_host::display::{escape, escape_multiline};
use serde_json::{Map, Value};

use super::messages::foreign;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::diff;

/// How far the bar stands behind the edge, in columns.
const MARGIN: usize = 2;

/// How far a value stands behind its name, in columns.
const INDENT: usize = 2;

/// The arguments that say what becomes of a file. Its difference says the same, with the lines around it.
const EDITS: &[&str] = &["content", "edits"];

/// The rows of arguments. `is_seen`: the difference that the call made is shown, too.
pub fn rows(arguments: &Map<String, Value>, is_seen: bool, window: Window) -> Vec<String> {
    let shown = arguments
        .iter()
        .filter(|(name, _)| !(is_seen && EDITS.contains(&name.as_str())));
    shown
        .flat_map(|(name, value)| rows_of(name, value, 0, window))
        .collect()
}

fn rows_of(name: &str, value: &Value, depth: usize, window: Window) -> Vec<String> {
    let indent = " ".repeat(depth * INDENT);
    // A name is one row, whatever stands in it.
    let name = escape(name);
    let row = |text: &str| foreign(&format!("{indent}{}", escape_multiline(text)), window);
    match value {
        Value::String(text) if !text.contains('\n') => row(&format!("{name}: {text}")),
        Value::String(text) => {
            let below = " ".repeat((depth + 1) * INDENT);
            let text = escape_multiline(text);
            let lines: Vec<String> = text.lines().map(|line| format!("{below}{line}")).collect();
            [row(&format!("{name}:")), foreign(&lines.join("\n"), window)].concat()
        }
        Value::Array(entries)
            if depth == 0 && !entries.is_empty() && entries.iter().all(Value::is_object) =>
        {
            let entries = entries.iter().filter_map(Value::as_object);
            let numbered = entries.enumerate().flat_map(|(index, entry)| {
                let heading = row(&format!("{name} {}:", index + 1));
                [heading, entry_rows(entry, depth + 1, window)].concat()
            });
            numbered.collect()
        }
        value => {
            let text = match is_short(value) {
                true => value.to_string(),
                false => serde_json::to_string_pretty(value).unwrap_or_default(),
            };
            let text = text.replace('\n', &format!("\n{indent}"));
            row(&format!("{name}: {text}"))
        }
    }
}

/// The rows of one entry of a list. Where a text takes the place of another, they are one difference.
fn entry_rows(entry: &Map<String, Value>, depth: usize, window: Window) -> Vec<String> {
    const OLD: &str = "old_text";
    const NEW: &str = "new_text";
    let text = |name: &str| entry.get(name)?.as_str();
    let replaced = text(OLD).zip(text(NEW));
    let others = entry
        .iter()
        .filter(|(name, _)| replaced.is_none() || ![OLD, NEW].contains(&name.as_str()));
    let mut rows: Vec<String> = others
        .flat_map(|(name, value)| rows_of(name, value, depth, window))
        .collect();
    if let Some((old, new)) = replaced {
        rows.extend(diff::rows_between(old, new, MARGIN, window));
    }
    rows
}

/// Whether a value has no parts that need rows of their own.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Array(entries) => entries.iter().all(|it| !it.is_array() && !it.is_object()),
        Value::Object(entries) => entries.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dunlin_terminal::ui::style::Styles;

    const WINDOW: Window = Window {
        columns: 80,
        rows: 24,
        styles: Styles::plain(),
    };

    fn shown(arguments: &Value, is_seen: bool) -> String {
        rows(arguments.as_object().unwrap(), is_seen, WINDOW).join("\n")
    }

    #[test]
    fn arguments_are_text() {
        let check = |arguments: Value, expected: &str| {
            assert_eq!(shown(&arguments, false), expected, "{arguments}");
        };
        check(
            json!({"file_path": "a.txt", "content": "one\n\n  two\n"}),
            "  │ file_path: a.txt\n  │ content:\n  │   one\n  │\n  │     two",
        );
        check(
            json!({"limit": 5, "lines": [1, 2], "name": null}),
            "  │ limit: 5\n  │ lines: [1,2]\n  │ name: null",
        );
        check(json!({"a": [], "b": {}}), "  │ a: []\n  │ b: {}");
        check(
            json!({"a": {"b": "c"}}),
            "  │ a: {\n  │   \"b\": \"c\"\n  │ }",
        );
        check(
            json!({"edits": [
                {"old_text": "one\n", "new_text": "two\n", "replace_all": true},
                {"range": [1, 2], "replacement": "x\ny"},
            ]}),
            "  │ edits 1:\n  │   replace_all: true\n  │ @@ -1 +1 @@\n  │ -one\n  │ +two\n  │ edits 2:\n  │   range: [1,2]\n  │   replacement:\n  │     x\n  │     y",
        );
    }

    #[test]
    fn what_acts_on_a_terminal_is_seen() {
        let shown = shown(
            &json!({"a\u{1b}[2J": "b\u{1b}]0;c\u{7}\r", "d": "e\n\u{1b}[2Jf\u{202e}", "g": ["\u{9b}"]}),
            false,
        );
        assert_eq!(
            shown,
            "  │ a\\u{1b}[2J: b\\u{1b}]0;c\\u{7}\\r\n  │ d:\n  │   e\n  │   \\u{1b}[2Jf\\u{202e}\n  │ g: [\"\\u{9b}\"]"
        );
    }

    #[test]
    fn what_the_difference_shows_is_left_out() {
        let edit = json!({"file_path": "a.txt", "edits": [{"old_text": "a", "new_text": "b"}]});
        assert_eq!(shown(&edit, true), "  │ file_path: a.txt");
        assert_eq!(shown(&json!({"content": "x"}), true), "");
    }
}
