//! What an endpoint wants otherwise than most.

use serde::{Deserialize, Serialize};

/// `[agents.NAME.endpoint]`: what a server wants that does not say it when it refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointOptions {
    /// The `content` of a message that has calls and no text.
    pub content_beside_calls: Option<EmptyContent>,
    /// The name of the limit on the reply's length.
    pub max_tokens_field: Option<MaxTokensField>,
    /// Whether a model's reasoning is sent back to it.
    pub reasoning: Option<ReasoningEcho>,
    /// Whether the count of tokens is asked for.
    pub stream_usage: Option<bool>,
    /// Whether the model takes tools; else they are described to it in words.
    pub native_tools: Option<bool>,
    /// Whether the model reads images.
    pub images: Option<bool>,
    /// Whether it reads PDF documents.
    pub pdf: Option<bool>,
}

/// The `content` of an assistant message that has calls and no text. There is no form that every server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `""`.
    Empty,
    /// `null`.
    Null,
    /// Left out.
    Omit,
}

/// The name of the limit on the reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// What most servers know.
    MaxTokens,
    /// What OpenAI's reasoning models want: they refuse `max_tokens`.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name in a request.
    pub fn name(self) -> &'static str {
        match self {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// Whether a model's reasoning is sent back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEcho {
    /// Never: unknown fields are refused by some, and reasoning in the history costs tokens.
    Never,
    /// With messages that have calls: DeepSeek refuses those without it.
    WithCalls,
}

impl EndpointOptions {
    /// What is set, by name, as it stands in the file.
    pub fn values(&self) -> Vec<(String, String)> {
        let Ok(serde_json::Value::Object(values)) = serde_json::to_value(self) else {
            return Vec::new();
        };
        let set = values.into_iter().filter(|(_, value)| !value.is_null());
        set.map(|(name, value)| (name, value.to_string())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_shown_as_it_is_written() {
        let options = EndpointOptions {
            max_tokens_field: Some(MaxTokensField::MaxCompletionTokens),
            stream_usage: Some(false),
            ..EndpointOptions::default()
        };
        let expected = [
            ("max_tokens_field", r#""max_completion_tokens""#),
            ("stream_usage", "false"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(options.values(), expected);
        let field = MaxTokensField::MaxCompletionTokens;
        assert_eq!(serde_json::to_value(field).unwrap(), field.name());
    }
}
