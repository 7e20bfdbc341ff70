//! One tool, and the check of its arguments against its schema.

use std::sync::{Arc, OnceLock};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits;
use crate::nearest::{misspelt, nearest};

/// The longest list of possible values that an error names, in bytes.
const MAX_NAMED_BYTES: usize = 2_000;

/// One tool, as the model is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Unique among all tools of a host.
    pub name: String,
    /// The plugin that holds it.
    pub plugin: String,
    /// For the model. Written by the plugin.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// What the plugin imports: all it can ever ask for. For example `["files", "log"]`.
    pub imports: Vec<String>,
    /// What else it says of itself.
    #[serde(default)]
    pub annotations: Annotations,
}

/// What a tool says of itself for people and for other hosts. Nothing of it decides what is allowed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// A name for people. Written by the plugin: escape before showing.
    pub title: Option<String>,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// Whether it may remove or overwrite something, if it says so.
    pub is_destructive: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more, if it says so.
    pub is_idempotent: Option<bool>,
}

/// Why a tool cannot be called with these arguments. What the model or the plugin wrote is not escaped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// They do not fit the schema.
    #[error("{problem}{place}")]
    Misfit {
        /// What does not fit.
        problem: String,
        /// Where, in parentheses; nothing for the arguments as a whole.
        place: String,
    },
    /// The plugin wrote a schema that cannot be used.
    #[error("the tool's schema cannot be used{}", at(.0))]
    Schema(#[source] Arc<ValidationError<'static>>),
}

/// A tool with its schema, ready to check arguments.
pub(crate) struct DescribedTool {
    pub(crate) tool: Tool,
    /// Compiled at the first call.
    validator: OnceLock<Compiled>,
    /// Compiled at the first structured result.
    output_validator: OnceLock<Compiled>,
}

type Compiled = Result<jsonschema::Validator, ArgumentsError>;

impl DescribedTool {
    pub(crate) fn new(tool: Tool) -> DescribedTool {
        DescribedTool {
            tool,
            validator: OnceLock::new(),
            output_validator: OnceLock::new(),
        }
    }

    /// Checks arguments against the schema: what does not fit, and where.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Result<(), ArgumentsError> {
        let compile = || validator(&self.tool.parameters);
        let validator = self.validator.get_or_init(compile).as_ref();
        check(validator, &self.tool.parameters, arguments)
    }

    /// Checks a structured result against the output schema, if there is one.
    pub(crate) fn check_structured(&self, result: &Value) -> Result<(), ArgumentsError> {
        let Some(schema) = &self.tool.annotations.output_schema else {
            return Ok(());
        };
        let compile = || validator(schema);
        let validator = self.output_validator.get_or_init(compile).as_ref();
        check(validator, schema, result)
    }
}

impl Tool {
    /// Checks arguments against the schema, as it is done before a call runs. Compiles the schema each time.
    ///
    /// # Errors
    /// What does not fit, and where; or that the schema cannot be used.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), ArgumentsError> {
        check(
            validator(&self.parameters).as_ref(),
            &self.parameters,
            arguments,
        )
    }
}

/// A schema that values are checked against: one that did not come from a plugin.
#[derive(Debug)]
pub struct Schema {
    schema: Value,
    validator: jsonschema::Validator,
}

impl Schema {
    /// Compiles it. References to other documents are not followed.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn new(schema: Value) -> Result<Schema, SchemaError> {
        crate::schema::bounded(&schema).map_err(|e| SchemaError::Unbounded(e.to_string()))?;
        let validator = compile(&schema).map_err(|e| SchemaError::Invalid(Arc::new(e)))?;
        Ok(Schema { schema, validator })
    }

    /// The schema as it was written.
    pub fn as_value(&self) -> &Value {
        &self.schema
    }

    /// What of a value does not fit it, and where; `None`: it fits.
    pub fn misfit(&self, value: &Value) -> Option<String> {
        check(Ok(&self.validator), &self.schema, value)
            .err()
            .map(|error| crate::display::chain(&error))
    }
}

/// Why something is no JSON Schema that values can be checked against.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SchemaError {
    /// It is none.
    #[error("invalid JSON Schema{}", at(.0))]
    Invalid(#[source] Arc<ValidationError<'static>>),
    /// Checking a value against it might not end.
    #[error("{0}")]
    Unbounded(String),
}

/// What of a value does not fit a schema, and where; `None`: it fits.
pub(crate) fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let error = check(validator(schema).as_ref(), schema, value).err()?;
    Some(crate::display::chain(&error))
}

/// The same for a part of a schema, which may refer to what only the whole has: then nothing is known.
pub(super) fn misfit_in(part: &Value, value: &Value) -> Option<String> {
    let validator = validator(part).ok()?;
    check(Ok(&validator), part, value)
        .err()
        .map(|it| it.to_string())
}

/// Compiles a schema, and says what is wrong with it.
pub(super) fn validator(schema: &Value) -> Compiled {
    compile(schema).map_err(|e| ArgumentsError::Schema(Arc::new(e)))
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, ValidationError<'static>> {
    jsonschema::options()
        // The linear engine: a plugin's pattern must not be able to hang the host.
        .with_pattern_options(
            jsonschema::PatternOptions::regex().size_limit(limits::MAX_PATTERN_BYTES),
        )
        .build(schema)
        .map_err(|e| e.to_owned())
}

fn check(
    validator: Result<&jsonschema::Validator, &ArgumentsError>,
    schema: &Value,
    arguments: &Value,
) -> Result<(), ArgumentsError> {
    let validator = validator.map_err(Clone::clone)?;
    match validator.iter_errors(arguments).next() {
        None => Ok(()),
        Some(error) => Err(ArgumentsError::Misfit {
            problem: problem(&error, schema),
            place: at(&error),
        }),
    }
}

/// Where something is wrong; nothing for a value as a whole.
fn at(error: &ValidationError<'_>) -> String {
    match error.instance_path().to_string() {
        at if at.is_empty() => at,
        at => format!(" (at {at})"),
    }
}

/// A property that a schema requires and no object can have, and where.
pub(super) fn impossible(schema: &Value) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if is_closed && !properties.is_some_and(|known| known.contains_key(name)) {
            return Some(format!(
                "the property {name:?} is required, and properties has none of that name while additionalProperties is false"
            ));
        }
    }
    let mut properties = properties.into_iter().flatten();
    properties.find_map(|(name, schema)| {
        let problem = impossible(schema)?;
        Some(format!("in {name:?}: {problem}"))
    })
}

/// What is wrong, in words: with all values that are possible, for a model that has named another, and with the property that a
/// misspelt one was meant to be.
fn problem(error: &ValidationError<'_>, schema: &Value) -> String {
    if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
        let at = error.schema_path().to_string();
        let above = at.rsplit_once('/').map_or("", |(above, _)| above);
        let known = schema.pointer(above).and_then(|it| it.get("properties"));
        let known = known.and_then(Value::as_object);
        let near = |name: &String| {
            let known = known?.keys().map(String::as_str);
            // Either measure alone misses some: letters that are swapped, and a word that is left out.
            let name = name.as_str();
            misspelt(name, known.clone()).or_else(|| nearest(name, known))
        };
        let near: Vec<String> = unexpected
            .iter()
            .filter_map(near)
            .map(|it| format!("{it:?}"))
            .collect();
        if !near.is_empty() {
            return format!("{error}; did you mean {}?", near.join(", "));
        }
    }
    if let ValidationErrorKind::Enum { options } = error.kind()
        && let Some(options) = options.as_array()
    {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        let options = options.join(", ");
        if options.len() <= MAX_NAMED_BYTES {
            return format!("{} is not one of {options}", error.instance());
        }
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_what_does_not_fit() {
        let tool = Tool {
            name: "t".into(),
            plugin: "p".into(),
            description: String::new(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "word": {"enum": ["a", "b", "c", "d", "e"]},
                    "in": {
                        "type": "object",
                        "properties": {"file_path": {}, "more": {}},
                        "additionalProperties": false,
                    },
                },
                "required": ["n"],
                "additionalProperties": false,
            }),
            imports: Vec::new(),
            annotations: Annotations::default(),
        };
        let described = DescribedTool::new(tool);
        let check = |value| described.check_arguments(&value);
        assert!(check(serde_json::json!({"n": 1})).is_ok());
        for (value, said) in [
            (serde_json::json!({}), "\"n\""),
            (serde_json::json!({"n": "x"}), "/n"),
            (
                serde_json::json!({"n": 1, "xyz": 2}),
                "('xyz' was unexpected)",
            ),
            (
                serde_json::json!({"n": 1, "wrod": "a"}),
                "('wrod' was unexpected); did you mean \"word\"?",
            ),
            (
                serde_json::json!({"n": 1, "in": {"file": 1}}),
                "('file' was unexpected); did you mean \"file_path\"? (at /in)",
            ),
            (serde_json::json!([]), "object"),
            (
                serde_json::json!({"n": 1, "word": "f"}),
                r#""f" is not one of "a", "b", "c", "d", "e" (at /word)"#,
            ),
        ] {
            let problem = check(value).unwrap_err().to_string();
            assert!(problem.contains(said), "{problem}");
        }
    }
}
