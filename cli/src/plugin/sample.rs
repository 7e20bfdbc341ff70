//! Arguments that fit a schema, for trying out what a plugin says to a call without a model that makes one.

use serde_json::{Map, Value, json};

/// How deep an example goes; schemas may refer to themselves.
const MAX_DEPTH: usize = 8;

/// The smallest object that most likely fits.
pub fn of(schema: &Value) -> Value {
    example(schema, MAX_DEPTH)
}

fn example(schema: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    for given in ["const", "default"] {
        if let Some(value) = schema.get(given) {
            return value.clone();
        }
    }
    for among in ["enum", "examples"] {
        if let Some(value) = schema.get(among).and_then(|values| values.get(0)) {
            return value.clone();
        }
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(first) = schema.get(choice).and_then(|schemas| schemas.get(0)) {
            return example(first, depth - 1);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None => schema.get("properties").map(|_| "object"),
    };
    match kind {
        Some("string") => json!("example"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(false),
        Some("array") => {
            let items = schema.get("items").map(|items| example(items, depth - 1));
            Value::Array(items.into_iter().collect())
        }
        Some("object") | None => {
            let mut object = Map::new();
            let names = schema.get("required").and_then(Value::as_array);
            for name in names.into_iter().flatten().filter_map(Value::as_str) {
                let of = schema.get("properties").and_then(|all| all.get(name));
                let value = of.map_or(Value::Null, |schema| example(schema, depth - 1));
                object.insert(name.to_owned(), value);
            }
            Value::Object(object)
        }
        Some(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_there() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "integer", "minimum": 3}},
                "mode": {"enum": ["fast", "slow"]},
                "more": {"type": "boolean"},
                "deep": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
            },
            "required": ["path", "lines", "mode", "deep"],
        });
        let expected = json!({"path": "example", "lines": [3], "mode": "fast", "deep": {"a": 1}});
        assert_eq!(of(&schema), expected);
        assert_eq!(of(&json!({})), json!({}));
        assert_eq!(of(&json!(true)), json!({}));
    }
}
