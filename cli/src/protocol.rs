//! Which protocol an API is, for those who talk to its server.

use dunlin_chat::agent::Api;
use dunlin_provider::streamed::Protocol;
use dunlin_provider::{anthropic, openai, responses};

/// How a server is spoken to.
#[derive(Debug, Clone, Copy)]
pub enum Spoken {
    /// In one of the protocols whose replies are event streams.
    Streamed(&'static Protocol),
    /// In Ollama's.
    Ollama,
    /// Not at all: the model runs in this process.
    NoServer,
}

impl From<Api> for Spoken {
    fn from(api: Api) -> Spoken {
        match api {
            Api::OpenAi => Spoken::Streamed(&openai::PROTOCOL),
            Api::Responses => Spoken::Streamed(&responses::PROTOCOL),
            Api::Anthropic => Spoken::Streamed(&anthropic::PROTOCOL),
            Api::Ollama => Spoken::Ollama,
            Api::Local => Spoken::NoServer,
        }
    }
}
