//! What an endpoint wants otherwise than most.

use serde::Deserialize;

/// `[agents.NAME.endpoint]`: what a server wants that does not say it when it refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointEntry {
    /// The `content` of a message that has calls and no text.
    pub content_beside_calls: Option<ContentName>,
    /// The name of the limit on the reply's length.
    pub max_tokens_field: Option<MaxTokensName>,
    /// Whether a model's thoughts are sent back to it.
    pub reasoning: Option<ReasoningName>,
    /// Whether the count of tokens is asked for.
    pub stream_usage: Option<bool>,
    /// Whether the model takes tools; else they are described to it in words.
    pub native_tools: Option<bool>,
}

/// Forms of a `content` that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentName {
    /// `""`.
    Empty,
    /// `null`.
    Null,
    /// Left out.
    Omit,
}

/// Names of the limit on the reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensName {
    /// What most servers know.
    MaxTokens,
    /// What newer models of OpenAI want.
    MaxCompletionTokens,
}

/// Whether a model's thoughts are sent back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningName {
    /// They are not.
    Never,
    /// With messages that have calls.
    WithCalls,
}

impl EndpointEntry {
    /// What is set, by name, as it stands in the file.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let quoted = |text: &str| format!("{text:?}");
        let content = self.content_beside_calls.map(|content| match content {
            ContentName::Empty => "empty",
            ContentName::Null => "null",
            ContentName::Omit => "omit",
        });
        let field = self.max_tokens_field.map(|field| match field {
            MaxTokensName::MaxTokens => "max_tokens",
            MaxTokensName::MaxCompletionTokens => "max_completion_tokens",
        });
        let reasoning = self.reasoning.map(|reasoning| match reasoning {
            ReasoningName::Never => "never",
            ReasoningName::WithCalls => "with_calls",
        });
        [
            ("content_beside_calls", content.map(quoted)),
            ("max_tokens_field", field.map(quoted)),
            ("reasoning", reasoning.map(quoted)),
            ("stream_usage", self.stream_usage.map(|it| it.to_string())),
            ("native_tools", self.native_tools.map(|it| it.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}
