//! The chat's model, for servers that want to ask it something.
//!
//! The host knows no providers: whoever asks the user hands the model in, see [`crate::ask::Ask::model`]. What is asked was shown to
//! the user before, whole.

use async_trait::async_trait;

use crate::ForeignError;

/// Answers the sampling requests of servers.
#[async_trait]
pub trait Model: Send + Sync {
    /// What it is called, for people and for servers.
    fn name(&self) -> String;

    /// Has it answer, without tools and without anything of the chat. Dropping the future ends the request.
    async fn answer(&self, request: &SamplingRequest) -> Result<SamplingResult, ForeignError>;
}

/// What a server wants the model to answer. Anything that a server can write: show it only through
/// [`crate::display`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingRequest {
    /// The system prompt, if any.
    pub system_prompt: Option<String>,
    /// The conversation.
    pub messages: Vec<SamplingMessage>,
    /// The longest answer, in tokens.
    pub max_tokens: u32,
    /// The temperature in thousandths; `None`: the model's own.
    pub temperature_thousandths: Option<u32>,
    /// The answer ends before the first of these.
    pub stop_sequences: Vec<String>,
}

impl SamplingRequest {
    /// Bytes of all its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.texts().map(str::len).sum()
    }

    /// Lines of all its texts.
    pub(crate) fn lines(&self) -> usize {
        let ends = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
        self.texts().map(|text| ends(text) + 1).sum()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let messages = self.messages.iter().map(|message| message.text.as_str());
        let stop_sequences = self.stop_sequences.iter().map(String::as_str);
        self.system_prompt
            .as_deref()
            .into_iter()
            .chain(messages)
            .chain(stop_sequences)
    }
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingMessage {
    /// Whose it is.
    pub role: Role,
    /// Its words.
    pub text: String,
}

/// Whose a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingResult {
    /// Its words.
    pub text: String,
    /// Why it has ended.
    pub stop_reason: StopReason,
}

/// Why an answer has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model has ended its answer.
    EndTurn,
    /// It was as long as it may be.
    MaxTokens,
    /// It came to one of [`SamplingRequest::stop_sequences`].
    StopSequence,
}
