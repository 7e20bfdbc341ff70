//! Mistakes in a schema that no validator reports, or reports in words that name no way out: for the author of a plugin, when
//! it is looked at for the first time.

use serde_json::{Map, Value};

use super::tool::misfit_in;
use crate::nearest::misspelt;

/// What `type` may be.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// The first mistake, with the parameter: `files[].line`.
pub(super) fn mistake(schema: &Value) -> Option<String> {
    look(schema, schema, "")
}

fn look(root: &Value, schema: &Value, name: &str) -> Option<String> {
    let object = schema.as_object()?;
    wrong_type(object, name)
        .or_else(|| wrong_default(root, object, name))
        .or_else(|| {
            let members = object.get("properties").and_then(Value::as_object);
            members.into_iter().flatten().find_map(|(member, schema)| {
                let name = match name {
                    "" => member.clone(),
                    name => format!("{name}.{member}"),
                };
                look(root, schema, &name)
            })
        })
        .or_else(|| look(root, object.get("items")?, &format!("{name}[]")))
}

fn wrong_type(schema: &Map<String, Value>, name: &str) -> Option<String> {
    let types = match schema.get("type")? {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let wrong = types.iter().find(|it| !is_type(it))?;
    let near = wrong.as_str().and_then(|word| misspelt(word, TYPES));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
    let types = TYPES.join(", ");
    Some(format!(
        "{name:?} has the type {wrong}, and there are {types}{near}"
    ))
}

fn is_type(word: &Value) -> bool {
    word.as_str().is_some_and(|word| TYPES.contains(&word))
}

/// A default that a call could not have.
fn wrong_default(root: &Value, schema: &Map<String, Value>, name: &str) -> Option<String> {
    // Generators write null for "left out", which is how the host takes it in arguments, too.
    let default = schema.get("default").filter(|it| !it.is_null())?;
    let mut alone = schema.clone();
    // What references lead to. The meta-schema of the whole counts for a part.
    for key in ["$defs", "definitions", "$schema"] {
        if let Some(value) = root.get(key) {
            alone.entry(key).or_insert_with(|| value.clone());
        }
    }
    let problem = misfit_in(&alone.into(), default)?;
    Some(format!("the default of {name:?} does not fit: {problem}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_default_fits_its_parameter() {
        for (schema, expected) in [
            (json!({"type": "integer", "default": 3}), None),
            (json!({"type": "string", "default": null}), None),
            (json!({"$ref": "#/$defs/word", "default": "a"}), None),
            (
                json!({"type": "integer", "default": "ten"}),
                Some(r#"the default of "p" does not fit: "ten" is not of type "integer""#),
            ),
            (
                json!({"enum": ["a", "b"], "default": "c"}),
                Some(r#"the default of "p" does not fit: "c" is not one of "a", "b""#),
            ),
            (
                json!({"type": "integer", "maximum": 9, "default": 10}),
                Some(r#"the default of "p" does not fit: 10 is greater than the maximum of 9"#),
            ),
            (
                json!({"$ref": "#/$defs/word", "default": 1}),
                Some(r#"the default of "p" does not fit: 1 is not of type "string""#),
            ),
            (
                json!({"type": "array", "items": {"type": "object", "properties": {
                    "q": {"type": "boolean", "default": 0}}}}),
                Some(r#"the default of "p[].q" does not fit: 0 is not of type "boolean""#),
            ),
            (
                json!({"type": "int"}),
                Some(
                    r#""p" has the type "int", and there are string, integer, number, boolean, object, array, null"#,
                ),
            ),
            (
                json!({"type": ["sting", "null"]}),
                Some(
                    r#""p" has the type "sting", and there are string, integer, number, boolean, object, array, null; did you mean "string"?"#,
                ),
            ),
        ] {
            let whole = json!({
                "type": "object",
                "properties": {"p": schema},
                "$defs": {"word": {"type": "string"}},
            });
            assert_eq!(mistake(&whole).as_deref(), expected, "{whole}");
        }
    }
}
