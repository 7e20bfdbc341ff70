//! Mends arguments that mean the right thing in the wrong type, and finds what a plugin has of them.
//!
//! Small models write `"10"` for 10, `"true"` for true, `null` for what they leave out, and an array
//! as a string that holds one. Each of these has one meaning under the tool's schema, so refusing it
//! would only cost a round. Only the top level is mended.

use serde_json::{Map, Value};

/// The arguments with everything mended that can be; the rest as it was.
pub(crate) fn mend(arguments: &Value, schema: &Value) -> Value {
    let object = match arguments {
        Value::Null => Map::new(),
        Value::Object(object) => object.clone(),
        other => return other.clone(),
    };
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)))
    };
    let mended = object.into_iter().filter_map(|(name, value)| {
        let ty = schema["properties"][&name]["type"]
            .as_str()
            .unwrap_or_default();
        if is_absent(&value, ty) && !required(&name) {
            return None;
        }
        let value = mend_value(value, ty);
        Some((name, value))
    });
    Value::Object(mended.collect())
}

/// Whether this stands for a parameter that was left out.
fn is_absent(value: &Value, ty: &str) -> bool {
    match value {
        Value::Null => ty != "null",
        Value::String(text) => {
            matches!(ty, "integer" | "number" | "boolean") && matches!(text.trim(), "" | "null")
        }
        _ => false,
    }
}

fn mend_value(value: Value, ty: &str) -> Value {
    let fits = |parsed: &Value| match ty {
        "integer" => parsed.is_i64() || parsed.is_u64(),
        "number" => parsed.is_number(),
        "boolean" => parsed.is_boolean(),
        "array" => parsed.is_array(),
        "object" => parsed.is_object(),
        _ => false,
    };
    match &value {
        Value::String(text) => {
            match serde_json::from_str::<Value>(text.trim().to_ascii_lowercase().as_str()) {
                Ok(parsed) if matches!(ty, "integer" | "number" | "boolean") && fits(&parsed) => {
                    parsed
                }
                _ => match serde_json::from_str::<Value>(text) {
                    Ok(parsed) if fits(&parsed) => parsed,
                    _ => value,
                },
            }
        }
        // 10.0 is how some write 10.
        Value::Number(number) if ty == "integer" => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
            _ => value,
        },
        _ => value,
    }
}

/// Whether a text is one of the arguments, or ends with one, as a path does that begins with a folder of the plugin's own.
pub(crate) fn is_of(arguments: &Value, written: &str) -> bool {
    let written = written.trim();
    match arguments {
        Value::String(text) => {
            let text = text.trim();
            text == written || !text.is_empty() && written.ends_with(text)
        }
        Value::Array(values) => values.iter().any(|it| is_of(it, written)),
        Value::Object(members) => members.values().any(|it| is_of(it, written)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_has_one_meaning_is_mended() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"},
                "s": {"type": "string"}, "a": {"type": "array"}, "must": {"type": "integer"},
            },
            "required": ["must"],
        });
        for (arguments, mended) in [
            (json!({"n": "10"}), json!({"n": 10})),
            (json!({"n": " 10 "}), json!({"n": 10})),
            (json!({"n": 10.0}), json!({"n": 10})),
            (json!({"n": 10.5}), json!({"n": 10.5})),
            (json!({"n": "ten"}), json!({"n": "ten"})),
            (json!({"n": "1.5"}), json!({"n": "1.5"})),
            (json!({"x": "1.5"}), json!({"x": 1.5})),
            (json!({"b": "True"}), json!({"b": true})),
            (json!({"s": "10"}), json!({"s": "10"})),
            (json!({"a": "[\"X\"]"}), json!({"a": ["X"]})),
            (json!({"n": null, "must": null}), json!({"must": null})),
            (json!({"n": "", "b": "null", "s": ""}), json!({"s": ""})),
            (json!({"unknown": "10"}), json!({"unknown": "10"})),
            (json!(null), json!({})),
            (json!([1]), json!([1])),
        ] {
            assert_eq!(mend(&arguments, &schema), mended, "{arguments}");
        }
    }
}
