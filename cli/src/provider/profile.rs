//! What one endpoint wants sent: the only place that knows endpoints by name.
//!
//! A new endpoint starts with the default, which the most servers accept; a field departs from it
//! for a reason that its documentation names.

use serde_json::Value;
use url::Url;

/// What is sent differently from endpoint to endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The `content` of an assistant message that has calls and no text.
    pub content_beside_calls: CallContent,
    /// Whether `stream_options.include_usage` is sent: most servers count tokens only when asked
    /// to.
    pub include_usage: bool,
    /// The name of the limit on the reply's length. OpenAI's reasoning models refuse `max_tokens`,
    /// most other servers know nothing else.
    pub max_tokens_field: &'static str,
    /// Whether the model's reasoning is sent back.
    pub reasoning: ReasoningEcho,
    /// `maxLength` and `maxItems` from this value on are taken out of schemas. llama.cpp compiles a
    /// schema to a grammar that counts up to the bound, and a large one breaks every tool of the
    /// request.
    pub schema_bound: u64,
}

/// The `content` of an assistant message that has calls and no text. There is no form that every
/// server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallContent {
    /// `""`.
    Empty,
    /// `null`.
    Null,
    /// Left out.
    Omit,
}

/// Whether reasoning is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningEcho {
    /// Never: unknown fields are refused by some, and reasoning in the history costs tokens.
    Never,
    /// With messages that have calls: DeepSeek refuses those without it.
    WithCalls,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            content_beside_calls: CallContent::Empty,
            include_usage: true,
            max_tokens_field: "max_tokens",
            reasoning: ReasoningEcho::Never,
            schema_bound: 2000,
        }
    }
}

impl Profile {
    /// The profile of the endpoint at this address.
    pub fn of(base_url: &Url) -> Profile {
        let mut profile = Profile::default();
        match base_url.host_str().unwrap_or_default() {
            "api.openai.com" => profile.max_tokens_field = "max_completion_tokens",
            "api.deepseek.com" => profile.reasoning = ReasoningEcho::WithCalls,
            _ => {}
        }
        profile
    }

    /// A tool's schema in the form that this endpoint accepts.
    pub fn schema(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        self.sanitise(&mut schema);
        schema
    }

    /// Walks where schemas stand only: a property may well be named `maxLength`.
    fn sanitise(&self, schema: &mut Value) {
        let Some(schema) = schema.as_object_mut() else {
            return;
        };
        schema.shift_remove("$schema");
        for bound in ["maxLength", "maxItems"] {
            if schema
                .get(bound)
                .and_then(Value::as_u64)
                .is_some_and(|value| value >= self.schema_bound)
            {
                schema.shift_remove(bound);
            }
        }
        for (keyword, value) in schema.iter_mut() {
            match keyword.as_str() {
                "properties" | "patternProperties" | "$defs" | "definitions" => {
                    if let Some(named) = value.as_object_mut() {
                        named.values_mut().for_each(|schema| self.sanitise(schema));
                    }
                }
                "items"
                | "prefixItems"
                | "additionalProperties"
                | "anyOf"
                | "oneOf"
                | "allOf"
                | "not" => match value.as_array_mut() {
                    Some(several) => several.iter_mut().for_each(|schema| self.sanitise(schema)),
                    None => self.sanitise(value),
                },
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        });
        assert_eq!(Profile::default().schema(&schema), accepted);
    }

    #[test]
    fn endpoints_are_known_by_their_host() {
        let profile = |url: &str| Profile::of(&url.parse().unwrap());
        assert_eq!(profile("http://127.0.0.1:8080/v1"), Profile::default());
        assert_eq!(
            profile("https://api.openai.com/v1").max_tokens_field,
            "max_completion_tokens"
        );
        assert_eq!(
            profile("https://api.deepseek.com").reasoning,
            ReasoningEcho::WithCalls
        );
        assert_eq!(
            profile("https://api.openai.com.example.org/v1"),
            Profile::default()
        );
    }
}
