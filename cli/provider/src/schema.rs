//! Makes schemas of tools acceptable to servers that know less than the whole of JSON Schema.
//!
//! Nothing is taken out that a server was not seen to refuse: a model that is told less makes more mistakes.
//! What is taken out costs no safety, since arguments are checked against the tool's own schema before a call
//! runs.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// How deep references are followed. A schema that refers to itself ends somewhere.
const MAX_DEPTH: usize = 16;

/// Something in schemas that some server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keyword {
    /// `additionalProperties`, `unevaluatedProperties`, `patternProperties`, `propertyNames`.
    OtherProperties,
    /// `$ref` and what it refers to: replaced by what it means.
    Reference,
    /// `exclusiveMinimum` and `exclusiveMaximum`: become the bounds that include.
    ExclusiveBounds,
    /// `minimum`, `maximum`, `multipleOf`.
    Bounds,
    /// `minLength`, `maxLength`, `minItems`, `maxItems`, `uniqueItems`, `minProperties`, `maxProperties`.
    Sizes,
    /// `format`.
    Format,
    /// `pattern`.
    Pattern,
    /// `default`.
    Default,
    /// `examples`.
    Examples,
    /// `title`.
    Title,
    /// `const`: becomes an `enum` of one.
    Const,
    /// A list of types: becomes its first that is not null.
    TypeList,
    /// `anyOf`: becomes its first alternative that is not null.
    AnyOf,
    /// `oneOf`, likewise.
    OneOf,
    /// `allOf`: becomes all of them in one.
    AllOf,
    /// `not`, `if`, `then`, `else`, `dependentRequired`, `dependentSchemas`.
    Conditions,
}

/// The names of a keyword in schemas. The first ones are long enough that a sentence with one of them is about
/// it; the others are words that any sentence may have, so a sentence has to quote them.
const NAMES: &[(Keyword, &[&str], &[&str])] = &[
    (
        Keyword::OtherProperties,
        &[
            "additionalProperties",
            "unevaluatedProperties",
            "patternProperties",
            "propertyNames",
        ],
        &[],
    ),
    (Keyword::Reference, &["$ref", "$defs", "definitions"], &[]),
    (
        Keyword::ExclusiveBounds,
        &["exclusiveMinimum", "exclusiveMaximum"],
        &[],
    ),
    (Keyword::Bounds, &["multipleOf"], &["minimum", "maximum"]),
    (
        Keyword::Sizes,
        &[
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "uniqueItems",
            "minProperties",
            "maxProperties",
        ],
        &[],
    ),
    (Keyword::Format, &[], &["format"]),
    (Keyword::Pattern, &[], &["pattern"]),
    (Keyword::Default, &[], &["default"]),
    (Keyword::Examples, &[], &["examples"]),
    (Keyword::Title, &[], &["title"]),
    (Keyword::Const, &[], &["const"]),
    (Keyword::AnyOf, &["anyOf", "any_of"], &[]),
    (Keyword::OneOf, &["oneOf", "one_of"], &[]),
    (Keyword::AllOf, &["allOf", "all_of"], &[]),
    (
        Keyword::Conditions,
        &["dependentRequired", "dependentSchemas"],
        &["not", "if", "then", "else"],
    ),
];

impl Keyword {
    /// What is given up where a server refuses a schema and does not say what of it. Alternatives stay: to
    /// lose them does more harm than good, and most servers know them.
    pub const REFUSED_MOST: &[Keyword] = &[
        Keyword::OtherProperties,
        Keyword::Reference,
        Keyword::ExclusiveBounds,
        Keyword::Sizes,
        Keyword::Format,
        Keyword::Pattern,
        Keyword::Default,
        Keyword::Examples,
        Keyword::Title,
        Keyword::Const,
        Keyword::TypeList,
        Keyword::Conditions,
    ];

    /// The keywords that a sentence, in lower case, is about.
    pub(super) fn named_in(sentence: &str) -> Vec<Keyword> {
        let mut named: Vec<Keyword> = NAMES
            .iter()
            .filter(|(_, long, short)| {
                long.iter()
                    .any(|name| has_word(sentence, &name.to_lowercase()))
                    || short.iter().any(|name| is_quoted(sentence, name))
            })
            .map(|(keyword, _, _)| *keyword)
            .collect();
        // llama.cpp's words.
        if sentence.contains("pattern must start") {
            named.push(Keyword::Pattern);
        }
        if sentence.contains("resolving ref") {
            named.push(Keyword::Reference);
        }
        // Gemini's words for a list where one value is wanted.
        if sentence.contains("not repeating") || sentence.contains("is not of type 'string'") {
            named.push(Keyword::TypeList);
        }
        named
    }
}

/// Whether a name stands in a sentence and is not part of a longer one.
fn has_word(sentence: &str, name: &str) -> bool {
    sentence.match_indices(name).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let behind = sentence[at + name.len()..].chars().next();
        let ends = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric());
        ends(before) && ends(behind)
    })
}

/// Whether a name stands in quotation marks, or as the last part of a path.
fn is_quoted(sentence: &str, name: &str) -> bool {
    sentence.match_indices(name).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let behind = sentence[at + name.len()..].chars().next();
        matches!(before, Some('"' | '\'' | '`' | '.' | '/'))
            && !behind.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The schema without what these servers refuse: `$schema`, bounds of length from `bound` on, and what
/// `without` names.
pub(super) fn acceptable(schema: &Value, bound: u64, without: &BTreeSet<Keyword>) -> Value {
    let mut accepted = schema.clone();
    let walk = Walk {
        root: schema,
        bound,
        without,
    };
    walk.schema(&mut accepted, 0);
    accepted
}

struct Walk<'a> {
    root: &'a Value,
    bound: u64,
    without: &'a BTreeSet<Keyword>,
}

impl Walk<'_> {
    /// Walks where schemas stand only: a property may well be named `maxLength`.
    fn schema(&self, schema: &mut Value, depth: usize) {
        let Some(fields) = schema.as_object_mut() else {
            return;
        };
        if depth > MAX_DEPTH {
            // Deeper than any tool's: what it refers to is itself.
            fields.clear();
            return;
        }
        fields.shift_remove("$schema");
        for bound in ["maxLength", "maxItems"] {
            let value = fields.get(bound).and_then(Value::as_u64);
            if value.is_some_and(|value| value >= self.bound) {
                fields.shift_remove(bound);
            }
        }
        self.replace(fields);
        for (keyword, long, short) in NAMES {
            if self.without.contains(keyword) {
                for name in long.iter().chain(*short) {
                    fields.shift_remove(*name);
                }
            }
        }
        for (keyword, value) in fields.iter_mut() {
            match keyword.as_str() {
                "properties" | "patternProperties" | "$defs" | "definitions" => {
                    if let Some(named) = value.as_object_mut() {
                        for schema in named.values_mut() {
                            self.schema(schema, depth + 1);
                        }
                    }
                }
                "items"
                | "prefixItems"
                | "additionalProperties"
                | "anyOf"
                | "oneOf"
                | "allOf"
                | "not" => match value.as_array_mut() {
                    Some(several) => {
                        for schema in several {
                            self.schema(schema, depth + 1);
                        }
                    }
                    None => self.schema(value, depth + 1),
                },
                _ => {}
            }
        }
    }

    /// Puts what can be said otherwise in the place of what is refused.
    fn replace(&self, fields: &mut Map<String, Value>) {
        let refuses = |keyword: Keyword| self.without.contains(&keyword);
        if refuses(Keyword::Reference) {
            // One that leads to another is followed a few times, one that leads nowhere is dropped.
            for _ in 0..MAX_DEPTH {
                let Some(reference) = fields.shift_remove("$ref") else {
                    break;
                };
                let target = reference.as_str().and_then(|path| path.strip_prefix('#'));
                let target = target.and_then(|path| self.root.pointer(path));
                fill_up(fields, target);
            }
        }
        if refuses(Keyword::AllOf) {
            for part in as_list(fields.shift_remove("allOf")) {
                fill_up(fields, Some(&part));
            }
        }
        for (keyword, name) in [(Keyword::AnyOf, "anyOf"), (Keyword::OneOf, "oneOf")] {
            if refuses(keyword) {
                let alternatives = as_list(fields.shift_remove(name));
                let first = alternatives
                    .iter()
                    .find(|one| one.get("type") != Some(&json!("null")));
                fill_up(fields, first);
            }
        }
        if refuses(Keyword::Const)
            && let Some(value) = fields.shift_remove("const")
        {
            fields.entry("enum").or_insert_with(|| json!([value]));
        }
        if refuses(Keyword::ExclusiveBounds) {
            for (exclusive, inclusive) in [
                ("exclusiveMinimum", "minimum"),
                ("exclusiveMaximum", "maximum"),
            ] {
                if let Some(bound @ Value::Number(_)) = fields.shift_remove(exclusive) {
                    fields.entry(inclusive).or_insert(bound);
                }
            }
        }
        if refuses(Keyword::TypeList)
            && let Some(Value::Array(types)) = fields.get("type")
            && let Some(first) = types.iter().find(|one| **one != json!("null")).cloned()
        {
            fields.insert("type".to_owned(), first);
        }
    }
}

/// Adds what is not there yet; of properties and what is required, all.
fn fill_up(fields: &mut Map<String, Value>, more: Option<&Value>) {
    for (name, value) in more.and_then(Value::as_object).into_iter().flatten() {
        match (fields.get_mut(name), value) {
            (None, _) => {
                fields.insert(name.clone(), value.clone());
            }
            (Some(Value::Object(there)), Value::Object(_)) if name == "properties" => {
                fill_up(there, Some(value));
            }
            (Some(Value::Array(there)), Value::Array(values)) if name == "required" => {
                for value in values {
                    if !there.contains(value) {
                        there.push(value.clone());
                    }
                }
            }
            _ => {}
        }
    }
}

fn as_list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(keywords: &[Keyword], schema: &Value) -> Value {
        acceptable(schema, 2000, &keywords.iter().copied().collect())
    }

    #[test]
    fn schemas_lose_only_what_breaks_servers() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "$schema": {"type": "string", "maxLength": 4000},
                "maxLength": {"type": "integer"},
                "tags": {"type": "array", "maxItems": 9000, "items": {"type": "string", "maxLength": 12}},
                "either": {"anyOf": [{"type": "string", "maxLength": 2000}, {"type": "null"}]},
            },
            "required": ["$schema"],
            "additionalProperties": false,
        });
        let accepted = json!({
            "type": "object",
            "properties": {
                "$schema": {"type": "string"},
                "maxLength": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["$schema"],
            "additionalProperties": false,
        });
        assert_eq!(without(&[], &schema), accepted);
    }

    #[test]
    fn schema_keywords_are_replaced_where_they_can_be() {
        for (keywords, schema, accepted) in [
            (
                vec![Keyword::OtherProperties],
                json!({"type": "object", "additionalProperties": false, "properties": {"format": {"format": "uri"}}}),
                json!({"type": "object", "properties": {"format": {"format": "uri"}}}),
            ),
            (
                vec![Keyword::ExclusiveBounds],
                json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}),
                json!({"type": "integer", "maximum": 9, "minimum": 0}),
            ),
            (
                vec![Keyword::Const, Keyword::Format],
                json!({"const": "a", "format": "uri"}),
                json!({"enum": ["a"]}),
            ),
            (
                vec![Keyword::TypeList],
                json!({"type": ["null", "string"]}),
                json!({"type": "string"}),
            ),
            (
                vec![Keyword::AnyOf],
                json!({"description": "d", "anyOf": [{"type": "null"}, {"type": "string", "description": "e"}]}),
                json!({"description": "d", "type": "string"}),
            ),
            (
                vec![Keyword::AllOf],
                json!({"allOf": [
                    {"properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["a", "b"]},
                ]}),
                json!({"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
            ),
            (
                vec![Keyword::Reference],
                json!({
                    "properties": {"a": {"$ref": "#/$defs/name"}, "b": {"$ref": "#/nowhere"}},
                    "$defs": {"name": {"type": "string"}},
                }),
                json!({"properties": {"a": {"type": "string"}, "b": {}}}),
            ),
        ] {
            assert_eq!(without(&keywords, &schema), accepted, "{keywords:?}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({
            "$ref": "#/$defs/tree",
            "$defs": {
                "tree": {"properties": {"left": {"$ref": "#/$defs/tree"}}},
                "loop": {"$ref": "#/$defs/loop"},
            },
        });
        let text = without(&[Keyword::Reference], &schema).to_string();
        assert!(!text.contains("$ref") && text.len() < 1000, "{text}");
        let looped = json!({"$ref": "#/$defs/loop", "$defs": {"loop": {"$ref": "#/$defs/loop"}}});
        assert_eq!(without(&[Keyword::Reference], &looped), json!({}));
    }

    #[test]
    fn sentences_name_keywords() {
        for (sentence, expected) in [
            (
                "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
                vec![Keyword::OtherProperties],
            ),
            (
                "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
                vec![Keyword::AnyOf, Keyword::OneOf, Keyword::AllOf],
            ),
            (
                "Unsupported keyword: exclusiveMinimum",
                vec![Keyword::ExclusiveBounds],
            ),
            (
                "properties[url].format: only 'enum' and 'date-time' are supported for STRING type",
                vec![Keyword::Format],
            ),
            (
                "$ref is not supported in the schema",
                vec![Keyword::Reference],
            ),
            (
                "JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
                vec![Keyword::Pattern],
            ),
            (
                "Proto field is not repeating, cannot start list.",
                vec![Keyword::TypeList],
            ),
            (
                "Invalid schema: it is not in the right format by default",
                vec![],
            ),
            ("failed to parse grammar", vec![]),
        ] {
            assert_eq!(
                Keyword::named_in(&sentence.to_lowercase()),
                expected,
                "{sentence}"
            );
        }
    }
}
