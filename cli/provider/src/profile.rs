//! What one endpoint wants sent: the only place that knows endpoints by name.
//!
//! A new endpoint starts with the default, which the most servers accept; a field departs from it
//! for a reason that its documentation names, or because the endpoint taught it (see
//! `fallbacks`).

use std::collections::BTreeSet;

use serde_json::Value;
use url::Url;

use super::schema::{self, Keyword};
use dunlin_chat::agent::Agent;
use dunlin_chat::endpoint::{EmptyContent, EndpointOptions, MaxTokensField, ReasoningEcho};
use dunlin_chat::media::Takes;

/// What is sent differently from endpoint to endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The `content` of an assistant message that has calls and no text.
    pub content_beside_calls: EmptyContent,
    /// How many forms of it the endpoint has refused.
    pub contents_refused: u8,
    /// Whether tools are offered: some models take none, and refuse every request that has any.
    pub offers_tools: bool,
    /// Whether tools that are not offered are described in the system prompt, to be called in text.
    pub describes_tools: bool,
    /// Options that are not sent although the agent sets them, by their names on the wire.
    pub options_left_out: BTreeSet<&'static str>,
    /// Whether `stream_options.include_usage` is sent: most servers count tokens only when asked
    /// to.
    pub include_usage: bool,
    /// The name of the limit on the reply's length.
    pub max_tokens_field: MaxTokensField,
    /// Whether the model's reasoning is sent back.
    pub reasoning: ReasoningEcho,
    /// The field that it is sent back in; `None`: the one that it came in. A conversation may have begun with
    /// another endpoint.
    pub reasoning_field: Option<&'static str>,
    /// `maxLength` and `maxItems` from this value on are taken out of schemas. llama.cpp compiles a
    /// schema to a grammar that counts up to the bound, and a large one breaks every tool of the
    /// request.
    pub schema_bound: u64,
    /// The protocol, the endpoint and the model that may get back what they want back, such as signed reasoning: it is for
    /// nobody else.
    pub replays_to: String,
    /// What else schemas have to do without.
    pub schema_without: BTreeSet<Keyword>,
    /// The form in which a reasoning effort is asked for, where a protocol has two.
    pub effort: EffortForm,
    /// What may stand beside text. Where nothing is known it is sent, and the endpoint says what it thinks of it.
    pub takes: Takes,
    /// The longest reply that the endpoint allows, in tokens, once it has refused a longer one.
    pub max_tokens_allowed: Option<u32>,
}

/// The forms in which a reasoning effort can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortForm {
    /// By its name.
    Level,
    /// As thinking or not: older models know no levels.
    Switch,
}

/// Among the options that can be left out: how much the model is to think, however the protocol calls it.
pub const REASONING_EFFORT: &str = "reasoning_effort";

/// Among the options that can be left out: texts of what the model thinks, where they have to be asked for.
pub const REASONING_SUMMARY: &str = "reasoning.summary";

/// Among the options that can be left out: reasoning in a form that can go back, where it has to be asked for.
pub const ENCRYPTED: &str = "include";

/// Among the options that can be left out: marks of where the endpoint may cache.
pub const CACHE_CONTROL: &str = "cache_control";

/// Among the options that can be left out: what earlier replies want back.
pub const REPLAY: &str = "replay";

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            content_beside_calls: EmptyContent::Empty,
            contents_refused: 0,
            offers_tools: true,
            describes_tools: true,
            options_left_out: BTreeSet::new(),
            include_usage: true,
            max_tokens_field: MaxTokensField::MaxTokens,
            reasoning: ReasoningEcho::Never,
            reasoning_field: None,
            schema_bound: 2000,
            replays_to: String::new(),
            schema_without: BTreeSet::new(),
            effort: EffortForm::Level,
            takes: Takes::ALL,
            max_tokens_allowed: None,
        }
    }
}

impl Profile {
    /// The profile of an agent's endpoint: what is known of its address, then what is configured.
    pub fn of_agent(agent: &Agent) -> Profile {
        let mut profile = Profile::of(&agent.base_url);
        let EndpointOptions {
            content_beside_calls,
            max_tokens_field,
            reasoning,
            stream_usage,
            native_tools,
            images,
            pdf,
        } = agent.endpoint;
        profile.takes.images = images.unwrap_or(profile.takes.images);
        profile.takes.documents = pdf.unwrap_or(profile.takes.documents);
        profile.offers_tools = native_tools.unwrap_or(profile.offers_tools);
        profile.content_beside_calls = content_beside_calls.unwrap_or(profile.content_beside_calls);
        profile.max_tokens_field = max_tokens_field.unwrap_or(profile.max_tokens_field);
        profile.reasoning = reasoning.unwrap_or(profile.reasoning);
        profile.include_usage = stream_usage.unwrap_or(profile.include_usage);
        profile
    }

    /// The profile of the endpoint at this address.
    pub fn of(base_url: &Url) -> Profile {
        let mut profile = Profile::default();
        match base_url.host_str().unwrap_or_default() {
            "api.openai.com" => profile.max_tokens_field = MaxTokensField::MaxCompletionTokens,
            "api.deepseek.com" => {
                profile.reasoning = ReasoningEcho::WithCalls;
                profile.reasoning_field = Some("reasoning_content");
            }
            _ => {}
        }
        profile
    }

    /// A tool's schema in the form that this endpoint accepts.
    pub fn schema(&self, schema: &Value) -> Value {
        schema::acceptable(schema, self.schema_bound, &self.schema_without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_known_by_their_host() {
        let profile = |url: &str| Profile::of(&url.parse().unwrap());
        assert_eq!(profile("http://127.0.0.1:8080/v1"), Profile::default());
        assert_eq!(
            profile("https://api.openai.com/v1").max_tokens_field,
            MaxTokensField::MaxCompletionTokens
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

    #[test]
    fn what_is_configured_stands_over_what_is_known() {
        let agent = Agent {
            base_url: "https://api.deepseek.com".parse().unwrap(),
            endpoint: EndpointOptions {
                content_beside_calls: Some(EmptyContent::Omit),
                reasoning: Some(ReasoningEcho::Never),
                ..EndpointOptions::default()
            },
            ..Agent::sample()
        };
        let expected = Profile {
            content_beside_calls: EmptyContent::Omit,
            reasoning_field: Some("reasoning_content"),
            ..Profile::default()
        };
        assert_eq!(Profile::of_agent(&agent), expected);
    }
}
