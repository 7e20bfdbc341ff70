//! What a request says, in no protocol's words.

use std::borrow::Cow;

use dunlin_host::Tool;

use crate::agent::{Agent, Effort};
use crate::message::{Message, Role};

/// What one request says. A [`Dialect`](crate::provider::Dialect) makes a body of it.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// The model, as the endpoint calls it.
    pub model: &'a str,
    /// What stands before the conversation.
    pub system_prompt: Option<Cow<'a, str>>,
    /// The messages in order; never two of the user's in a row. Each call has its result.
    pub messages: Vec<Cow<'a, Message>>,
    /// The tools that the model may call.
    pub tools: Vec<&'a Tool>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The longest reply, in tokens.
    pub max_tokens: Option<u32>,
    /// How much the model is to think.
    pub reasoning_effort: Option<Effort>,
}

impl<'a> Draft<'a> {
    /// Says these messages with the options of the agent, and offers those of the tools that it may use.
    pub fn new(
        messages: impl IntoIterator<Item = Cow<'a, Message>>,
        agent: &'a Agent,
        tools: &'a [Tool],
    ) -> Draft<'a> {
        Draft {
            model: &agent.model,
            system_prompt: agent.system_text(),
            messages: in_turn(messages),
            tools: tools
                .iter()
                .filter(|tool| agent.is_offered(&tool.name))
                .collect(),
            temperature: agent.temperature,
            top_p: agent.top_p,
            max_tokens: agent.max_tokens,
            reasoning_effort: agent.reasoning_effort,
        }
    }
}

/// After a turn without an answer the user speaks twice in a row; many chat templates refuse that, so both
/// become one.
pub(super) fn in_turn<'a>(
    messages: impl IntoIterator<Item = Cow<'a, Message>>,
) -> Vec<Cow<'a, Message>> {
    let mut in_turn: Vec<Cow<'a, Message>> = Vec::new();
    for message in messages {
        match in_turn.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                let last = last.to_mut();
                last.content.push_str("\n\n");
                last.content.push_str(&message.content);
                last.media.extend(message.media.iter().cloned());
            }
            _ => in_turn.push(message),
        }
    }
    in_turn
}
