//! The chat's model, for servers that want to ask it something.
//!
//! The host knows no providers: whoever asks the user hands the model in, see [`crate::ask::Ask::model`]. What is asked was shown to
//! the user before, whole.

use async_trait::async_trait;

use crate::ForeignError;

/// Answers prompts of servers.
#[async_trait]
pub trait Model: Send + Sync {
    /// What it is called, for people and for servers.
    fn name(&self) -> String;

    /// Has it answer, without tools and without anything of the chat. Dropping the future ends the request.
    async fn answer(&self, prompt: &Prompt) -> Result<ModelAnswer, ForeignError>;
}

/// What a server wants the model to answer. Anything that a server can write: show it only through
/// [`crate::display`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What stands before the conversation.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<Said>,
    /// The longest answer, in tokens.
    pub max_tokens: u32,
    /// The temperature in thousandths; `None`: the model's own.
    pub temperature_thousandths: Option<u32>,
    /// The answer ends before the first of these.
    pub stops: Vec<String>,
}

impl Prompt {
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
        let messages = self.messages.iter().map(|said| said.text.as_str());
        let stops = self.stops.iter().map(String::as_str);
        self.system
            .as_deref()
            .into_iter()
            .chain(messages)
            .chain(stops)
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub by: Speaker,
    /// What.
    pub text: String,
}

/// Who says something to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// Its words.
    pub text: String,
    /// Why they are over.
    pub end: AnswerEnd,
}

/// Why an answer is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model has said all it wanted to.
    Whole,
    /// It was as long as it may be.
    CutOff,
    /// It came to one of [`Prompt::stops`].
    Stopped,
}
