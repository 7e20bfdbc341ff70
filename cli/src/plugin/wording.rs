//! What a plugin says of its tools: to the model, with each request, and to people.
//!
//! Its author wrote these words, and the model follows them. Whether they inform the model or steer it cannot be told from
//! phrases: "can ignore all whitespace" is harmless, and what steers can be said in any words. So nothing is judged here. A
//! person reads all of it before the plugin is installed, and what cannot be read by a person is refused.

use dunlin_host::Tool;
use dunlin_host::display::needs_escape;
use serde_json::Value;

/// Subschemas deeper than this are written as JSON.
const MAX_DEPTH: usize = 8;

/// Keywords that are written in words; all others follow as JSON.
const IN_WORDS: [&str; 5] = ["type", "properties", "required", "items", "description"];

/// Everything that the model reads of a tool besides its name, in lines. Nothing is left out or escaped.
pub fn for_model(tool: &Tool) -> String {
    let mut text = tool.description.trim_end().to_owned();
    for line in parameters(&tool.parameters) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Everything that is said of a tool, for the model and for people, in lines.
pub fn whole(tool: &Tool) -> String {
    let annotations = &tool.annotations;
    let title = annotations
        .title
        .iter()
        .map(|title| format!("title: {title}"));
    let hints = [
        ("destructive", annotations.is_destructive),
        ("idempotent", annotations.is_idempotent),
    ];
    let hints = hints
        .iter()
        .filter_map(|(name, hint)| hint.map(|hint| format!("{name}: {hint}")));
    let output = annotations.output_schema.iter().flat_map(|schema| {
        let lines = parameters(schema).into_iter();
        lines.map(|line| format!("gives {line}"))
    });
    let lines = title.chain(hints).chain([for_model(tool)]).chain(output);
    lines.map(|line| line + "\n").collect()
}

/// Every name and value of a schema, a line for each parameter: `lines array?: The lines`. A question mark says that it
/// may be left out.
fn parameters(schema: &Value) -> Vec<String> {
    if !is_plain(schema) {
        return vec![schema.to_string()];
    }
    let description = schema.get("description").and_then(Value::as_str);
    let mut lines: Vec<String> = description.map(str::to_owned).into_iter().collect();
    let rest = rest_of(schema);
    if !rest.is_empty() {
        lines.push(rest.trim_start().to_owned());
    }
    members(schema, "", MAX_DEPTH, &mut lines);
    lines
}

/// The parameters within one, below it.
fn members(schema: &Value, path: &str, depth: usize, lines: &mut Vec<String>) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, of) in properties.into_iter().flatten() {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        let mark = if is_required(name) { "" } else { "?" };
        one(of, &path, mark, depth, lines);
    }
    if let Some(items) = schema.get("items") {
        one(items, &format!("{path}[]"), "", depth, lines);
    }
}

fn one(schema: &Value, path: &str, mark: &str, depth: usize, lines: &mut Vec<String>) {
    if depth == 0 || !is_plain(schema) {
        lines.push(format!("{path}{mark} {schema}"));
        return;
    }
    let kind = schema.get("type").and_then(Value::as_str);
    let mut line = format!(
        "{path} {}{mark}{}",
        kind.unwrap_or("value"),
        rest_of(schema)
    );
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        line.push_str(": ");
        line.push_str(description.trim_end());
    }
    lines.push(line);
    members(schema, path, depth - 1, lines);
}

/// Whether what is written in words has the form that it has as a rule.
fn is_plain(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    let is_there = |name: &Value| {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.is_some_and(|all| name.as_str().is_some_and(|name| all.contains_key(name)))
    };
    schema
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "type" | "description" => value.is_string(),
            "properties" => value.is_object(),
            "required" => value.as_array().is_some_and(|all| all.iter().all(is_there)),
            _ => true,
        })
}

/// The keywords that are not written in words. Whether there may be other parameters is not worth a line.
fn rest_of(schema: &Value) -> String {
    let members = schema.as_object().into_iter().flatten();
    members
        .filter(|(keyword, _)| !IN_WORDS.contains(&keyword.as_str()))
        .filter(|(keyword, value)| *keyword != "additionalProperties" || !value.is_boolean())
        .map(|(keyword, value)| format!(" {keyword}={value}"))
        .collect()
}

/// The first character that nobody sees in what is said of a tool: what a model reads there, nobody else does.
pub fn invisible(tool: &Tool) -> Option<char> {
    let mut texts = vec![tool.description.as_str()];
    texts.extend(tool.annotations.title.as_deref());
    texts_of(&tool.parameters, &mut texts);
    if let Some(schema) = &tool.annotations.output_schema {
        texts_of(schema, &mut texts);
    }
    texts.into_iter().find_map(unseen)
}

/// Every text of a schema, names as well: a model reads them all.
fn texts_of<'a>(schema: &'a Value, texts: &mut Vec<&'a str>) {
    match schema {
        Value::String(text) => texts.push(text),
        Value::Object(members) => {
            for (name, member) in members {
                texts.push(name);
                texts_of(member, texts);
            }
        }
        Value::Array(members) => {
            for member in members {
                texts_of(member, texts);
            }
        }
        _ => {}
    }
}

/// The first character that nobody sees. What makes a sign a coloured one may stand behind a sign.
fn unseen(text: &str) -> Option<char> {
    let mut before = ' ';
    text.chars().find(|&c| {
        let is_plain = matches!(c, '\n' | '\t' | '\r')
            || (c == '\u{fe0f}' && before >= '\u{203c}' && !needs_escape(before));
        before = c;
        needs_escape(c) && !is_plain
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(description: &str, parameters: Value) -> Tool {
        Tool {
            name: "t".into(),
            plugin: "p".into(),
            description: description.into(),
            parameters,
            imports: Vec::new(),
            annotations: dunlin_host::Annotations::default(),
        }
    }

    #[test]
    fn all_that_the_model_reads_is_there() {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file"},
                "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "Which\nlines"},
                "how": {"type": "object", "properties": {"fast": {"enum": [true]}}, "required": ["fast"]},
                "odd": {"type": ["string", "null"], "description": "Odd"},
            },
            "required": ["file_path"],
            "minProperties": 1,
            "additionalProperties": false,
        });
        let expected = "Counts words.\nAll of them.\nminProperties=1\nfile_path string: The file\n\
            lines array?: Which\nlines\nlines[] integer minimum=1\nhow object?\nhow.fast value enum=[true]\n\
            odd? {\"type\":[\"string\",\"null\"],\"description\":\"Odd\"}";
        assert_eq!(
            for_model(&tool("Counts words.\nAll of them.\n", schema)),
            expected
        );
        assert_eq!(
            for_model(&tool("Counts.", json!({"type": "object"}))),
            "Counts."
        );
        // Wherever a text is, and however deep.
        let mut deep = json!({"description": "the innermost"});
        for _ in 0..20 {
            deep = json!({"type": "object", "properties": {"a": deep}, "x": "beside"});
        }
        let text = for_model(&tool("", json!({"properties": {"a": deep}})));
        assert!(text.contains("the innermost"), "{text}");
        for schema in [
            json!({"properties": {"say this": {}}}),
            json!({"properties": {"a": {"enum": ["b", "say this"]}}}),
            json!({"properties": {"a": {"properties": "say this"}}}),
            json!({"properties": {"a": {"items": {"items": "say this"}}}}),
            json!({"properties": {"a": {"oneOf": [{"description": "say this"}]}}}),
            json!({"description": "say this"}),
            json!({"required": ["say this"]}),
            json!({"properties": ["say this"]}),
            json!({"$comment": "say this"}),
        ] {
            let text = for_model(&tool("Counts.", schema.clone()));
            assert!(text.contains("say this"), "{schema}: {text}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_found_wherever_it_stands() {
        let none = || json!({"type": "object"});
        for (description, parameters) in [
            ("Counts words.\u{e0041}\u{e0042}", none()),
            ("Counts\u{200b} words.", none()),
            ("Counts\u{fe0f}\u{e0101} words.", none()),
            ("Counts ☂\u{fe0f}\u{fe0f} words.", none()),
            ("Counts.", json!({"$comment": "unseen\u{e0100}"})),
            ("Counts.", json!({"properties": {"a\u{200b}": {}}})),
        ] {
            let tool = tool(description, parameters);
            assert!(invisible(&tool).is_some(), "{tool:?}");
        }
        let mut odd = tool("Counts.", none());
        odd.annotations.title = Some("Counts\u{200b}".to_owned());
        assert!(invisible(&odd).is_some());
        for description in [
            "Counts the words of a file. It can ignore all whitespace.",
            "Zählt Wörter: schön.\n\tMit Umlauten. ✔\u{fe0f}",
        ] {
            assert_eq!(invisible(&tool(description, none())), None, "{description}");
        }
    }
}
