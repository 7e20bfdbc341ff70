//! The schema of a tool's arguments, which a plugin wrote and the host has to run.
//!
//! A schema is a small program: references make rules that call each other, so one that fits on a page
//! can keep a validator busy for ever. Whatever cannot be bounded by looking at it is refused here,
//! once, when the plugin is loaded: references that lead in circles, that unfold to more rules than
//! anybody needs, or that mean something else than they seem to.

use std::collections::HashMap;

use serde_json::Value;

use crate::display::{escape, shorten};
use crate::limits::{MAX_PARAMETERS_BYTES, MAX_PATTERNS, MAX_REFERENCE_DEPTH, MAX_SCHEMA_RULES};

/// Why parameters cannot be used. What a plugin wrote is escaped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("the schema has {0} bytes; at most {MAX_PARAMETERS_BYTES} are allowed")]
    TooLong(usize),
    #[error("the schema is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("this is not the schema of an object (\"type\": \"object\")")]
    NotAnObject,
    #[error("the schema uses {0}, which is not supported; use $ref")]
    ChoosesTarget(String),
    #[error("a part of the schema has an $id; only the schema as a whole may have one")]
    InnerId,
    #[error("the schema is written for draft 4; use a later one")]
    Draft4,
    #[error("the schema unfolds to more than {MAX_SCHEMA_RULES} rules")]
    TooManyRules,
    #[error("the reference {} leads back to itself", shown(.0))]
    Circle(String),
    #[error("more than {MAX_REFERENCE_DEPTH} references lead through one another")]
    TooDeep,
    #[error("the reference {} does not start with #/ as it must", shown(.0))]
    Elsewhere(String),
    #[error("the reference {} leads nowhere", shown(.0))]
    Nowhere(String),
    #[error("the schema holds more than {MAX_PATTERNS} patterns")]
    TooManyPatterns,
}

/// The JSON Schema that a plugin or a server wrote.
pub(crate) fn parse(text: &str) -> Result<Value, SchemaError> {
    if text.len() > MAX_PARAMETERS_BYTES {
        return Err(SchemaError::TooLong(text.len()));
    }
    // The parser itself bounds the depth.
    let schema: Value = serde_json::from_str(text).map_err(SchemaError::NotJson)?;
    check(&schema)?;
    Ok(schema)
}

fn check(schema: &Value) -> Result<(), SchemaError> {
    match schema.get("type") {
        Some(Value::String(ty)) if ty == "object" => {}
        _ => return Err(SchemaError::NotAnObject),
    }
    bounded(schema)
}

/// Whether checking a value against this ends: what a validator does for it can be bounded beforehand.
pub(crate) fn bounded(schema: &Value) -> Result<(), SchemaError> {
    let mut rules = Rules {
        root: schema,
        known: HashMap::new(),
        open: Vec::new(),
        patterns: 0,
    };
    rules.weigh(schema)?;
    Ok(())
}

/// Counts what a schema unfolds to.
struct Rules<'a> {
    root: &'a Value,
    /// The weight of what a reference leads to.
    known: HashMap<&'a str, usize>,
    /// The references that are being followed.
    open: Vec<&'a str>,
    patterns: usize,
}

impl<'a> Rules<'a> {
    fn weigh(&mut self, value: &'a Value) -> Result<usize, SchemaError> {
        let mut weight = 1_usize;
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    weight = weight.saturating_add(match (key.as_str(), value) {
                        ("$ref", Value::String(to)) => self.follow(to)?,
                        // These choose their target while they run.
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return Err(SchemaError::ChoosesTarget(key.clone()));
                        }
                        // Within such a part `#` would mean the part.
                        ("$id", Value::String(_)) if !std::ptr::eq(map, self.root_map()) => {
                            return Err(SchemaError::InnerId);
                        }
                        ("$schema", Value::String(draft)) if draft.contains("draft-04") => {
                            return Err(SchemaError::Draft4);
                        }
                        ("pattern", Value::String(_)) => self.patterns(1)?,
                        ("patternProperties", Value::Object(patterns)) => self
                            .patterns(patterns.len())?
                            .saturating_add(self.weigh(value)?),
                        _ => self.weigh(value)?,
                    });
                }
            }
            Value::Array(values) => {
                for value in values {
                    weight = weight.saturating_add(self.weigh(value)?);
                }
            }
            _ => {}
        }
        if weight > MAX_SCHEMA_RULES {
            return Err(SchemaError::TooManyRules);
        }
        Ok(weight)
    }

    fn follow(&mut self, to: &'a str) -> Result<usize, SchemaError> {
        if let Some(weight) = self.known.get(to) {
            return Ok(*weight);
        }
        if self.open.contains(&to) {
            return Err(SchemaError::Circle(to.to_owned()));
        }
        if self.open.len() == MAX_REFERENCE_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        // A percent sign would make two spellings of one place.
        let target = match to.strip_prefix('#') {
            Some(pointer) if pointer.starts_with('/') && !pointer.contains('%') => {
                self.root.pointer(pointer)
            }
            _ => return Err(SchemaError::Elsewhere(to.to_owned())),
        };
        let Some(target) = target else {
            return Err(SchemaError::Nowhere(to.to_owned()));
        };
        self.open.push(to);
        let weight = self.weigh(target)?;
        self.open.pop();
        self.known.insert(to, weight);
        Ok(weight)
    }

    fn patterns(&mut self, more: usize) -> Result<usize, SchemaError> {
        self.patterns += more;
        if self.patterns > MAX_PATTERNS {
            return Err(SchemaError::TooManyPatterns);
        }
        Ok(more)
    }

    fn root_map(&self) -> *const serde_json::Map<String, Value> {
        self.root
            .as_object()
            .map_or(std::ptr::null(), std::ptr::from_ref)
    }
}

/// A piece of a schema for the middle of a message.
fn shown(text: &str) -> String {
    shorten(&escape(text), 80).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_schema_is_refused() {
        for bad in [
            "",
            "[]",
            &format!("{}1{}", "[".repeat(500), "]".repeat(500)),
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_bounded_is_refused() {
        let nested = |levels: usize, next: fn(usize) -> Value| {
            let mut defs: serde_json::Map<String, Value> = (0..levels)
                .map(|level| (format!("l{level}"), next(level + 1)))
                .collect();
            defs.insert(format!("l{levels}"), json!({}));
            json!({"type": "object", "$ref": "#/$defs/l0", "$defs": defs})
        };
        let one = |level: usize| json!({"$ref": format!("#/$defs/l{level}")});
        let two = |level: usize| {
            let next = json!({"$ref": format!("#/$defs/l{level}")});
            json!({"allOf": [next, next]})
        };
        let patterns: Vec<Value> = vec![json!({"pattern": "a"}); 65];
        for (schema, problem) in [
            (json!({"type": "object"}), None),
            (
                json!({"type": "object", "$id": "urn:x", "properties": {
                    "$ref": {"type": "string"},
                    "a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/a"}
                }, "$defs": {"a": {"type": "string", "pattern": "^x+$"}}}),
                None,
            ),
            (nested(5, two), None),
            (nested(20, one), None),
            (
                json!({"type": "string"}),
                Some("not the schema of an object"),
            ),
            (json!(true), Some("not the schema of an object")),
            (nested(30, two), Some("unfolds to more than")),
            (nested(40, one), Some("lead through one another")),
            (
                json!({"type": "object", "allOf": [{"$ref": "#/allOf/0"}]}),
                Some("leads back to itself"),
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/properties"}}}),
                Some("leads back to itself"),
            ),
            (
                json!({"type": "object", "$ref": "#"}),
                Some("does not start with #/"),
            ),
            (
                json!({"type": "object", "$ref": "#name"}),
                Some("does not start with #/"),
            ),
            (
                json!({"type": "object", "$ref": "#/%24defs/a"}),
                Some("does not start with #/"),
            ),
            (
                json!({"type": "object", "$ref": "file:///etc/passwd"}),
                Some("does not start with #/"),
            ),
            (
                json!({"type": "object", "$ref": "#/$defs/a"}),
                Some("leads nowhere"),
            ),
            (
                json!({"type": "object", "$dynamicRef": "#a"}),
                Some("not supported"),
            ),
            (
                json!({"type": "object", "items": {"$id": "urn:y"}}),
                Some("as a whole"),
            ),
            (
                json!({"type": "object", "anyOf": patterns}),
                Some("patterns"),
            ),
        ] {
            let found = check(&schema);
            match (&found, problem) {
                (Ok(()), None) => {}
                (Err(found), Some(problem)) => {
                    let found = found.to_string();
                    assert!(found.contains(problem), "{found}: {schema}")
                }
                _ => panic!("{found:?}: {schema}"),
            }
        }
    }
}
