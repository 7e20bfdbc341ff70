//! The provider of an agent.

use std::sync::Arc;

use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::provider::Provider;
use dunlin_provider::http::Timeouts;
use dunlin_provider::ollama::Ollama;
use dunlin_provider::openai::OpenAi;

#[cfg(feature = "local-model")]
use crate::local_model::{Local, apart};

/// The provider of an agent. Touches nothing: the connection is made by the first request.
pub fn provider(agent: &Agent, timeouts: Timeouts) -> Arc<dyn Provider> {
    match agent.api {
        Api::OpenAi => Arc::new(OpenAi::new(agent, timeouts)),
        Api::Ollama => Arc::new(Ollama::new(agent, timeouts)),
        #[cfg(feature = "local-model")]
        Api::Local => Arc::new(Local::new(agent, apart::render)),
        // The configuration refuses it.
        #[cfg(not(feature = "local-model"))]
        Api::Local => Arc::new(OpenAi::new(agent, timeouts)),
    }
}
